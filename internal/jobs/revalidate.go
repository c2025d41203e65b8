package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"skillgraph/internal/hosting"
	"skillgraph/internal/store"
)

// revalidateJob names the rules, so that a server with newer ones need not wait until the period of the former is over.
type revalidateJob struct {
	Rules int `json:"rules"`
}

// Kind names the job in the queue.
func (revalidateJob) Kind() string { return "revalidate_snapshots" }

type revalidateWorker struct {
	river.WorkerDefaults[revalidateJob]
	store   *store.Store
	hosting *hosting.Hosting
}

// Timeout is longer than that of other jobs: when the rules change there is much to read. What is left is done by the next.
func (*revalidateWorker) Timeout(*river.Job[revalidateJob]) time.Duration { return 4 * time.Minute }

// Work holds the snapshots against the present rules that were not yet.
func (w *revalidateWorker) Work(ctx context.Context, _ *river.Job[revalidateJob]) error {
	n, err := w.hosting.Revalidate(ctx, w.store)
	if n > 0 {
		slog.InfoContext(ctx, "validated snapshots by new rules", "snapshots", n)
	}
	return err
}
