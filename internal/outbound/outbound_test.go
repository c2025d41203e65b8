package outbound

import (
	"bytes"
	"context"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var loopback = prefixes("127.0.0.0/8", "::1/128")

func serve(t *testing.T, h http.HandlerFunc) (url string, calls *atomic.Int32) {
	t.Helper()
	calls = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

func ok(http.ResponseWriter, *http.Request) {}

func TestPostSendsBodyAndHeader(t *testing.T) {
	t.Parallel()
	url, calls := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		good := r.Method == http.MethodPost && string(body) == "hello" && r.Header.Get("X-One") == "1" && r.UserAgent() == "skillgraph"
		if !good {
			w.WriteHeader(http.StatusTeapot)
		}
	})
	header := http.Header{"X-One": {"1"}}
	status, err := New(loopback).Post(t.Context(), url, header, []byte("hello"))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, http.Header{"X-One": {"1"}}, header, "the caller's header is left alone")
	status, err = New(loopback).Post(t.Context(), url, nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusTeapot, status)
	require.EqualValues(t, 2, calls.Load())
}

// A redirect is an answer: following it would be a call to an address that nobody chose.
func TestPostFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	inside, insideCalls := serve(t, ok)
	for _, code := range []int{301, 302, 303, 307, 308} {
		url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", inside)
			w.WriteHeader(code)
		})
		status, err := New(loopback).Post(t.Context(), url, nil, []byte("x"))
		require.NoError(t, err)
		require.Equal(t, code, status)
	}
	require.Zero(t, insideCalls.Load())
}

func TestPostRefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	url, calls := serve(t, ok)
	port := url[strings.LastIndex(url, ":")+1:]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"} {
		_, err := New(nil).Post(t.Context(), "http://"+host+":"+port, nil, nil)
		require.EqualError(t, err, "no connection: the address is not allowed", host)
		_, err = New(nil).Post(t.Context(), "https://"+host+":"+port, nil, nil)
		require.EqualError(t, err, "no connection: the address is not allowed", host)
	}
	_, err := New(nil).Post(t.Context(), "http://127.1:"+port, nil, nil)
	require.EqualError(t, err, "the URL must name its host in plain letters, or write its address as usual")
	_, err = New(loopback).Post(t.Context(), "http://me:secret@127.0.0.1:"+port, nil, nil)
	require.EqualError(t, err, "the URL must not hold a user name or password")
	require.Zero(t, calls.Load())
	status, err := New(prefixes("127.0.0.1/32")).Post(t.Context(), "http://localhost:"+port, nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
}

// A name that was public when it was looked at, and private when it is called.
func TestPostIsSafeFromRebinding(t *testing.T) {
	t.Parallel()
	url, calls := serve(t, ok)
	url = strings.Replace(url, "127.0.0.1", "rebind.example", 1)
	require.NoError(t, CheckURL(url, nil))
	var asked atomic.Int32
	c := New(nil)
	c.connect = 300 * time.Millisecond
	c.dialer.Resolver = resolver(t, func() netip.Addr {
		if asked.Add(1) == 1 {
			return netip.MustParseAddr("8.8.8.8")
		}
		return netip.MustParseAddr("127.0.0.1")
	})
	first, err := c.dialer.Resolver.LookupNetIP(t.Context(), "ip4", "rebind.example")
	require.NoError(t, err)
	require.True(t, permitted(first[0], nil), "a check before the call sees a public address")
	_, err = c.Post(t.Context(), url, nil, nil)
	require.EqualError(t, err, "no connection: the address is not allowed")
	require.Zero(t, calls.Load())
	require.GreaterOrEqual(t, asked.Load(), int32(2))
	c.allow = loopback
	_, err = c.Post(t.Context(), url, nil, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, calls.Load())
}

