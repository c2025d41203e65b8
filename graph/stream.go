package graph

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"skillgraph/graph/guard"
	"skillgraph/graph/loader"
	"skillgraph/internal/errs"
	"skillgraph/internal/live"
	"skillgraph/internal/store"
	"skillgraph/internal/viewer"
)

// StreamLimits bound what a connection may ask for; zero is the default.
type StreamLimits struct {
	Operations int           // of one websocket at once: 20
	Init       time.Duration // that a websocket may take to say who it is: 10 s
	Write      time.Duration // that a client may take to read an answer: 10 s
	Ping       time.Duration // between two signs of life: 20 s
}

func (l StreamLimits) orDefault() StreamLimits {
	if l.Operations == 0 {
		l.Operations = 20
	}
	for d, otherwise := range map[*time.Duration]time.Duration{&l.Init: 10 * time.Second, &l.Write: 10 * time.Second, &l.Ping: 20 * time.Second} {
		if *d == 0 {
			*d = otherwise
		}
	}
	return l
}

// recheck is how often a stream makes sure that its key may still have it. With the few seconds for which a key is believed,
// a revoked one ends its streams within 5.
const recheck = time.Second

// Streams runs operations whose answers come one after the other, over websockets and as server-sent events.
type Streams struct {
	limits StreamLimits
	keys   *viewer.Keys
	store  *store.Store
	guard  *guard.Guard
	hub    *live.Hub

	mu      sync.Mutex
	sockets map[*socket]bool
	open    sync.WaitGroup // of sockets, which net/http does not wait for
	closing bool
}

// Close ends every stream and socket, tells the clients why, and waits until they have heard it, for as long as ctx lasts.
func (s *Streams) Close(ctx context.Context) {
	s.hub.Close()
	s.mu.Lock()
	s.closing = true
	for c := range s.sockets {
		go c.close(closeGoingAway, live.ErrClosing.Error())
	}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.open.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// run runs an operation for the holder of a key, and sends its answers until there are no more; the error is why a stream has
// ended before the client wanted it to.
func (s *Streams) run(ctx context.Context, exec graphql.GraphExecutor, op *graphql.OperationContext, key string, send func(*graphql.Response) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ctx, feed := live.WithFeed(ctx)
	defer feed.Close()
	stream := op.Operation.Operation == ast.Subscription
	if stream {
		go s.watch(ctx, key, op, cancel)
	}
	respond, ctx := exec.DispatchOperation(ctx, op)
	for resp := respond(ctx); resp != nil; resp = respond(ctx) {
		if err := send(resp); err != nil || !stream {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return feed.Err()
}

// watch ends a stream when its key is no longer valid or may no longer have it. Where the database cannot say, it goes on.
func (s *Streams) watch(ctx context.Context, key string, op *graphql.OperationContext, end context.CancelCauseFunc) {
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		v, err := s.keys.Viewer(ctx, key)
		if err == nil {
			err = s.guard.Allow(op, v)
		}
		switch errs.CodeOf(err) {
		case errs.Unauthenticated, errs.Forbidden, errs.PlanRequired:
			end(err)
			return
		}
	}
}

// perEvent gives every event of a subscription what a query has for itself: loaders, a time limit and a duration. Both begin when the
// event is there.
func (s *Streams) perEvent(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	if !live.FeedOf(ctx).Next(ctx) {
		return next(ctx)
	}
	v := viewer.From(ctx)
	ctx, cancel := context.WithTimeout(graphql.StartOperationTrace(loader.With(ctx, s.store.Org(v.OrgID, v.UserID))), maxDuration)
	defer cancel()
	for _, sel := range graphql.GetOperationContext(ctx).Operation.SelectionSet {
		if f, ok := sel.(*ast.Field); ok { // gqlgen has forgotten where the path of an error begins
			ctx = graphql.WithFieldContext(ctx, &graphql.FieldContext{Object: "Subscription", Field: graphql.CollectedField{Field: f}})
		}
	}
	return next(ctx)
}

// isEnd reports whether a stream ended for a reason that the client should know.
func isEnd(err error) bool {
	return err != nil && !errors.Is(err, context.Canceled)
}

// told is the reason as a client sees it.
func told(ctx context.Context, exec graphql.GraphExecutor, err error) *graphql.Response {
	if errors.Is(err, live.ErrClosing) {
		err = errs.New(errs.Unavailable, "%s", live.ErrClosing)
	}
	return exec.DispatchError(ctx, gqlerror.List{gqlerror.Wrap(err)})
}
