// Package client does with a server what a person with a skill on their disk wants, over its public API alone.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client speaks to one server with one key.
type Client struct {
	URL, Key string
	// Progress is told how far something has come, and with an empty text that it is over; nil: nobody wants to know.
	Progress func(text string)
}

// Error is what the server, or the way to it, has against a request.
type Error struct {
	Code    string // as the server says it, or UNREACHABLE
	Message string
	Path    []string // the input at fault
}

// Unreachable is the code of an error that no server has given.
const Unreachable = "UNREACHABLE"

func (e *Error) Error() string {
	if len(e.Path) > 0 {
		return strings.Join(e.Path, ".") + " " + e.Message
	}
	return e.Message
}

// CodeOf is the code of an error of a server, and "" for any other.
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func notFound(format string, args ...any) error {
	return &Error{Code: "NOT_FOUND", Message: fmt.Sprintf(format, args...)}
}

// web follows no redirection, so that the key goes nowhere else.
var web = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: 2 * time.Minute,
	},
}

// send sends a request to the server and returns an answer that is no error.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	req.Header.Set("Authorization", "Bearer "+c.Key)
	req.Header.Set("User-Agent", "skillgraph")
	res, err := c.fetch(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode >= http.StatusBadRequest {
		defer res.Body.Close()
		return nil, refusal(res)
	}
	return res, nil
}

// fetch sends a request, wherever it leads.
func (c *Client) fetch(req *http.Request) (*http.Response, error) {
	res, err := web.Do(req)
	if err == nil {
		return res, nil
	}
	if ctx := req.Context(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var bad *url.Error
	if errors.As(err, &bad) {
		err = bad.Err // without the address, which may be a signed one
	}
	return nil, &Error{Code: Unreachable, Message: fmt.Sprintf("cannot reach %s: %s", c.URL, err)}
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 256 << 20

// refusal reads one of the two shapes in which the server shows an error.
func refusal(res *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	var structured struct {
		Error struct{ Message, Code string }
	}
	if json.Unmarshal(body, &structured) == nil && structured.Error.Message != "" {
		return &Error{Code: structured.Error.Code, Message: structured.Error.Message}
	}
	var validation struct {
		Details struct {
			Path    []string
			Message string
		}
	}
	if json.Unmarshal(body, &validation) == nil && validation.Details.Message != "" {
		return &Error{Code: "INVALID", Message: validation.Details.Message, Path: validation.Details.Path}
	}
	code := map[int]string{http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "FORBIDDEN", http.StatusNotFound: "NOT_FOUND"}[res.StatusCode]
	if res.StatusCode >= http.StatusInternalServerError {
		code = "UNAVAILABLE"
	}
	return &Error{Code: code, Message: "the server answered " + res.Status + ", which skillgraph does not: is the address right?"}
}

// answered is what comes with the body of an answer.
type answered struct {
	status int
	header http.Header
}

// cut says that a list is longer.
func (a *answered) cut() bool { return a.header.Get("X-Truncated") == "true" }

// rest calls a route; in and out are JSON, and may be nil.
func (c *Client) rest(ctx context.Context, method, path string, in, out any) (*answered, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.read(req, out)
}

// read sends a request and reads its answer.
func (c *Client) read(req *http.Request, out any) (*answered, error) {
	res, err := c.send(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	a := &answered{res.StatusCode, res.Header}
	if out == nil {
		return a, nil
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(out); err != nil {
		return nil, &Error{Message: "the answer of " + c.URL + " is not JSON: is this the address of a skillgraph server?"}
	}
	return a, nil
}

func (c *Client) progress(format string, args ...any) {
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// Bytes is a size for a person.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1000_000)
}
