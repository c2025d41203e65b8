package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/vektah/gqlparser/v2/gqlerror"

	"skillgraph/internal/errs"
	"skillgraph/internal/request"
	"skillgraph/internal/wire"
)

// status is the only place where a code becomes a status.
var status = map[errs.Code]int{
	errs.Invalid:         http.StatusBadRequest,
	errs.TooComplex:      http.StatusBadRequest,
	errs.Unauthenticated: http.StatusUnauthorized,
	errs.PlanRequired:    http.StatusForbidden,
	errs.Forbidden:       http.StatusForbidden,
	errs.NotFound:        http.StatusNotFound,
	errs.BadMethod:       http.StatusMethodNotAllowed,
	errs.Conflict:        http.StatusConflict,
	errs.Stale:           http.StatusPreconditionFailed,
	errs.TooLarge:        http.StatusRequestEntityTooLarge,
	errs.BadMediaType:    http.StatusUnsupportedMediaType,
	errs.NotAcceptable:   http.StatusNotAcceptable,
	errs.RateLimited:     http.StatusTooManyRequests,
	errs.Internal:        http.StatusInternalServerError,
	errs.Timeout:         http.StatusServiceUnavailable,
	errs.Unavailable:     http.StatusServiceUnavailable,
}

// Status is the HTTP status that shows a code.
func Status(code errs.Code) int { return status[code] }

// severity orders errors of which only one can be shown: field errors arrive in any order.
var severity = []errs.Code{errs.Internal, errs.Unavailable, errs.Timeout, errs.Unauthenticated, errs.PlanRequired, errs.Forbidden, errs.NotFound}

func worst(list gqlerror.List) *gqlerror.Error {
	return slices.MinFunc(list, func(a, b *gqlerror.Error) int { return rank(a) - rank(b) })
}

func rank(err error) int {
	if i := slices.Index(severity, errs.CodeOf(err)); i >= 0 {
		return i
	}
	return len(severity)
}

type structured struct {
	Error struct {
		Message string    `json:"message"`
		Status  int       `json:"status"`
		Code    errs.Code `json:"code"`
	} `json:"error"`
}

type validation struct {
	Error   string  `json:"error"`
	Details details `json:"details"`
}

type details struct {
	Path    []string `json:"path"`
	Message string   `json:"message"`
}

// WriteError shows an error in one of the two documented shapes.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	var e *errs.Error
	if !errors.As(err, &e) {
		e = request.Hidden(r.Context())
	}
	w.Header().Set("Cache-Control", "no-store")
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(e.RetryAfter.Seconds()))))
	} else if e.Code == errs.Timeout || e.Code == errs.Unavailable {
		w.Header().Set("Retry-After", "5")
	}
	var body any
	if e.Code == errs.Invalid {
		body = validation{"Validation failed", details{spelled(inputPath(err, e)), e.Message}}
	} else {
		s := structured{}
		s.Error.Message, s.Error.Status, s.Error.Code = e.Message, status[e.Code], e.Code
		body = s
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // people read it
	_ = enc.Encode(body)
	writeJSON(w, status[e.Code], bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// inputPath is what the presenter has found out, or what the error itself says.
func inputPath(err error, e *errs.Error) []string {
	var shown *gqlerror.Error
	if errors.As(err, &shown) {
		if path, ok := shown.Extensions["path"].([]string); ok {
			return path
		}
	}
	return e.Path
}

// spelled turns GraphQL names into REST keys.
func spelled(path []string) []string {
	out := make([]string, len(path))
	for i, p := range path {
		out[i] = wire.Snake(p)
	}
	return out
}
