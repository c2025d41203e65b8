// Package request carries what is known of an HTTP request down to whoever logs or answers.
package request

import (
	"context"
	"net/http"
	"sync"

	"skillgraph/internal/errs"
)

type (
	key     struct{}
	baseKey struct{}
)

// WithID remembers the request's id.
func WithID(ctx context.Context, id string) context.Context { return context.WithValue(ctx, key{}, id) }

// ID is the request's id, which the client sees as X-Request-Id; "" outside of a request.
func ID(ctx context.Context) string {
	id, _ := ctx.Value(key{}).(string)
	return id
}

// WithBase remembers the address under which the client has reached the server, without a slash at the end.
func WithBase(ctx context.Context, base string) context.Context {
	return context.WithValue(ctx, baseKey{}, base)
}

// Base is the address for links back to the server; "" outside of a request.
func Base(ctx context.Context) string {
	base, _ := ctx.Value(baseKey{}).(string)
	return base
}

// Hidden is what a client is told of an error that is ours: where to find it, and nothing of the inside.
func Hidden(ctx context.Context) *errs.Error {
	return errs.New(errs.Internal, "Something went wrong on our side. It is in the log under request id %s", ID(ctx))
}

type headersKey struct{}

// headers are those of the answer, which several resolvers may fill at once.
type headers struct {
	mu  sync.Mutex
	set http.Header
}

// WithHeaders lets whoever works on the request add to the answer's headers.
func WithHeaders(ctx context.Context, h http.Header) context.Context {
	return context.WithValue(ctx, headersKey{}, &headers{set: h})
}

// SetHeader sets a header of the answer, whichever face gives it; outside of a request nobody would see it.
func SetHeader(ctx context.Context, name, value string) {
	if h, ok := ctx.Value(headersKey{}).(*headers); ok {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.set.Set(name, value)
	}
}
