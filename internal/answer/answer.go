// Package answer lends the buffers that answers are written into, so that an answer is written once: the executor appends
// its data to what a transport has begun, and the transport sends it from there.
package answer

import (
	"context"
	"sync"
)

// maxKept bounds what is kept: one large answer should not be paid for until the end of time.
const maxKept = 1 << 20

// Buffer is a lent buffer. It is lent when somebody begins to write: who waits for the database needs none.
type Buffer struct {
	B    []byte
	head string
	lent *[]byte
}

var pool = sync.Pool{New: func() any { return new(make([]byte, 0, 8<<10)) }}

type key struct{}

// With has a buffer lent to whoever answers ctx, which begins with the head.
func With(ctx context.Context, head string) (context.Context, *Buffer) {
	b := &Buffer{head: head}
	return context.WithValue(ctx, key{}, b), b
}

// From is the buffer to write an answer into; outside of a transport that lends one, a new one.
func From(ctx context.Context) *Buffer {
	b, ok := ctx.Value(key{}).(*Buffer)
	if !ok {
		return &Buffer{}
	}
	if b.lent == nil {
		b.lent = pool.Get().(*[]byte)
		b.B = *b.lent
		b.B = append(b.B[:0], b.head...)
	}
	return b
}

// Free takes the buffer back. Nobody may use its bytes any more.
func (b *Buffer) Free() {
	if b.lent != nil && cap(b.B) <= maxKept {
		*b.lent = b.B
		pool.Put(b.lent)
	}
}

// Ends reports whether data is what was last appended to the buffer.
func (b *Buffer) Ends(data []byte) bool {
	return len(data) > 0 && len(data) <= len(b.B) && &data[0] == &b.B[len(b.B)-len(data)]
}
