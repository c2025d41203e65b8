// Package graph is the GraphQL server: the executor that both faces share, and the GraphQL face itself.
package graph

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/graph/generated"
	"skillgraph/graph/guard"
	"skillgraph/graph/loader"
	"skillgraph/internal/face"
	"skillgraph/internal/live"
	"skillgraph/internal/store"
	"skillgraph/internal/viewer"
)

const (
	// maxDuration is how long an operation may run.
	maxDuration = 10 * time.Second
	// maxStored is how long one of our own may: it may have a folder of 200 MiB to unpack and to pack.
	maxStored = time.Minute
)

// Config is what a server is made of.
type Config struct {
	Store     *store.Store
	Resolvers generated.ResolverRoot
	Metrics   *Metrics
	// Stored are the documents behind the REST routes, parsed and validated, by their text.
	Stored map[string]*ast.QueryDocument
	// Transport runs them.
	Transport graphql.Transport
	// Keys and Live are for streams, which outlast the request that began them.
	Keys *viewer.Keys
	Live *live.Hub
	// Origins are those of pages that may open a websocket, besides our own; "*" is everybody's.
	Origins      []string
	StreamLimits StreamLimits
	// Documents are texts that clients need not send; nil: what they have sent before.
	Documents *Documents
}

// Schema is the schema that everything is checked against.
func Schema() *ast.Schema { return generated.NewExecutableSchema(generated.Config{}).Schema() }

// SDL is the schema as it is written.
func SDL() string { return Schema().Query.Position.Src.Input }

// New makes the one executor that every operation runs on, whichever face it comes through.
func New(cfg Config) (*handler.Server, *Streams) {
	srv := handler.New(generated.NewExecutableSchema(generated.Config{Resolvers: cfg.Resolvers}))
	g := guard.New(cfg.Stored)
	srv.SetQueryCache(g)
	srv.SetParserTokenLimit(guard.MaxTokens)
	srv.SetErrorPresenter(present)
	srv.SetRecoverFunc(recovered)
	streams := &Streams{limits: cfg.StreamLimits.orDefault(), keys: cfg.Keys, store: cfg.Store, guard: g, hub: cfg.Live, sockets: map[*socket]bool{}}
	srv.AroundResponses(streams.perEvent) // before whatever measures
	if cfg.Documents == nil {
		cfg.Documents = NewDocuments()
	}
	srv.Use(cfg.Documents)
	srv.Use(g)
	srv.Use(extension.Introspection{})
	srv.Use(cfg.Metrics)
	srv.AroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		limit := maxDuration
		if face.IsREST(ctx) {
			limit = maxStored
		}
		v := viewer.From(ctx)
		ctx = loader.With(ctx, cfg.Store.Org(v.OrgID, v.UserID))
		if graphql.GetOperationContext(ctx).Operation.Operation == ast.Subscription {
			return next(ctx) // each of its events has a limit
		}
		ctx, cancel := context.WithTimeout(ctx, limit)
		respond := next(ctx)
		return func(ctx context.Context) *graphql.Response {
			defer cancel()
			return respond(ctx)
		}
	})
	srv.AroundResponses(capErrors)
	srv.AddTransport(cfg.Transport)
	srv.AddTransport(sockets{streams, cfg.Origins})
	srv.AddTransport(overHTTP{streams})
	return srv, streams
}
