package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"skillgraph/graph"
	"skillgraph/internal/codehost"
	"skillgraph/internal/hosting"
	"skillgraph/internal/jobs"
	"skillgraph/internal/postgres"
	"skillgraph/internal/registry"
	"skillgraph/internal/server"
	"skillgraph/internal/store"
	"skillgraph/internal/tracing"
)

const drainTime = 20 * time.Second

type serveConfig struct {
	*flags
	addr, baseURL, metricsAddr, logFormat, logLevel string
	webhookSecret, executor                         string
	migrate                                         bool
	corsOrigins                                     list
	documents, documentsDir                         string
	telemetry                                       telemetryFlags
	app                                             appFlags
}

func serve(ctx context.Context, e env, args []string) error {
	cfg := serveConfig{flags: newFlags(e, "serve")}
	cfg.StringVar(&cfg.addr, "addr", "127.0.0.1:8080", "address to listen on")
	cfg.StringVar(&cfg.baseURL, "base-url", "", "how clients reach the server, for links (default: where a request came in, and http://<addr>)")
	cfg.StringVar(&cfg.metricsAddr, "metrics-addr", "", "an address of its own for /metrics (default: it is on --addr)")
	cfg.StringVar(&cfg.logFormat, "log-format", "text", "text or json")
	cfg.StringVar(&cfg.logLevel, "log-level", "info", "debug, info, warn or error")
	cfg.BoolVar(&cfg.migrate, "migrate", true, "bring the database up to date before serving")
	cfg.Var(&cfg.corsOrigins, "cors-origins", "origins whose pages may use the API, with commas between them; * is all (default: none)")
	cfg.StringVar(&cfg.executor, "executor", string(graph.Level), "what runs queries: level, or gqlgen should that ever be at fault")
	cfg.StringVar(&cfg.documents, "documents", "any", "GraphQL documents that clients may run: any, or stored, which are only those in --documents-dir")
	cfg.StringVar(&cfg.documentsDir, "documents-dir", "", "folder with *.graphql files that clients may run by hash, name or operationName")
	cfg.telemetry.register(cfg.flags)
	cfg.registerBlobs()
	cfg.registerRepos()
	cfg.app.register(cfg.flags)
	cfg.StringVar(&cfg.webhookSecret, "repohost-webhook-secret", "", "secret that signs what the code host tells; without one its webhook answers 503")
	if _, err := cfg.read(args); err != nil {
		return err
	}
	if err := setLogger(cfg); err != nil {
		return err
	}
	if cfg.executor != string(graph.Level) && cfg.executor != string(graph.Gqlgen) {
		return fmt.Errorf("--executor must be level or gqlgen, not %q", cfg.executor)
	}
	if err := cfg.telemetry.validate(); err != nil {
		return err
	}
	documents, err := cfg.storedDocuments()
	if err != nil {
		return err
	}
	makeRoom()
	// The ports first: when one is taken, nothing else has been touched.
	listener, err := listen(ctx, "addr", cfg.addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	var metrics net.Listener
	if cfg.metricsAddr != "" {
		if metrics, err = listen(ctx, "metrics-addr", cfg.metricsAddr); err != nil {
			return err
		}
		defer metrics.Close()
	}
	stopTracing, err := cfg.startTracing(ctx)
	if err != nil {
		return err
	}
	defer stopTracing()
	alerts, err := cfg.telemetry.alerts(cfg.base(listener.Addr()))
	if err != nil {
		return err
	}
	driver, local, err := cfg.codeHost()
	if err != nil {
		return err
	}
	cfg.store = store.Options{Retention: time.Duration(cfg.telemetry.retention), DropPromptText: cfg.telemetry.promptText == "drop"}
	db, err := cfg.open(ctx, postgres.Start)
	if err != nil {
		return err
	}
	defer db.close()
	if err := cfg.prepare(ctx, db); err != nil {
		return err
	}
	blobs, err := cfg.openBlobs(ctx, db.Store)
	if err != nil {
		return err
	}
	defer blobs.Close()
	sources := hosting.New(blobs, driver)
	published := &registry.Registry{Blobs: blobs, Links: registry.Links{Store: db.Store, Clock: time.Now}}
	host := &codehost.Host{Driver: driver, Registry: published, BaseURL: cfg.base(listener.Addr()), Grants: local}
	srv, err := server.New(server.Config{
		Store: db.Store, Alerts: alerts, Registry: published, Sources: sources, Host: host, WebhookSecret: cfg.webhookSecret,
		BaseURL: strings.TrimSuffix(cfg.baseURL, "/"), CORSOrigins: cfg.corsOrigins, MetricsElsewhere: cfg.metricsAddr != "",
		Executor:  graph.Executor(cfg.executor),
		Documents: documents,
	})
	if err != nil {
		return err
	}
	stopJobs, err := cfg.startJobs(ctx, jobs.Config{
		Store: db.Store, Alerts: alerts, AlertInterval: cfg.telemetry.alertInterval, Blobs: blobs, Hosting: sources, Host: host,
	})
	if err != nil {
		return err
	}
	defer stopJobs()
	return cfg.run(ctx, listener, metrics, srv, db)
}

// storedDocuments reads the documents that the operator has stored.
func (cfg serveConfig) storedDocuments() (*graph.Documents, error) {
	only := cfg.documents == "stored"
	switch {
	case !only && cfg.documents != "any":
		return nil, fmt.Errorf("--documents must be any or stored, not %q", cfg.documents)
	case only && cfg.documentsDir == "":
		return nil, errors.New("--documents stored needs --documents-dir")
	case cfg.documentsDir == "":
		return graph.NewDocuments(), nil
	}
	documents, err := graph.LoadDocuments(os.DirFS(cfg.documentsDir), only)
	if err != nil {
		return nil, fmt.Errorf("--documents-dir: %w", err)
	}
	return documents, nil
}

// startJobs works on the queue, unless the database may not be up to date.
func (cfg serveConfig) startJobs(ctx context.Context, work jobs.Config) (stop func(), err error) {
	if err := work.Store.Ready(ctx); err != nil {
		slog.WarnContext(ctx, "no jobs are worked on", "error", err)
		return func() {}, nil
	}
	running, err := jobs.Start(context.WithoutCancel(ctx), work)
	if err != nil {
		return nil, err
	}
	return func() {
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
		defer cancel()
		if err := running.Stop(drain); err != nil {
			slog.WarnContext(ctx, "some jobs did not finish; they will be done again", "error", err)
		}
	}, nil
}

// startTracing tells a collector what the server does, when the variables of OpenTelemetry name one.
func (cfg serveConfig) startTracing(ctx context.Context) (stop func(), err error) {
	end, err := tracing.Start(ctx, version, cfg.env.lookup)
	if err != nil {
		return nil, err
	}
	return func() {
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if err := end(drain); err != nil {
			slog.WarnContext(ctx, "the last telemetry could not be sent", "error", err)
		}
	}, nil
}

func listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w (choose another address with --%s)", addr, errors.Unwrap(err), flag)
	}
	return l, nil
}

