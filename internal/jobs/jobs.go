// Package jobs does the work that leaves the process or that nobody waits for: it evaluates alerts, tells people, publishes from
// repositories, makes suggestions and proposals, and deletes what is too old or nobody needs. Jobs are at least once, so every worker may be
// run twice for the same thing.
package jobs

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"skillgraph/internal/blob"
	"skillgraph/internal/codehost"
	"skillgraph/internal/hosting"
	"skillgraph/internal/skillmd"
	"skillgraph/internal/store"
	"skillgraph/internal/tracing"
)

// Config is what the jobs need.
type Config struct {
	Store         *store.Store
	Alerts        *Alerts
	AlertInterval time.Duration // between two evaluations of an alert
	Blobs         *blob.Store
	Hosting       *hosting.Hosting
	Host          *codehost.Host
}

// Jobs is a running queue.
type Jobs struct{ client *store.Queue }

const (
	workers     = 50 // most of them wait for somebody's endpoint
	jobTimeout  = time.Minute
	rescueAfter = 5 * time.Minute // a job of a server that died; longer than any job may take
	softStop    = 10 * time.Second
)

// Start works on the queue until Stop. Several servers may share it: each job is taken by one of them.
func Start(ctx context.Context, cfg Config) (*Jobs, error) {
	w := river.NewWorkers()
	river.AddWorker(w, &evaluateWorker{store: cfg.Store, interval: cfg.AlertInterval})
	river.AddWorker(w, &deliverWorker{store: cfg.Store, alerts: cfg.Alerts, busy: map[string]int{}})
	river.AddWorker(w, &pruneWorker{store: cfg.Store})
	river.AddWorker(w, &collectWorker{store: cfg.Store, blobs: cfg.Blobs})
	river.AddWorker(w, &deliveriesWorker{store: cfg.Store, host: cfg.Host})
	river.AddWorker(w, &writeBackWorker{store: cfg.Store, host: cfg.Host})
	river.AddWorker(w, &revalidateWorker{store: cfg.Store, hosting: cfg.Hosting})
	river.AddWorker(w, &proposeWorker{store: cfg.Store})
	river.AddWorker(w, &suggestWorker{store: cfg.Store})
	river.AddWorker(w, &sweepWorker{store: cfg.Store})
	client, err := river.NewClient(riverpgxv5.New(cfg.Store.Pool()), &river.Config{
		Workers: w, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		FetchCooldown: 10 * time.Millisecond, JobTimeout: jobTimeout, RescueStuckJobsAfter: rescueAfter, SoftStopTimeout: softStop,
		Logger:     slog.New(quiet{slog.Default().Handler()}),
		Middleware: []rivertype.Middleware{river.WorkerMiddlewareFunc(traced)},
		PeriodicJobs: []*river.PeriodicJob{
			every(min(cfg.AlertInterval, 30*time.Second), evaluateJob{}),
			every(time.Hour, pruneJob{}),
			every(time.Hour, collectJob{}),
			every(10*time.Minute, revalidateJob{Rules: skillmd.Version}),
			every(sweepEvery, sweepJob{}),
		},
	})
	if err != nil {
		return nil, err
	}
	return &Jobs{client}, client.Start(ctx)
}

// traced traces an attempt at a job. One that is put off has not failed.
func traced(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
	ctx, span := tracing.Job(ctx, job.Kind, job.Attempt)
	failed := "panic"
	defer func() { span.End(ctx, failed) }()
	err := work(ctx)
	var later *river.JobSnoozeError
	if failed = ""; err != nil && !errors.As(err, &later) {
		failed = "error"
	}
	return err
}

// Stop finishes the jobs under way, for a while.
func (j *Jobs) Stop(ctx context.Context) error { return j.client.Stop(ctx) }

// every inserts a job once a period, on one of the servers. One that a killed server has left behind does not keep the next
// from running: what it does, it does once, however many run.
func every(period time.Duration, job river.JobArgs) *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(period), func() (river.JobArgs, *river.InsertOpts) {
		return job, &river.InsertOpts{MaxAttempts: 1, UniqueOpts: river.UniqueOpts{ByArgs: true, ByPeriod: period}}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}

// Collect registers how many jobs there are of each kind in each state.
func Collect(s *store.Store, reg prometheus.Registerer) { reg.MustRegister(queueFigures{s}) }

type queueFigures struct{ store *store.Store }

var queueDesc = prometheus.NewDesc("skillgraph_jobs", "Jobs in the queue, by kind and state.", []string{"kind", "state"}, nil)

// Describe says what Collect gives.
func (queueFigures) Describe(ch chan<- *prometheus.Desc) { ch <- queueDesc }

// Collect counts when somebody asks.
func (f queueFigures) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	counts, err := f.store.QueueCounts(ctx)
	if err != nil {
		return // the other figures are still worth having
	}
	for k, n := range counts {
		ch <- prometheus.MustNewConstMetric(queueDesc, prometheus.GaugeValue, float64(n), k[0], k[1])
	}
}

// quiet keeps the queue's own news out of the log unless something is wrong.
type quiet struct{ slog.Handler }

// Enabled leaves out what is only news.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

// Handle leaves out what is interrupted because the server stops.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	stopping := false
	r.Attrs(func(a slog.Attr) bool {
		stopping = strings.Contains(a.Value.String(), context.Canceled.Error())
		return !stopping
	})
	if stopping {
		return nil
	}
	return q.Handler.Handle(ctx, r)
}
