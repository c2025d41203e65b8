package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"skillgraph/internal/blob"
	"skillgraph/internal/store"
)

// blobIdle is how long a blob may wait for somebody to refer to it: much longer than any request takes.
const blobIdle = time.Hour

type collectJob struct{}

// Kind names the job in the queue.
func (collectJob) Kind() string { return "collect_blobs" }

type collectWorker struct {
	river.WorkerDefaults[collectJob]
	store *store.Store
	blobs *blob.Store
}

// Timeout is longer than that of other jobs: there may be many to remove.
func (*collectWorker) Timeout(*river.Job[collectJob]) time.Duration { return 4 * time.Minute }

// Work removes the blobs that nobody refers to, and what was never finished.
func (w *collectWorker) Work(ctx context.Context, job *river.Job[collectJob]) error {
	n, err := w.store.CollectBlobs(ctx, blobIdle, w.blobs.Delete)
	if n > 0 {
		slog.InfoContext(ctx, "removed blobs that nobody refers to", "blobs", n)
	}
	return errors.Join(err, w.blobs.Sweep(ctx, job.ScheduledAt.Add(-blobIdle)))
}