// resolver asks a DNS server of the test's own, over real packets.
func resolver(t *testing.T, answer func() netip.Addr) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(buf)
			if err != nil {
				return
			}
			end := 12 + bytes.IndexByte(buf[12:n], 0) + 5 // the question: name, type, class
			out := append([]byte{buf[0], buf[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, buf[12:end]...)
			if buf[end-3] == 1 { // type A
				out[7] = 1
				out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				out = append(out, answer().AsSlice()...)
			}
			_, _ = server.WriteTo(out, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func TestPostIsBounded(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release) // before the servers are closed, which wait for it
	wait := func(http.ResponseWriter, *http.Request) { <-release }
	c := New(loopback)
	require.Equal(t, 5*time.Second, c.connect)
	require.Equal(t, 10*time.Second, c.total)
	c.connect, c.total = 200*time.Millisecond, 500*time.Millisecond

	slow, _ := serve(t, wait)
	start := time.Now()
	_, err := c.Post(t.Context(), slow, nil, nil)
	require.EqualError(t, err, "no answer within 0.5 s")
	require.Less(t, time.Since(start), 3*time.Second)

	// A listener that takes connections and never speaks: the handshake is part of connecting.
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = mute.Close() }()
	_, err = c.Post(t.Context(), "https://"+mute.Addr().String(), nil, nil)
	require.EqualError(t, err, "no connection within 0.2 s")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Post(ctx, slow, nil, nil)
	require.EqualError(t, err, "the call was cut short")

	// The status is in, the body never ends: that is an answer.
	drip, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "x")
		_ = http.NewResponseController(w).Flush()
		<-release
	})
	start = time.Now()
	status, err := c.Post(t.Context(), drip, nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Less(t, time.Since(start), 3*time.Second)
}

func TestPostReadsLittle(t *testing.T) {
	t.Parallel()
	written := make(chan int, 1)
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk, n := make([]byte, 64<<10), 0
		for n < 1<<30 {
			k, err := w.Write(chunk)
			n += k
			if err != nil {
				break
			}
		}
		written <- n
	})
	status, err := New(loopback).Post(t.Context(), url, nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	require.Less(t, <-written, 64<<20, "the connection is closed, not read to its end")

	url, _ = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Huge", strings.Repeat("x", 1<<20))
	})
	_, err = New(loopback).Post(t.Context(), url, nil, nil)
	require.EqualError(t, err, "no valid answer")
}

func TestPostErrorsAreForUsers(t *testing.T) {
	t.Parallel()
	raw := func(answer string) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, answer)
				_ = conn.Close()
			}
		}()
		return l.Addr().String()
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	const words = "the receiver's own words"
	for _, c := range []struct{ name, url, want string }{
		{"refused", "http://" + closed.Addr().String(), "no connection: it was refused"},
		{"unknown name", "http://nowhere.invalid", "no connection: the name could not be resolved"},
		{"not HTTP", "http://" + raw(words+"\r\n\r\n"), "no valid answer"},
		{"closed", "http://" + raw(""), "no valid answer"},
		{"not TLS", "https://" + raw("HTTP/1.1 400 "+words+"\r\n\r\n"), "TLS failed"},
	} {
		_, err := New(loopback).Post(t.Context(), c.url, nil, nil)
		require.EqualError(t, err, c.want, c.name)
	}
}

func TestPostChecksCertificates(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(ok))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	c := New(loopback)
	_, err := c.Post(t.Context(), s.URL, nil, nil)
	require.EqualError(t, err, "TLS failed")
	c.tls.RootCAs = x509.NewCertPool()
	c.tls.RootCAs.AddCert(s.Certificate())
	status, err := c.Post(t.Context(), s.URL, nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	_, err = c.Post(t.Context(), strings.Replace(s.URL, "127.0.0.1", "localhost", 1), nil, nil)
	require.EqualError(t, err, "TLS failed", "the certificate is for another name")
}

func TestPostAsksNoProxy(t *testing.T) {
	proxy, proxied := serve(t, ok)
	t.Setenv("HTTP_PROXY", proxy)
	_, err := New(loopback).Post(t.Context(), "http://nowhere.invalid", nil, nil)
	require.EqualError(t, err, "no connection: the name could not be resolved")
	require.Zero(t, proxied.Load())
}

// A client that reads answers is guarded alike, and keeps its connections.
func TestTransport(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := New(loopback)
	client := &http.Client{Transport: c.Transport()}
	for range 3 {
		res, err := client.Get(s.URL)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, "hello", string(body))
	}
	require.EqualValues(t, 1, connections.Load())

	c = New(nil)
	_, err := (&http.Client{Transport: c.Transport()}).Get(s.URL)
	require.EqualError(t, c.Explain(err), "no connection: the address is not allowed")
	require.EqualValues(t, 1, connections.Load())
}
