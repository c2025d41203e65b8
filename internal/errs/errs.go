// Package errs holds the errors that a caller is meant to see: a code, words, and the input field at fault.
// It knows neither HTTP nor GraphQL; the edges choose how to show a code. Any other error is internal.
package errs

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Code says what went wrong in one word. Clients switch on it, so it never changes.
type Code string

// All codes there are.
const (
	Invalid         Code = "INVALID"
	Unauthenticated Code = "UNAUTHENTICATED"
	PlanRequired    Code = "PLAN_REQUIRED"
	Forbidden       Code = "FORBIDDEN"
	NotFound        Code = "NOT_FOUND"
	BadMethod       Code = "METHOD_NOT_ALLOWED"
	Conflict        Code = "CONFLICT"
	Stale           Code = "STALE"
	TooLarge        Code = "TOO_LARGE"
	BadMediaType    Code = "UNSUPPORTED_MEDIA_TYPE"
	TooComplex      Code = "TOO_COMPLEX"
	RateLimited     Code = "RATE_LIMITED"
	Timeout         Code = "TIMEOUT"
	Unavailable     Code = "UNAVAILABLE"
	Internal        Code = "INTERNAL"
	TooSlow         Code = "TOO_SLOW"
	UnknownQuery    Code = "PERSISTED_QUERY_NOT_FOUND"
	NotStored       Code = "DOCUMENT_NOT_STORED"
)

// Error is an error made for the caller.
type Error struct {
	Code       Code
	Message    string
	Path       []string      // the input field at fault, outermost first; GraphQL spelling
	RetryAfter time.Duration // when trying again makes sense; 0: unknown
}

func (e *Error) Error() string { return e.Message }

// New makes an error; the message is a sentence for a person and may be formatted.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Path is a place in the input that a rule refuses: errs.At("casesJson", 3, "query").Because("is required").
type Path []string

// At names the place, from field names and list indices.
func At(steps ...any) Path {
	return Path(nil).At(steps...)
}

// At goes deeper.
func (p Path) At(steps ...any) Path {
	out := append(make(Path, 0, len(p)+len(steps)), p...)
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			out = append(out, s)
		case int:
			out = append(out, strconv.Itoa(s))
		}
	}
	return out
}

// Because finishes the sentence.
func (p Path) Because(format string, args ...any) *Error {
	e := New(Invalid, format, args...)
	e.Path = p
	return e
}

// Within puts the path of an outer field before that of an error which a rule for an inner value gave.
func Within(err error, steps ...any) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	out.Path = At(steps...).At(toAny(e.Path)...)
	return &out
}

func toAny(path []string) []any {
	out := make([]any, len(path))
	for i, p := range path {
		out[i] = p
	}
	return out
}

// CodeOf is the code of an error made for the caller, and Internal for every other one.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}
