package graph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"skillgraph/graph/generated"
	"skillgraph/internal/errs"
	"skillgraph/internal/request"
)

// TestPresent: what a client sees of each sort of error.
func TestPresent(t *testing.T) {
	t.Parallel()
	ctx := request.WithID(t.Context(), "the-request")
	variable := gqlerror.ErrorPathf(ast.Path{ast.PathName("variable"), ast.PathName("in"), ast.PathIndex(2)}, "cannot be null")
	variable.Extensions = map[string]any{"code": "X"}
	tests := map[string]struct {
		err     error
		code    any
		message string
		more    map[string]any
	}{
		"ours":                {errs.New(errs.NotFound, "gone"), errs.NotFound, "gone", nil},
		"ours, wrapped":       {fmt.Errorf("secret: %w", errs.New(errs.Conflict, "twice")), errs.Conflict, "twice", nil},
		"ours, with a path":   {errs.At("a", 3).Because("is wrong"), errs.Invalid, "is wrong", map[string]any{"path": []string{"a", "3"}}},
		"ours, to be retried": {&errs.Error{Code: errs.RateLimited, Message: "slowly", RetryAfter: time.Minute}, errs.RateLimited, "slowly", map[string]any{"retryAfter": 60}},
		"unexpected":          {errors.New("secret"), errs.Internal, "Something went wrong on our side. It is in the log under request id the-request", nil},
		"a panic":             {recovered(ctx, "secret"), errs.Internal, "Something went wrong on our side. It is in the log under request id the-request", nil},
		"a panic of an error": {recovered(ctx, errors.New("secret")), errs.Internal, "Something went wrong on our side. It is in the log under request id the-request", nil},
		"a panic that lies":   {recovered(ctx, errs.New(errs.NotFound, "secret")), errs.Internal, "Something went wrong on our side. It is in the log under request id the-request", nil},
		"too late":            {fmt.Errorf("secret: %w", context.DeadlineExceeded), errs.Timeout, "The operation took too long and was stopped; ask for less at once", nil},
		"the caller has gone": {fmt.Errorf("secret: %w", context.Canceled), errs.Internal, "Something went wrong on our side. It is in the log under request id the-request", nil},
		"gqlgen's own":        {gqlerror.Errorf("must be an object"), errs.Invalid, "must be an object", nil},
		"with a code":         {&gqlerror.Error{Message: "said", Extensions: map[string]any{"code": "X"}}, "X", "said", nil},
		"hidden in gqlgen's":  {gqlerror.Wrap(errors.New("secret")), errs.Internal, "Something went wrong on our side. It is in the log under request id the-request", nil},
		"of a variable":       {variable, errs.Invalid, "cannot be null", map[string]any{"path": []string{"in", "2"}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := present(ctx, tt.err)
			require.Equal(t, tt.message, got.Message)
			want := map[string]any{"code": tt.code}
			maps.Copy(want, tt.more)
			require.Equal(t, want, got.Extensions)
			require.Empty(t, got.Path)
		})
	}
}

// TestPresentArguments: an argument that its type could not read is the caller's mistake, whatever its type says.
func TestPresentArguments(t *testing.T) {
	t.Parallel()
	ctx := graphql.WithFieldContext(t.Context(), &graphql.FieldContext{Field: graphql.CollectedField{Field: &ast.Field{Alias: "f"}}})
	got := present(ctx, gqlerror.WrapPath(ast.Path{ast.PathName("f"), ast.PathName("input"), ast.PathName("when"), ast.PathIndex(1)}, errors.New("models.Secret")))
	require.Equal(t, "is not a value of the declared type", got.Message)
	require.Equal(t, ast.Path{ast.PathName("f")}, got.Path)
	require.Equal(t, map[string]any{"code": errs.Invalid, "path": []string{"when", "1"}}, got.Extensions)
}

// falling is an executor that does not even get as far as a resolver.
type falling struct{ *executor.Executor }

func (falling) CreateOperationContext(context.Context, *graphql.RawParams) (*graphql.OperationContext, gqlerror.List) {
	panic("secret")
}

func TestPanicBeforeResolvers(t *testing.T) {
	t.Parallel()
	exec := executor.New(generated.NewExecutableSchema(generated.Config{}))
	exec.SetErrorPresenter(present)
	exec.SetRecoverFunc(recovered)
	w := httptest.NewRecorder()
	req := httptest.NewRequestWithContext(request.WithID(t.Context(), "the-request"), http.MethodGet, "/graphql?query=%7B__typename%7D", nil)
	overHTTP{}.Do(w, req, falling{exec})
	require.Equal(t, http.StatusInternalServerError, w.Code)
	require.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
	require.JSONEq(t, `{"errors": [{"message": "Something went wrong on our side. It is in the log under request id the-request", "extensions": {"code": "INTERNAL"}}]}`, w.Body.String())
}

func TestErrorsOfAnAnswerAreCapped(t *testing.T) {
	t.Parallel()
	answer := func(n int) *graphql.Response {
		return capErrors(t.Context(), func(context.Context) *graphql.Response {
			return &graphql.Response{Errors: make(gqlerror.List, n)}
		})
	}
	require.Len(t, answer(9).Errors, 9)
	require.Len(t, answer(10).Errors, 10)
	require.Len(t, answer(11).Errors, 10)
	require.Nil(t, capErrors(t.Context(), func(context.Context) *graphql.Response { return nil }))
}
