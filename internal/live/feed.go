package live

import (
	"context"
	"sync"

	"skillgraph/internal/errs"
	"skillgraph/models"
)

// Feed joins the resolver of a subscription, which makes the stream, with whoever runs the operation: that is who waits for the next
// event, so that the time limit and the loaders of an event begin with it, and who tells the client how it ended.
type Feed struct {
	next  func(ctx context.Context) error // waits for an event, and has it ready for the resolver's channel
	close func()
	err   error
}

type feedKey struct{}

// WithFeed lets the operation of ctx be a subscription.
func WithFeed(ctx context.Context) (context.Context, *Feed) {
	f := &Feed{}
	return context.WithValue(ctx, feedKey{}, f), f
}

// FeedOf is the feed of an operation, or nil.
func FeedOf(ctx context.Context) *Feed {
	f, _ := ctx.Value(feedKey{}).(*Feed)
	return f
}

// Next waits for the next event. False: there is none any more, or it is no subscription.
func (f *Feed) Next(ctx context.Context) bool {
	if f == nil || f.next == nil {
		return false
	}
	if f.err == nil {
		f.err = f.next(ctx)
	}
	return f.err == nil
}

// Close ends the stream, if there is one.
func (f *Feed) Close() {
	if f.close != nil {
		f.close()
	}
}

// Err is why the stream has ended.
func (f *Feed) Err() error { return f.err }

// Subscribe is what the resolver of a subscription does: it follows an organization's events and shows each of them as a T.
func Subscribe[T any](ctx context.Context, follow func() (*Stream, error), show func(*models.Event) T) (<-chan T, error) {
	f := FeedOf(ctx)
	if f == nil {
		return nil, errs.New(errs.Invalid, "A subscription needs a websocket (graphql-transport-ws) or the header Accept: text/event-stream")
	}
	s, err := follow()
	if err != nil {
		return nil, err
	}
	events := make(chan T, 1)
	end := sync.OnceFunc(func() { close(events) })
	f.close = func() {
		s.Close()
		end()
	}
	f.next = func(ctx context.Context) error {
		e, err := s.Next(ctx)
		if err != nil {
			end()
			return err
		}
		events <- show(e) // there is room: the one before was taken
		return nil
	}
	return events, nil
}
