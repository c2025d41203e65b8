package loader

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
)

// Call is a call of a resolver that never waits: an edge whose batch was not read yet notes its key there, and the call
// is made again when it was. All calls of a level note before anything is read, so that one batch serves them all; and
// since a call may be made more than once, it must do nothing that cannot be done twice. Calls made one after the other
// may share a Call.
type Call struct {
	set    *set
	expect int            // how many are made
	shown  *store.Columns // of the rows that its edge leads to
	waits  bool
	last   any // the batch that the previous call asked
}

// errLater is what an edge answers when it has only noted its key. Whoever made the call asks Waits, not the error.
var errLater = errors.New("loader: this is read with the rest of its level")

type callKey struct{}

// WithCall makes edges note instead of wait, in about so many calls, and read only the columns that are shown.
func WithCall(ctx context.Context, expect int, shown *store.Columns) (context.Context, *Call) {
	c := &Call{set: from(ctx), expect: expect, shown: shown}
	return callContext{ctx, c}, c
}

// Waits reports whether the call that was just made has to be made again after the next Read, and begins another.
func (c *Call) Waits() bool {
	waits := c.waits
	c.waits = false
	return waits
}

// callContext is context.WithValue for what every edge looks for.
type callContext struct {
	context.Context
	call *Call
}

func (c callContext) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c.call
	case setKey:
		return c.call.set
	}
	return c.Context.Value(key)
}

// Read takes what calls have noted, as functions that are to be run, in any order or side by side, before the calls are
// made again. Each is one call of the store's batch function.
func Read(ctx context.Context) []func(context.Context) {
	s := from(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]func(context.Context), len(s.noted))
	for i, n := range s.noted {
		out[i] = n.seal(s.org)
	}
	s.noted = s.noted[:0]
	return out
}

// batch is everything that calls have asked of an edge with the same arguments.
type batch[P, C any, A comparable] struct {
	edge   *Edge[P, C, A]
	args   A
	shown  *store.Columns             // nil: all
	in     map[ids.ID]*chunk[P, C, A] // where the answer for a key is, or will be
	open   *chunk[P, C, A]            // where further keys go
	sealed bool                       // some of it was read
}

// chunk is what one call of the batch function reads.
type chunk[P, C any, A comparable] struct {
	batch *batch[P, C, A]
	keys  []ids.ID
	read  bool
	found map[ids.ID]C
	err   error
}

// note answers a call with what was read, or notes what is to be read.
func (e *Edge[P, C, A]) note(c *Call, key ids.ID, args A) (C, error) {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	b, ok := c.last.(*batch[P, C, A])
	if !ok || b.edge != e || b.args != args {
		b = e.batch(c, args)
		c.last = b
	}
	at, known := b.in[key]
	if known && at.read {
		return at.found[key], at.err
	}
	if !known {
		b.add(c, key)
	}
	c.waits = true
	var none C
	return none, errLater
}

func (e *Edge[P, C, A]) batch(c *Call, args A) *batch[P, C, A] {
	key := loaderKey{e.Name, args}
	b, ok := c.set.batches[key].(*batch[P, C, A])
	shown := c.shown
	if ok && b.shown != nil && b.shown != shown { // somebody computes with what the others only show
		if shown, ok = nil, !b.sealed; ok {
			b.shown = nil
		}
	}
	if !ok {
		b = &batch[P, C, A]{edge: e, args: args, shown: shown, in: make(map[ids.ID]*chunk[P, C, A], c.expect)}
		c.set.batches[key] = b
	}
	return b
}

func (b *batch[P, C, A]) add(c *Call, key ids.ID) {
	if b.open == nil || len(b.open.keys) == capacity {
		b.open = &chunk[P, C, A]{batch: b, keys: make([]ids.ID, 0, min(c.expect, capacity))}
		c.set.noted = append(c.set.noted, b.open)
	}
	b.open.keys = append(b.open.keys, key)
	b.in[key] = b.open
}

// noted is a chunk of any edge.
type noted interface {
	seal(org store.Org) func(context.Context)
}

// seal ends the chunk and returns what reads it.
func (c *chunk[P, C, A]) seal(org store.Org) func(context.Context) {
	if c.batch.open == c {
		c.batch.open = nil
	}
	c.batch.sealed = true
	shown := c.batch.shown
	return func(ctx context.Context) {
		defer func() {
			if v := recover(); v != nil {
				c.found, c.err = nil, fmt.Errorf("panic in the batch of %s: %v\n%s", c.batch.edge.Name, v, debug.Stack())
			}
			c.read = true
		}()
		c.found, c.err = c.batch.edge.read(ctx, org.Only(shown), c.keys, c.batch.args)
	}
}

// manyNoted notes the keys of all parents before it gives up.
func manyNoted[P, C any](ctx context.Context, e *Edge[P, C, none], parents []P) ([]C, error) {
	out := make([]C, len(parents))
	var first error
	for i := range parents {
		v, err := One(ctx, e, &parents[i])
		if err != nil && first == nil {
			first = err
		}
		out[i] = v
	}
	if first != nil {
		return nil, first
	}
	return out, nil
}
