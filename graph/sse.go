package graph

import (
	"context"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"skillgraph/internal/viewer"
)

const typeEvents = "text/event-stream"

// acceptsEvents reports whether a client takes server-sent events.
func acceptsEvents(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		if mt, params, err := mime.ParseMediaType(part); err == nil && mt == typeEvents && params["q"] != "0" {
			return true
		}
	}
	return false
}

// events is an answer that goes on: every event is one answer, and the last one says that there are no more. It is the mode of
// the protocol graphql-sse in which every operation has a connection of its own.
type events struct {
	http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration // for one write
	mu      sync.Mutex
}

// sendEvents runs an operation, or tells why it does not run, as server-sent events.
func (s *Streams) sendEvents(ctx context.Context, w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, op *graphql.OperationContext, refused gqlerror.List) {
	e := &events{ResponseWriter: w, control: http.NewResponseController(w), limit: s.limits.Write}
	_ = e.control.SetReadDeadline(time.Time{}) // the request has been read; to wait for its end takes as long as it takes
	h := w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies would wait for more
	w.WriteHeader(http.StatusOK)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if e.send(":\n\n") != nil {
		return
	}
	if refused != nil {
		_ = e.next(exec.DispatchError(graphql.WithOperationContext(ctx, op), refused))
	} else {
		go e.keepAlive(ctx, s.limits.Ping)
		if err := s.run(ctx, exec, op, viewer.KeyOf(r), e.next); isEnd(err) {
			_ = e.next(told(context.WithoutCancel(ctx), exec, err))
		}
	}
	_ = e.send("event: complete\ndata:\n\n")
}

func (e *events) next(resp *graphql.Response) error {
	return e.send("event: next\ndata: " + string(encode(resp)) + "\n\n")
}

func (e *events) send(text string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.control.SetWriteDeadline(time.Now().Add(e.limit)) //nolint:forbidigo // the network knows no other clock
	if _, err := e.Write([]byte(text)); err != nil {
		return err
	}
	return e.control.Flush()
}

// keepAlive lets proxies and the client see that the connection lives; net/http sees when the client has gone.
func (e *events) keepAlive(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if e.send(":\n\n") != nil {
				return
			}
		}
	}
}
