package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hammer asks over so many connections for a while, and returns how long each answer took.
func hammer(b *testing.B, url string, request []byte, connections int, length time.Duration) (times []time.Duration) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(length)
	for range connections {
		wg.Go(func() {
			l := dial(b, url)
			defer l.Close()
			var own []time.Duration
			for last := time.Now(); last.Before(end); {
				l.ask(b, request)
				now := time.Now()
				own = append(own, now.Sub(last))
				last = now
			}
			mu.Lock()
			times = append(times, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	return times
}

// quantile is in milliseconds.
func quantile(times []time.Duration, q float64) float64 {
	slices.Sort(times)
	return float64(times[int(q*float64(len(times)-1))].Microseconds()) / 1000
}

// line is a connection. It does as little as a client can, because it runs on the same cores as the server.
type line struct {
	net.Conn
	in   *bufio.Reader
	body []byte
}

func dial(b *testing.B, url string) *line {
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(b, err)
	return &line{Conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

func request(method, path, key, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, key, len(body), body)
}

// ask sends a request and returns the body of the answer, until the next one.
func (l *line) ask(b *testing.B, request []byte) []byte {
	_, err := l.Write(request)
	require.NoError(b, err)
	status, err := l.in.ReadSlice('\n')
	require.NoError(b, err)
	require.True(b, bytes.HasPrefix(status, []byte("HTTP/1.1 200")), string(status))
	for length := -1; ; {
		header, err := l.in.ReadSlice('\n')
		require.NoError(b, err)
		if v, ok := bytes.CutPrefix(header, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
		if len(header) == 2 {
			require.NotEqual(b, -1, length, "the answer does not tell its length")
			l.body = slices.Grow(l.body[:0], length)[:length]
			_, err := io.ReadFull(l.in, l.body)
			require.NoError(b, err)
			return l.body
		}
	}
}
