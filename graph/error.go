package graph

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"skillgraph/internal/errs"
	"skillgraph/internal/request"
)

const maxErrors = 10

// present makes of any error what a client may see: an errs.Error with its code and the input field at fault, what
// gqlgen says about the document itself, and of everything else only that it happened.
func present(ctx context.Context, err error) *gqlerror.Error {
	var shown *gqlerror.Error
	if !errors.As(err, &shown) {
		shown = gqlerror.WrapPath(graphql.GetPath(ctx), err)
	}
	var known *errs.Error
	switch {
	case errors.As(err, &known):
		field, input := splitPath(ctx, shown.Path)
		if len(known.Path) > 0 || known.Code != errs.Invalid {
			input = known.Path
		}
		return withCode(&gqlerror.Error{Path: field, Locations: shown.Locations}, known, input)
	case shown.Err == nil: // said by gqlgen or gqlparser themselves
		if len(shown.Path) > 1 && shown.Path[0] == ast.PathName("variable") { // not where the answer has it, but the input
			return withCode(&gqlerror.Error{}, errs.New(errs.Invalid, "%s", shown.Message), steps(shown.Path[1:]))
		}
		if shown.Message == "operation  not found" { // gqlgen's words for no name
			shown.Message = "The document has several operations: say in operationName which one to run"
		}
		if shown.Extensions == nil {
			shown.Extensions = map[string]any{"code": errs.Invalid}
		}
		return shown
	case errors.Is(err, context.DeadlineExceeded):
		return withCode(&gqlerror.Error{Path: shown.Path}, errs.New(errs.Timeout, "The operation took too long and was stopped; ask for less at once"), nil)
	}
	if field, input := splitPath(ctx, shown.Path); len(input) > 0 { // an argument that its type could not read
		return withCode(&gqlerror.Error{Path: field}, errs.New(errs.Invalid, "is not a value of the declared type"), input)
	}
	if !errors.Is(err, context.Canceled) { // the caller has gone: nobody's fault, nobody to tell
		slog.ErrorContext(ctx, "internal error", "error", err, "path", shown.Path.String(), "request_id", request.ID(ctx))
	}
	return withCode(&gqlerror.Error{Path: shown.Path}, request.Hidden(ctx), nil)
}

func withCode(shown *gqlerror.Error, e *errs.Error, path []string) *gqlerror.Error {
	shown.Message, shown.Err = e.Message, e
	shown.Extensions = map[string]any{"code": e.Code}
	if len(path) > 0 {
		shown.Extensions["path"] = path
	}
	if e.RetryAfter > 0 {
		shown.Extensions["retryAfter"] = int(e.RetryAfter.Seconds())
	}
	return shown
}

// splitPath parts the path of an error into that of the field and, where an argument could not even be read, that of
// the argument, which gqlgen appends.
func splitPath(ctx context.Context, path ast.Path) (field ast.Path, input []string) {
	fc := graphql.GetFieldContext(ctx)
	if fc == nil || len(path) <= len(fc.Path()) {
		return path, nil
	}
	field = fc.Path()
	input = steps(path[len(field):])
	if len(input) > 1 && input[0] == "input" {
		input = input[1:] // as the rules do
	}
	return field, input
}

func steps(path ast.Path) (out []string) {
	for _, step := range path {
		switch step := step.(type) {
		case ast.PathName:
			out = append(out, string(step))
		case ast.PathIndex:
			out = append(out, strconv.Itoa(int(step)))
		}
	}
	return out
}

// recovered turns a panic into an error that is logged with its stack.
func recovered(_ context.Context, v any) error {
	return fmt.Errorf("panic: %v\n%s", v, debug.Stack())
}

// capErrors keeps an answer from being mostly errors.
func capErrors(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	resp := next(ctx)
	if resp != nil && len(resp.Errors) > maxErrors {
		resp.Errors = resp.Errors[:maxErrors]
	}
	return resp
}
