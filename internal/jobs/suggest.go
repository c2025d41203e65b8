package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
)

type suggestWorker struct {
	river.WorkerDefaults[store.SuggestJob]
	store *store.Store
}

// suggestFor is how long one job works, well within what a job may take; what is left is the next one's.
const suggestFor = jobTimeout / 2

// Work brings the suggestions of an organization up to date.
func (w *suggestWorker) Work(ctx context.Context, job *river.Job[store.SuggestJob]) error {
	soon, cancel := context.WithTimeout(ctx, suggestFor)
	defer cancel()
	for soon.Err() == nil {
		n, err := w.store.Org(job.Args.OrgID, ids.ID{}).Suggest(ctx)
		if err != nil || n == 0 {
			return err
		}
	}
	return river.JobSnooze(0)
}

type sweepJob struct{}

// Kind names the job in the queue.
func (sweepJob) Kind() string { return "sweep_suggestions" }

// sweepEvery is how long a session, or a new link of a source, waits at most for somebody to look at it.
const sweepEvery = 15 * time.Second

type sweepWorker struct {
	river.WorkerDefaults[sweepJob]
	store *store.Store
}

// Work finds what no job is at work on.
func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[sweepJob]) error {
	return w.store.SweepSuggestions(ctx)
}
