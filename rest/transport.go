package rest

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"skillgraph/internal/answer"
	"skillgraph/internal/face"
)

// call is a stored operation to be run for a request.
type call struct {
	route  *Route
	vars   map[string]any
	answer func(data []byte, err error) // the data are lent: nobody may keep them
}

type callKey struct{}

func withCall(ctx context.Context, c call) context.Context {
	return face.REST(context.WithValue(ctx, callKey{}, c), c.route.Name)
}

// Transport runs stored operations on the GraphQL server it is added to.
type Transport struct{}

// Supports a request that a route has bound.
func (Transport) Supports(r *http.Request) bool {
	_, ok := r.Context().Value(callKey{}).(call)
	return ok
}

// Do runs the operation and hands on the answer.
func (Transport) Do(_ http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	ctx := r.Context()
	c := ctx.Value(callKey{}).(call)
	defer func() {
		if v := recover(); v != nil { // the server itself would answer in the shape of GraphQL
			err := fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			c.answer(nil, worst(exec.DispatchError(r.Context(), gqlerror.List{gqlerror.Wrap(err)}).Errors))
		}
	}()
	now := graphql.Now()
	op, list := exec.CreateOperationContext(ctx, &graphql.RawParams{
		Query: c.route.Query, OperationName: c.route.Name, Variables: c.vars, Headers: r.Header,
		ReadTime: graphql.TraceTiming{Start: now, End: now},
	})
	ctx, out := answer.With(ctx, "")
	defer out.Free()
	var resp *graphql.Response
	if list != nil {
		resp = exec.DispatchError(graphql.WithOperationContext(ctx, op), list)
	} else {
		var respond graphql.ResponseHandler
		respond, ctx = exec.DispatchOperation(ctx, op)
		resp = respond(ctx)
	}
	switch {
	case resp == nil:
		return // the client has gone
	case len(resp.Errors) > 0:
		c.answer(nil, c.route.inClientsWords(worst(resp.Errors)))
	default:
		c.answer(resp.Data, nil)
	}
}

// inClientsWords gives an error the path that the client has sent.
func (rt *Route) inClientsWords(err *gqlerror.Error) error {
	if path, ok := err.Extensions["path"].([]string); ok {
		err.Extensions["path"] = rt.sent(path)
	}
	return err
}

// answer writes what became of the operation.
func (rt *Route) answer(w http.ResponseWriter, r *http.Request) func(data []byte, err error) {
	return func(data []byte, err error) {
		if err != nil {
			WriteError(w, r, err)
			return
		}
		rt.write(w, r, data)
	}
}

func (rt *Route) write(w http.ResponseWriter, r *http.Request, data []byte) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	body, meta := rt.shape.apply(data)
	if meta.truncated {
		h.Set("X-Truncated", "true")
	}
	if meta.etag != "" {
		tag := strconv.Quote(meta.etag)
		h.Set("ETag", tag)
		h.Set("Cache-Control", "private, no-cache")
		if r.Method == http.MethodGet && matches(r.Header.Values("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if meta.location != "" {
		h.Set("Location", meta.location)
	}
	if rt.status == http.StatusNoContent || rt.status == http.StatusFound {
		w.WriteHeader(rt.status)
		return
	}
	status := rt.status
	if meta.repeated {
		status = http.StatusOK
	}
	writeJSON(w, status, body)
}

func matches(lines []string, tag string) bool {
	for t := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		if t = strings.TrimSpace(t); t == "*" || strings.TrimPrefix(t, "W/") == tag {
			return true
		}
	}
	return false
}

// writeJSON may use what is behind the body.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
