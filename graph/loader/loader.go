// Package loader follows the edges of the graph. Every edge is one line in edges.go; this file has the only
// batching code there is: all parents that ask for the same edge at about the same time share one statement.
package loader

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/graph-gophers/dataloader/v7"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/internal/tracing"
	"skillgraph/models"
)

// wait is how long a batch stays open; the library's own 16 ms would be added for every level of a query.
const wait = time.Millisecond

// capacity bounds the keys of one statement.
const capacity = 1000

// Batch reads what hangs on many parents at once; what is missing from the map is null.
type Batch[C, A any] func(o store.Org, ctx context.Context, parents []ids.ID, args A) (map[ids.ID]C, error)

// Edge leads from a P to a C: to a row, to a page of rows, or to a wide column that is read only when asked for.
// A are the arguments that its statement takes.
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
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return e.note(c, *key, args)
	}
	return e.loader(ctx, args).Load(ctx, *key)()
}

// loader is the operation's loader for this edge with these arguments.
func (e *Edge[P, C, A]) loader(ctx context.Context, args A) *dataloader.Loader[ids.ID, C] {
	s, key := from(ctx), loaderKey{e.Name, args}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.loaders[key].(*dataloader.Loader[ids.ID, C])
	if !ok {
		l = dataloader.NewBatchedLoader(func(ctx context.Context, keys []ids.ID) []*dataloader.Result[C] {
			found, err := e.read(ctx, s.org, keys, args)
			return results(keys, found, err)
		}, dataloader.WithWait[ids.ID, C](wait), dataloader.WithBatchCapacity[ids.ID, C](capacity))
		s.loaders[key] = l
	}
	return l
}

// read reads a batch, whoever has gathered it.
func (e *Edge[P, C, A]) read(ctx context.Context, org store.Org, keys []ids.ID, args A) (map[ids.ID]C, error) {
	ctx, span := tracing.Batch(ctx, e.Name, len(keys))
	found, err := e.Load(org, ctx, keys, args)
	span.EndErr(ctx, err)
	return found, err
}

// results puts what a batch found into the order of its keys.
func results[C any](keys []ids.ID, found map[ids.ID]C, err error) []*dataloader.Result[C] {
	out := make([]*dataloader.Result[C], len(keys))
	for i, k := range keys {
		out[i] = &dataloader.Result[C]{Data: found[k], Error: err}
	}
	return out
}

// set is the loaders of one operation, made as they are needed. It belongs to one organization, and so does every key.
type set struct {
	org     store.Org
	mu      sync.Mutex
	loaders map[loaderKey]any // for those who wait
	batches map[loaderKey]any // for those who call again
	noted   []noted
}

// loaderKey is an edge with its arguments: who asks the same shares a batch.
type loaderKey struct {
	edge string
	args any
}

type setKey struct{}

// With gives an operation loaders of its own.
func With(ctx context.Context, org store.Org) context.Context {
	return context.WithValue(ctx, setKey{}, &set{org: org, loaders: map[loaderKey]any{}, batches: map[loaderKey]any{}})
}

func from(ctx context.Context) *set { return ctx.Value(setKey{}).(*set) }

// Org is the organization that the operation sees, or as much of it as the call shows.
func Org(ctx context.Context) store.Org {
	if c, ok := ctx.Value(callKey{}).(*Call); ok {
		return c.set.org.Only(c.shown)
	}
	return from(ctx).org
}

// none are the arguments of an edge that takes none.
type none = struct{}

// Line is an edge as the table has it: its name, and the Go types that it leads from and to.
type Line struct {
	Name     string
	From, To reflect.Type
}

var table []Line

// Table lists every edge there is.
func Table() []Line { return slices.Clone(table) }

func add[P, C any, A comparable](e *Edge[P, C, A]) *Edge[P, C, A] {
	table = append(table, Line{Name: e.Name, From: reflect.TypeFor[P](), To: reflect.TypeFor[C]()})
	return e
}

func one[P, C any](name string, key func(*P) *ids.ID, load func(store.Org, context.Context, []ids.ID) (map[ids.ID]C, error)) *Edge[P, C, none] {
	return add(&Edge[P, C, none]{Name: name, Key: key, Load: func(o store.Org, ctx context.Context, keys []ids.ID, _ none) (map[ids.ID]C, error) {
		return load(o, ctx, keys)
	}})
}

func oneBy[P, C any, A comparable](name string, key func(*P) *ids.ID, load Batch[C, A]) *Edge[P, C, A] {
	return add(&Edge[P, C, A]{Name: name, Key: key, Load: load})
}

func many[P, C any, A comparable](name string, key func(*P) *ids.ID, load Batch[[]*C, A]) *Edge[P, []*C, A] {
	return add(&Edge[P, []*C, A]{Name: name, Key: key, Load: load})
}

func list[P, C any, A comparable](name string, key func(*P) *ids.ID, load Batch[*models.Connection[C], A]) *Edge[P, *models.Connection[C], A] {
	return add(&Edge[P, *models.Connection[C], A]{Name: name, Key: key, Load: load})
}

func page[P, C any](name string, key func(*P) *ids.ID, load Batch[*models.Connection[C], models.Window]) *Edge[P, *models.Connection[C], models.Window] {
	return list(name, key, load)
}

// One follows an edge that takes no arguments.
func One[P, C any](ctx context.Context, e *Edge[P, C, none], parent *P) (C, error) {
	return e.Of(ctx, parent, none{})
}

// Many follows an edge from several parents, in one batch.
func Many[P, C any](ctx context.Context, e *Edge[P, C, none], parents []P) ([]C, error) {
	if _, ok := ctx.Value(callKey{}).(*Call); ok {
		return manyNoted(ctx, e, parents)
	}
	keys := make([]ids.ID, len(parents))
	for i := range parents {
		keys[i] = *e.Key(&parents[i])
	}
	out, errs := e.loader(ctx, none{}).LoadMany(ctx, keys)()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Page follows an edge to a list.
func Page[P, C any](ctx context.Context, e *Edge[P, *models.Connection[C], models.Window], parent *P, args models.PageArgs) (*models.Connection[C], error) {
	w, err := args.Window()
	if err != nil {
		return nil, err
	}
	return e.Of(ctx, parent, w)
}

// List follows an edge to a list that takes a filter.
func List[P, C, F any, O ~string](ctx context.Context, e *Edge[P, *models.Connection[C], models.List[F, O]], parent *P, args models.PageArgs, filter *F, by O) (*models.Connection[C], error) {
	in, err := models.NewList(args, filter, by)
	if err != nil {
		return nil, err
	}
	return e.Of(ctx, parent, in)
}
