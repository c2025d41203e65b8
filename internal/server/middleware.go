package server

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"skillgraph/internal/request"
	"skillgraph/internal/tracing"
	"skillgraph/rest"
)

var usableID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// identify gives every request an id, the client's own where it sent a usable one, and every answer the headers that
// it should have whatever it is.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !usableID.MatchString(id) {
			id = rand.Text()
		}
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r.WithContext(request.WithHeaders(request.WithID(r.Context(), id), w.Header())))
	})
}

// locate remembers where links back to us lead: to the public address or, without one, to where the client has reached us.
func locate(public string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			base := public
			if base == "" && r.TLS != nil {
				base = "https://" + r.Host
			} else if base == "" {
				base = "http://" + r.Host
			}
			next.ServeHTTP(w, r.WithContext(request.WithBase(r.Context(), base)))
		})
	}
}

// logRequests writes a line, counts and traces, a request. The line has no query string and no header: they may hold secrets.
func logRequests(reg prometheus.Registerer) func(http.Handler) http.Handler {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "skillgraph_http_requests_total", Help: "HTTP requests, by method and status.",
	}, []string{"method", "status"})
	reg.MustRegister(requests)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			start, rec := time.Now(), &recorder{ResponseWriter: w, status: http.StatusOK}
			method := known(r.Method)
			ctx, span := tracing.Request(r.Context(), r.Header, method)
			if span != nil {
				r = r.WithContext(ctx)
				defer func() { span.Answered(ctx, method, chi.RouteContext(ctx).RoutePattern(), rec.status) }() // the router has found it by then
			}
			next.ServeHTTP(rec, r)
			requests.WithLabelValues(method, strconv.Itoa(rec.status)).Inc()
			slog.InfoContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path, "status", rec.status,
				"bytes", rec.bytes, "ms", float64(time.Since(start).Microseconds())/1000, "request_id", request.ID(r.Context()))
		})
	}
}

// known keeps invented methods from becoming labels.
func known(method string) string {
	if slices.Contains([]string{"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS"}, method) {
		return method
	}
	return "other"
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int
	wrote  bool
}

func (r *recorder) WriteHeader(status int) {
	if !r.wrote {
		r.status, r.wrote = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = true
	n, err := r.ResponseWriter.Write(b)
	r.bytes += n
	return n, err
}

// Unwrap lets http.ResponseController through.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func recoverPanics(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler { //nolint:errorlint // a panic value, compared as net/http does
				panic(v)
			}
			slog.ErrorContext(r.Context(), "panic", "value", v, "stack", string(debug.Stack()), "request_id", request.ID(r.Context()))
			rest.WriteError(w, r, request.Hidden(r.Context()))
		}()
		next.ServeHTTP(w, r)
	})
}

// allowOrigins lets pages of the listed origins read answers. Keys travel in a header, never in a cookie, so no
// credentials are allowed.
func allowOrigins(origins []string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		if len(origins) == 0 {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			origin := r.Header.Get("Origin")
			h := w.Header()
			h.Add("Vary", "Origin")
			if origin != "" && (slices.Contains(origins, origin) || slices.Contains(origins, "*")) {
				h.Set("Access-Control-Allow-Origin", origin)
				h.Set("Access-Control-Expose-Headers", "ETag, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id, X-Truncated")
			}
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				if h.Get("Access-Control-Allow-Origin") != "" {
					h.Set("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE")
					h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match, If-None-Match, X-Request-Id")
					h.Set("Access-Control-Max-Age", "600")
				}
				w.WriteHeader(http.StatusNoContent)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}
