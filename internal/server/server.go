// Package server puts the faces, the pages and the operator's endpoints on one HTTP handler.
package server

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"skillgraph/graph"
	"skillgraph/internal/codehost"
	"skillgraph/internal/errs"
	"skillgraph/internal/export"
	"skillgraph/internal/jobs"
	"skillgraph/internal/live"
	"skillgraph/internal/otlp"
	"skillgraph/internal/registry"
	"skillgraph/internal/request"
	"skillgraph/internal/store"
	"skillgraph/internal/viewer"
	"skillgraph/resolvers"
	"skillgraph/rest"
	"skillgraph/web"
)

// Config is what a server needs to know.
type Config struct {
	Store    *store.Store
	Alerts   resolvers.Alerts
	Registry *registry.Registry
	Sources  resolvers.Sources
	Host     *codehost.Host
	// WebhookSecret signs what the code host tells; empty: nothing is taken.
	WebhookSecret string
	// BaseURL is where clients reach the server, for links back to it; empty: where each request came in.
	BaseURL string
	// CORSOrigins may read answers in a browser; "*" is everybody.
	CORSOrigins []string
	// MetricsElsewhere keeps /metrics off this handler.
	MetricsElsewhere bool
	Executor         graph.Executor   // of queries; empty: ours
	Clock            func() time.Time // nil: the wall clock
	// Live and Streams bound subscriptions; zero is the default.
	Live    live.Limits
	Streams graph.StreamLimits
	// Documents are those that are stored with the server; nil: none.
	Documents *graph.Documents
}

// Server is an HTTP handler with its metrics.
type Server struct {
	http.Handler
	Metrics http.Handler
	streams *graph.Streams
}

// beside describes what is mounted next to the routes, as path items of OpenAPI.
//
//go:embed beside.json
var beside []byte

// EndStreams ends every subscription, tells the clients why, and waits until they have heard it, for as long as ctx lasts.
func (s *Server) EndStreams(ctx context.Context) { s.streams.Close(ctx) }

// New wires everything together. It fails when a stored operation does not fit the schema.
func New(cfg Config) (*Server, error) {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	schema := graph.Schema()
	routes, err := rest.Routes(schema)
	if err != nil {
		return nil, fmt.Errorf("rest/%w", err)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	cfg.Store.Collect(reg)
	jobs.Collect(cfg.Store, reg)
	hub := live.New(cfg.Store, cfg.Live)
	hub.Collect(reg)
	keys := viewer.NewKeys(cfg.Store, cfg.Clock)
	executor, streams := graph.New(graph.Config{
		Store: cfg.Store, Resolvers: resolvers.Root{Alerts: cfg.Alerts, Registry: cfg.Registry, Sources: cfg.Sources, Host: cfg.Host, Live: hub}, Metrics: graph.NewMetrics(reg),
		Stored: rest.Stored(routes), Transport: rest.Transport{}, Keys: keys, Live: hub, Origins: origins(cfg), StreamLimits: cfg.Streams, Documents: cfg.Documents,
		Executor: cfg.Executor,
	})
	s := &Server{Metrics: promhttp.HandlerFor(reg, promhttp.HandlerOpts{}), streams: streams}

	r := chi.NewRouter()
	r.Use(identify, locate(cfg.BaseURL), logRequests(reg), recoverPanics, allowOrigins(cfg.CORSOrigins))
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, http.StatusOK, "ok") })
	r.Get("/readyz", ready(cfg.Store))
	r.Get("/schema.graphql", text("text/plain; charset=utf-8", func() ([]byte, error) { return []byte(graph.SDL()), nil }))
	r.Get("/openapi.json", text("application/json; charset=utf-8", sync.OnceValues(func() ([]byte, error) { return rest.OpenAPI(schema, routes, beside) })))
	if !cfg.MetricsElsewhere {
		r.Handle("/metrics", s.Metrics)
	}
	r.Post("/api/v1/repohost/webhook", codehost.Webhook(cfg.Store, cfg.WebhookSecret, rest.ReadBody, rest.WriteError))
	r.Get(registry.Path+"{version}", cfg.Registry.Download(rest.WriteError))
	pages := web.Handler()
	for _, path := range web.Paths() {
		r.Handle(path, pages)
	}
	withKey := keys.Middleware(graph.Deny)(executor)
	r.HandleFunc("/graphql", func(w http.ResponseWriter, r *http.Request) {
		if graph.IsSocket(r) { // which brings its key with its first message
			executor.ServeHTTP(w, r)
			return
		}
		withKey.ServeHTTP(w, r)
	})
	r.Group(func(r chi.Router) {
		r.Use(keys.Middleware(rest.WriteError))
		rest.Mount(r, routes, schema, executor)
		r.Post("/v1/logs", otlp.Handler(rest.Runner(routes, executor)))
		r.Method(http.MethodGet, export.Path, &export.Exports{Store: cfg.Store, Clock: time.Now, Fail: rest.WriteError})
	})
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		rest.WriteError(w, r, errs.New(errs.NotFound, "There is nothing at %s", r.URL.Path))
	})
	r.MethodNotAllowed(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed(r, req.URL.Path), ", "))
		rest.WriteError(w, req, errs.New(errs.BadMethod, "%s does not take %s", req.URL.Path, req.Method))
	})
	s.Handler = r
	return s, nil
}

// origins are those of pages that may open a websocket, besides pages from the very host that they connect to.
func origins(cfg Config) []string {
	out := slices.Clone(cfg.CORSOrigins)
	if u, err := url.Parse(cfg.BaseURL); err == nil && u.Host != "" {
		out = append(out, u.Scheme+"://"+u.Host)
	}
	return out
}

// allowed are the methods that a path takes.
func allowed(r chi.Routes, path string) (out []string) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		if r.Match(chi.NewRouteContext(), method, path) {
			out = append(out, method)
		}
	}
	return out
}

func ready(s *store.Store) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := s.Ready(r.Context()); err != nil {
			slog.WarnContext(r.Context(), "not ready", "error", err, "request_id", request.ID(r.Context()))
			writeStatus(w, http.StatusServiceUnavailable, "not ready, and the log says why") // anybody may ask
			return
		}
		writeStatus(w, http.StatusOK, "ready")
	}
}

func writeStatus(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"status": text})
}

// text answers with what is made when the first client asks for it: a server that starts has better things to do.
func text(contentType string, body func() ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		b, err := body()
		if err != nil {
			rest.WriteError(w, r, err)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(b)
	}
}
