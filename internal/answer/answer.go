// Package answer lends the buffers that answers are written into, so that an answer is written once: the executor appends
// its data to what a transport has begun, and the transport sends it from there.
package answer

import (
	"context"
	"sync"
)

// maxKept bounds what is kept: one large answer should not be paid for until the end of time.
const maxKept = 1 << 20

// Buffer is a lent buffer.
type Buffer struct{ B []byte }

var pool = sync.Pool{New: func() any { return &Buffer{B: make([]byte, 0, 8<<10)} }}

type key struct{}

// With lends a buffer to whoever answers ctx.
func With(ctx context.Context) (context.Context, *Buffer) {
	b := pool.Get().(*Buffer)
	b.B = b.B[:0]
	return context.WithValue(ctx, key{}, b), b
}

// From is the buffer to write an answer into; outside of a transport that lends one, a new one.
func From(ctx context.Context) *Buffer {
	if b, ok := ctx.Value(key{}).(*Buffer); ok {
		return b
	}
	return &Buffer{}
}

// Free takes the buffer back. Nobody may use its bytes any more.
func (b *Buffer) Free() {
	if cap(b.B) <= maxKept {
		pool.Put(b)
	}
}

// Ends reports whether data is what was last appended to the buffer.
func (b *Buffer) Ends(data []byte) bool {
	return len(data) > 0 && len(data) <= len(b.B) && &data[0] == &b.B[len(b.B)-len(data)]
}
