// Package face remembers which of the two faces an operation came through: GraphQL, where clients
// write their own documents, or REST, where the document is one of ours.
package face

import "context"

type key struct{}

// REST marks the operation of ctx as a stored document, run for the named route.
func REST(ctx context.Context, operation string) context.Context {
	return context.WithValue(ctx, key{}, operation)
}

// IsREST reports whether ctx belongs to a stored document: ours, so trusted, and spelled the REST way.
func IsREST(ctx context.Context) bool { return Operation(ctx) != "" }

// Operation is the name of the stored document, or "" when a client wrote the document.
func Operation(ctx context.Context) string {
	name, _ := ctx.Value(key{}).(string)
	return name
}
