// Package outbound makes the calls that leave the process to addresses which users choose. It keeps them off our own
// network, short, and silent about what the receiver says.
package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"skillgraph/internal/tracing"
)

// drained is how much of an answer is read, so that a polite receiver can finish writing. Nothing of it is kept.
const drained = 4 << 10

var (
	errNotAllowed = errors.New("no connection: the address is not allowed")
	errTLS        = errors.New("TLS failed")
)

// Client makes guarded calls. It is safe for use by many goroutines.
type Client struct {
	allow     []netip.Prefix
	connect   time.Duration // for name, connection and TLS together
	total     time.Duration
	dialer    net.Dialer
	tls       *tls.Config
	transport *http.Transport
}

// New makes a client that calls public addresses and the networks in allow.
func New(allow []netip.Prefix) *Client {
	c := &Client{allow: allow, connect: 5 * time.Second, total: 10 * time.Second, tls: &tls.Config{MinVersion: tls.VersionTLS12}}
	c.dialer.ControlContext = c.guard
	// A transport by itself follows no redirect and keeps no cookie; without Proxy it asks no environment.
	c.transport = &http.Transport{
		DialContext:            c.dial,
		DialTLSContext:         c.dialTLS,
		DisableCompression:     true,
		DisableKeepAlives:      true, // calls are rare, and a kept connection would outlive its check
		MaxResponseHeaderBytes: 64 << 10,
	}
	return c
}

// Post sends body and returns the status of the answer; a redirect is an answer like any other. An error is a short
// sentence for the user who chose the URL, without the URL and without a word of the receiver.
func (c *Client) Post(ctx context.Context, url string, header http.Header, body []byte) (status int, err error) {
	if _, err := parseURL(url); err != nil {
		return 0, fmt.Errorf("the URL %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, c.total)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("the URL is not valid")
	}
	req.Header = header.Clone()
	if req.Header == nil {
		req.Header = http.Header{}
	}
	req.Header.Set("User-Agent", "skillgraph")
	ctx, span := tracing.Call(ctx, req.Method, req.URL.Host) // no word of the trace to the receiver: it is none of theirs
	defer func() { end(ctx, span, status, err) }()
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		if ctx.Err() != nil {
			return 0, errors.New("the call was cut short")
		}
		return 0, c.explain(err, limited.Err() != nil)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, drained) // the status has arrived, and it is all that counts
	return res.StatusCode, nil
}

// explain turns what Go says into what a user may read.
func (c *Client) explain(err error, late bool) error {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, errNotAllowed):
		return errNotAllowed
	case errors.As(err, &dns):
		return errors.New("no connection: the name could not be resolved")
	case late:
		return fmt.Errorf("no answer within %g s", c.total.Seconds())
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no connection within %g s", c.connect.Seconds())
	case errors.Is(err, errTLS):
		return errTLS
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("no connection: it was refused")
	case errors.As(err, &op) && op.Op == "dial":
		return errors.New("no connection: the address could not be reached")
	}
	return errors.New("no valid answer")
}

// guard runs after the name is resolved and before each connection is made, on the very address that is dialled: a
// name that leads elsewhere the second time gains nothing.
func (c *Client) guard(_ context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !permitted(a.Addr(), c.allow) {
		return errNotAllowed
	}
	return nil
}

func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.connect)
	defer cancel()
	return c.dialer.DialContext(ctx, network, address)
}

// dialTLS keeps a failed handshake apart from a failed connection: they are different news to the user.
func (c *Client) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.connect)
	defer cancel()
	raw, err := c.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	config := c.tls.Clone()
	config.ServerName, _, _ = net.SplitHostPort(address)
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, fmt.Errorf("%w: %w", errTLS, err)
	}
	return conn, nil
}

// Transport makes guarded calls for a client that reads what it is answered, to a host which is not a user's choice: it keeps
// connections for a while, and its calls last as long as their contexts let them.
func (c *Client) Transport() http.RoundTripper {
	t := c.transport.Clone()
	t.DisableKeepAlives = false
	t.MaxIdleConnsPerHost = 4
	t.IdleConnTimeout = 30 * time.Second
	return traced{t}
}

// traced traces the calls of a transport, and tells the host which trace they belong to.
type traced struct{ *http.Transport }

// RoundTrip makes the call.
func (t traced) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, span := tracing.Call(r.Context(), r.Method, r.URL.Host)
	if span == nil {
		return t.Transport.RoundTrip(r)
	}
	r = r.Clone(ctx)
	tracing.Inject(ctx, r.Header)
	res, err := t.Transport.RoundTrip(r)
	if err != nil {
		end(ctx, span, 0, err)
		return nil, err
	}
	end(ctx, span, res.StatusCode, nil)
	return res, nil
}

func end(ctx context.Context, span *tracing.Span, status int, err error) {
	if err != nil {
		span.EndErr(ctx, err)
		return
	}
	span.Returned(ctx, status)
}

// Explain says why a call through the transport failed, in words like those of Post.
func (c *Client) Explain(err error) error { return c.explain(err, false) }
