package loader

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"skillgraph/internal/ids"
)

const (
	// wait is how long nobody may ask before a batch is closed. A fixed time from the first key would cut a long list
	// into many statements, since its parents do not all come to ask within it; a longer one would be added to
	// every level of every query.
	wait = time.Millisecond
	// capacity bounds the keys of one statement.
	capacity = 1000
)

// batcher gathers keys into batches, and remembers what they found.
type batcher[C any] struct {
	load func(ctx context.Context, keys []ids.ID) (map[ids.ID]C, error)

	mu   sync.Mutex
	in   map[ids.ID]*batch[C] // which batch a key is in
	open *batch[C]            // takes more keys; nil: the next key opens one
}

type batch[C any] struct {
	keys  []ids.ID
	done  chan struct{}
	found map[ids.ID]C
	err   error
}

// get is what the key stands for, once its batch has been read.
func (b *batcher[C]) get(ctx context.Context, key ids.ID) (C, error) {
	in := b.join(ctx, key)
	select {
	case <-in.done:
		return in.found[key], in.err
	case <-ctx.Done():
		var none C
		return none, ctx.Err()
	}
}

// all is get for several keys, in their order.
func (b *batcher[C]) all(ctx context.Context, keys []ids.ID) ([]C, error) {
	for _, k := range keys {
		b.join(ctx, k)
	}
	out := make([]C, len(keys))
	for i, k := range keys {
		var err error
		if out[i], err = b.get(ctx, k); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *batcher[C]) join(ctx context.Context, key ids.ID) *batch[C] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if in, ok := b.in[key]; ok {
		return in
	}
	if b.in == nil {
		b.in = map[ids.ID]*batch[C]{}
	}
	if b.open == nil {
		b.open = &batch[C]{done: make(chan struct{})}
		go b.run(ctx, b.open)
	}
	in := b.open
	in.keys = append(in.keys, key)
	b.in[key] = in
	if len(in.keys) == capacity {
		b.open = nil
	}
	return in
}

// run reads a batch when it is full or nobody has joined it for a while.
func (b *batcher[C]) run(ctx context.Context, in *batch[C]) {
	defer close(in.done)
	defer func() {
		if v := recover(); v != nil { // it would end the process: no resolver is above
			in.err = fmt.Errorf("panic in a batch: %v\n%s", v, debug.Stack())
		}
	}()
	for n := 1; ; {
		time.Sleep(wait)
		if joined := b.closeAt(in, n); joined == 0 {
			break
		} else {
			n = joined
		}
	}
	in.found, in.err = b.load(ctx, in.keys)
}

// closeAt closes a batch that has no more than n keys; otherwise it says how many there are.
func (b *batcher[C]) closeAt(in *batch[C], n int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open != in {
		return 0 // full
	}
	if len(in.keys) > n {
		return len(in.keys)
	}
	b.open = nil
	return 0
}
