// Package loader follows the edges of the graph. Every edge is one line in edges.go; batch.go has the only
// batching code there is: all parents that ask for the same edge at about the same time share one statement.
package loader

import (
	"context"
	"sync"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// Batch reads what hangs on many parents at once; what is missing from the map is null.
type Batch[C any, A comparable] func(o store.Org, ctx context.Context, parents []ids.ID, args A) (map[ids.ID]C, error)

// Edge leads from a P to a C: to a row, to a page of rows, or to a wide column that is read only when asked for.
// A are the arguments that its statement takes; parents that ask with equal ones share a batch.
type Edge[P, C any, A comparable] struct {
	Name string           // "EvalSuite.createdBy"
	Key  func(*P) *ids.ID // what the batch is asked with; nil: there is nothing there
	Load Batch[C, A]
}

// Of follows the edge from one parent.
func (e *Edge[P, C, A]) Of(ctx context.Context, parent *P, args A) (C, error) {
	var none C
	key := e.Key(parent)
	if key == nil {
		return none, nil
	}
	return e.loader(ctx, args).get(ctx, *key)
}

// loader is the operation's loader for this edge with these arguments.
func (e *Edge[P, C, A]) loader(ctx context.Context, args A) *batcher[C] {
	s := from(ctx)
	key := batchKey{e.Name, args}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.loaders[key].(*batcher[C])
	if !ok {
		l = &batcher[C]{load: func(ctx context.Context, keys []ids.ID) (map[ids.ID]C, error) { return e.Load(s.org, ctx, keys, args) }}
		s.loaders[key] = l
	}
	return l
}

// set is the loaders of one operation, made as they are needed. It belongs to one organization, and so does every key.
type set struct {
	org     store.Org
	mu      sync.Mutex
	loaders map[batchKey]any
}

// batchKey is an edge with its arguments.
type batchKey struct {
	edge string
	args any
}

type setKey struct{}

// With gives an operation loaders of its own.
func With(ctx context.Context, org store.Org) context.Context {
	return context.WithValue(ctx, setKey{}, &set{org: org, loaders: map[batchKey]any{}})
}

func from(ctx context.Context) *set { return ctx.Value(setKey{}).(*set) }

// Org is the organization that the operation sees.
func Org(ctx context.Context) store.Org { return from(ctx).org }

// none are the arguments of an edge that takes none.
type none = struct{}

func one[P, C any](name string, key func(*P) *ids.ID, load func(store.Org, context.Context, []ids.ID) (map[ids.ID]C, error)) *Edge[P, C, none] {
	return &Edge[P, C, none]{Name: name, Key: key, Load: func(o store.Org, ctx context.Context, keys []ids.ID, _ none) (map[ids.ID]C, error) {
		return load(o, ctx, keys)
	}}
}

func many[P, C any, A comparable](name string, key func(*P) *ids.ID, load Batch[[]*C, A]) *Edge[P, []*C, A] {
	return &Edge[P, []*C, A]{Name: name, Key: key, Load: load}
}

func page[P, C any](name string, key func(*P) *ids.ID, load Batch[*models.Connection[C], models.Window]) *Edge[P, *models.Connection[C], models.Window] {
	return &Edge[P, *models.Connection[C], models.Window]{Name: name, Key: key, Load: load}
}

// One follows an edge that takes no arguments.
func One[P, C any](ctx context.Context, e *Edge[P, C, none], parent *P) (C, error) {
	return e.Of(ctx, parent, none{})
}

// Many follows an edge from several parents, in one batch.
func Many[P, C any](ctx context.Context, e *Edge[P, C, none], parents []P) ([]C, error) {
	keys := make([]ids.ID, len(parents))
	for i := range parents {
		keys[i] = *e.Key(&parents[i])
	}
	return e.loader(ctx, none{}).all(ctx, keys)
}

// Page follows an edge to a list.
func Page[P, C any](ctx context.Context, e *Edge[P, *models.Connection[C], models.Window], parent *P, args models.PageArgs) (*models.Connection[C], error) {
	w, err := args.Window()
	if err != nil {
		return nil, err
	}
	return e.Of(ctx, parent, w)
}
