// Package request carries what is known of an HTTP request down to whoever logs or answers.
package request

import "context"

type key struct{}

// WithID remembers the request's id.
func WithID(ctx context.Context, id string) context.Context { return context.WithValue(ctx, key{}, id) }

// ID is the request's id, which the client sees as X-Request-Id; "" outside of a request.
func ID(ctx context.Context) string {
	id, _ := ctx.Value(key{}).(string)
	return id
}