func setLogger(cfg serveConfig) error {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.logLevel)); err != nil {
		return fmt.Errorf("--log-level must be debug, info, warn or error, not %q", cfg.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch cfg.logFormat {
	case "text":
		slog.SetDefault(slog.New(slog.NewTextHandler(cfg.env.stderr, options)))
	case "json":
		slog.SetDefault(slog.New(slog.NewJSONHandler(cfg.env.stderr, options)))
	default:
		return fmt.Errorf("--log-format must be text or json, not %q", cfg.logFormat)
	}
	return nil
}

func (cfg serveConfig) prepare(ctx context.Context, db *database) error {
	if !cfg.migrate {
		_, err := db.Migrations(ctx)
		return err
	}
	taken, err := db.Migrate(ctx)
	for _, name := range taken {
		slog.InfoContext(ctx, "migrated", "step", name)
	}
	return err
}

// run serves until it is told to stop, then finishes what is under way.
func (cfg serveConfig) run(ctx context.Context, listener, metrics net.Listener, srv *server.Server, db *database) error {
	main := newHTTP(srv)
	failed := make(chan error, 2)
	go func() { failed <- main.Serve(listener) }()
	if metrics != nil {
		own := newHTTP(srv.Metrics)
		go func() { failed <- own.Serve(metrics) }()
		defer own.Close()
	}
	cfg.greet(listener, metrics)
	var gone <-chan struct{} // nil, and so never ready, with a database of somebody else
	if db.own != nil {
		gone = db.own.Exited()
	}
	select {
	case err := <-failed:
		return err
	case <-gone:
		_ = main.Close()
		return errors.New("PostgreSQL has ended; its log is in " + filepath.Join(cfg.dataDir, "postgres", "postgres.log"))
	case <-ctx.Done():
	}
	slog.Info("stopping: finishing what is under way", "at_most", drainTime)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	ended := make(chan struct{})
	main.RegisterOnShutdown(func() { // streams would go on for ever; websockets are nobody's to wait for but ours
		srv.EndStreams(drain)
		close(ended)
	})
	if err := main.Shutdown(drain); err != nil {
		_ = main.Close()
	}
	<-ended
	return nil
}

func newHTTP(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5 * time.Minute, // 50 MiB over a slow line
		WriteTimeout:      5 * time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
}

// base is how clients reach the server.
func (cfg serveConfig) base(addr net.Addr) string {
	if cfg.baseURL == "" {
		return "http://" + addr.String()
	}
	return strings.TrimSuffix(cfg.baseURL, "/")
}

// greet tells a person where to go next.
func (cfg serveConfig) greet(listener, metrics net.Listener) {
	base := strings.TrimSuffix(cfg.baseURL, "/")
	if base == "" {
		base = "http://" + listener.Addr().String()
	}
	text := fmt.Sprintf("\nskillgraph is ready\n  Dashboard   %s/\n  Playground  %s/playground\n  GraphQL     %s/graphql\n  REST        %s/api/v1\n", base, base, base, base)
	if metrics != nil {
		text += fmt.Sprintf("  Metrics     http://%s/metrics\n", metrics.Addr())
	}
	if key, err := os.ReadFile(filepath.Join(cfg.dataDir, demoKeyFile)); err == nil {
		text += "  Demo key    " + strings.TrimSpace(string(key)) + "\n"
	}
	_, _ = fmt.Fprintln(cfg.env.stdout, text)
}
