package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"skillgraph/internal/errs"
	"skillgraph/internal/face"
	"skillgraph/internal/request"
)

// answering is an executor that has its answer ready.
type answering struct {
	graphql.GraphExecutor
	answer func() *graphql.Response
	seen   *graphql.RawParams
	name   string
}

func (a *answering) CreateOperationContext(ctx context.Context, p *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	a.seen, a.name = p, face.Operation(ctx)
	return &graphql.OperationContext{}, nil
}

func (a *answering) DispatchOperation(ctx context.Context, _ *graphql.OperationContext) (graphql.ResponseHandler, context.Context) {
	return func(context.Context) *graphql.Response { return a.answer() }, ctx
}

func (a *answering) DispatchError(_ context.Context, list gqlerror.List) *graphql.Response {
	return &graphql.Response{Errors: list}
}

func serve(t *testing.T, text string, answer func() *graphql.Response) (*httptest.ResponseRecorder, *answering) {
	t.Helper()
	exec, w := &answering{answer: answer}, httptest.NewRecorder()
	req := httptest.NewRequestWithContext(request.WithID(t.Context(), "the-request"), http.MethodGet, "/things", nil)
	rt := route(t, text)
	req = req.WithContext(withCall(req.Context(), call{rt, map[string]any{"a": "b"}, rt.answer(w, req)}))
	require.True(t, Transport{}.Supports(req))
	Transport{}.Do(w, req, exec)
	return w, exec
}

const getThing = `query GetThing($a: String) @rest(method: "GET", path: "/things") { thing(a: $a) { id } }`

func TestTransport(t *testing.T) {
	t.Parallel()
	w, exec := serve(t, getThing, func() *graphql.Response { return &graphql.Response{Data: []byte(`{"thing":{"id":"x"}}`)} })
	require.Equal(t, http.StatusOK, w.Code)
	require.JSONEq(t, `{"thing": {"id": "x"}}`, w.Body.String())
	require.Equal(t, getThing, exec.seen.Query)
	require.Equal(t, map[string]any{"a": "b"}, exec.seen.Variables)
	require.Equal(t, "GetThing", exec.name, "the executor knows whose document it is")
	require.False(t, Transport{}.Supports(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/things", nil)))

	w, _ = serve(t, getThing, func() *graphql.Response { panic("secret") })
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.JSONEq(t, `{"error": {"message": "Something went wrong on our side. It is in the log under request id the-request", "status": 500, "code": "INTERNAL"}}`, w.Body.String())
}

// TestErrors: any error fails the whole answer, the worst one is shown, and its code decides the status.
func TestErrors(t *testing.T) {
	t.Parallel()
	plain := func(e *errs.Error) *gqlerror.Error { return &gqlerror.Error{Message: e.Message, Err: e} }
	limited := &errs.Error{Code: errs.RateLimited, Message: "slowly", RetryAfter: 90 * time.Second}
	pathed := plain(errs.At("casesJson", 3, "case_kind").Because("is wrong"))
	presented := plain(errs.At("ours").Because("is wrong"))
	presented.Extensions = map[string]any{"path": []string{"fromThePresenter", "0"}}
	tests := map[string]struct {
		errors gqlerror.List
		status int
		body   string
		retry  string
	}{
		"a rule":         {gqlerror.List{pathed}, 400, `{"error": "Validation failed", "details": {"path": ["cases_json", "3", "case_kind"], "message": "is wrong"}}`, ""},
		"an argument":    {gqlerror.List{presented}, 400, `{"error": "Validation failed", "details": {"path": ["from_the_presenter", "0"], "message": "is wrong"}}`, ""},
		"no path":        {gqlerror.List{plain(errs.New(errs.Invalid, "no"))}, 400, `{"error": "Validation failed", "details": {"path": [], "message": "no"}}`, ""},
		"a plan":         {gqlerror.List{plain(errs.New(errs.PlanRequired, "pro"))}, 403, `{"error": {"message": "pro", "status": 403, "code": "PLAN_REQUIRED"}}`, ""},
		"a limit":        {gqlerror.List{plain(limited)}, 429, `{"error": {"message": "slowly", "status": 429, "code": "RATE_LIMITED"}}`, "90"},
		"away":           {gqlerror.List{plain(errs.New(errs.Unavailable, "away"))}, 503, `{"error": {"message": "away", "status": 503, "code": "UNAVAILABLE"}}`, "5"},
		"too late":       {gqlerror.List{plain(errs.New(errs.Timeout, "late"))}, 503, `{"error": {"message": "late", "status": 503, "code": "TIMEOUT"}}`, "5"},
		"unexpected":     {gqlerror.List{gqlerror.Errorf("secret")}, 500, `{"error": {"message": "Something went wrong on our side. It is in the log under request id the-request", "status": 500, "code": "INTERNAL"}}`, ""},
		"the worst":      {gqlerror.List{pathed, plain(errs.New(errs.NotFound, "gone")), plain(errs.New(errs.Forbidden, "no")), pathed}, 403, `{"error": {"message": "no", "status": 403, "code": "FORBIDDEN"}}`, ""},
		"the very worst": {gqlerror.List{plain(errs.New(errs.Forbidden, "no")), plain(errs.New(errs.Internal, "ours"))}, 500, `{"error": {"message": "ours", "status": 500, "code": "INTERNAL"}}`, ""},
		"the first":      {gqlerror.List{plain(errs.New(errs.Conflict, "a")), plain(errs.New(errs.Stale, "b"))}, 409, `{"error": {"message": "a", "status": 409, "code": "CONFLICT"}}`, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := serve(t, getThing, func() *graphql.Response {
				return &graphql.Response{Data: []byte(`{"thing":{"id":"x"}}`), Errors: tt.errors}
			})
			require.Equal(t, tt.status, w.Code)
			require.JSONEq(t, tt.body, w.Body.String())
			require.Equal(t, tt.retry, w.Header().Get("Retry-After"))
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
		})
	}
	// 204 has no body, but can fail like any other.
	w, _ := serve(t, `mutation D($a: String) @rest(method: "DELETE", path: "/things", status: 204) { make(string: $a) { id } }`, func() *graphql.Response {
		return &graphql.Response{Errors: gqlerror.List{plain(errs.New(errs.NotFound, "gone"))}}
	})
	require.Equal(t, http.StatusNotFound, w.Code)
}

// TestEveryCodeHasAStatus, and none is 422.
func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	for _, code := range []errs.Code{
		errs.Invalid, errs.Unauthenticated, errs.PlanRequired, errs.Forbidden, errs.NotFound, errs.BadMethod, errs.Conflict, errs.Stale,
		errs.TooLarge, errs.BadMediaType, errs.NotAcceptable, errs.TooComplex, errs.RateLimited, errs.Timeout, errs.Unavailable, errs.Internal,
	} {
		require.GreaterOrEqual(t, Status(code), 400, code)
		require.NotEqual(t, http.StatusUnprocessableEntity, Status(code), code)
	}
	require.Len(t, status, 16)
}
