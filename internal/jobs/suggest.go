package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
)

// suggestFor is how long one job works, well within what a job may take; what is left is the next one's.
const suggestFor = jobTimeout / 2

type suggestWorker struct {
	river.WorkerDefaults[store.SuggestJob]
	store *store.Store
}

// Work brings the suggestions of an organization up to date.
func (w *suggestWorker) Work(ctx context.Context, job *river.Job[store.SuggestJob]) error {
	soon, cancel := context.WithTimeout(ctx, suggestFor)
	defer cancel()
	done, err := suggest(ctx, soon, w.store.Org(job.Args.OrgID, ids.ID{}))
	if err != nil || done {
		return err
	}
	return river.JobSnooze(0)
}

// suggest works until there is nothing left, or it is time to stop.
func suggest(ctx, soon context.Context, org store.Org) (done bool, err error) {
	for soon.Err() == nil {
		n, err := org.Suggest(ctx)
		if err != nil || n == 0 {
			return true, err
		}
	}
	return false, nil
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

// Work does what no job has done: a delivery that comes while the job of its organization is at work inserts no other, and that of a killed server keeps
// others out for minutes.
func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[sweepJob]) error {
	orgs, err := w.store.Unsuggested(ctx)
	if err != nil {
		return err
	}
	soon, cancel := context.WithTimeout(ctx, suggestFor)
	defer cancel()
	for _, org := range orgs {
		if _, err := suggest(ctx, soon, w.store.Org(org, ids.ID{})); err != nil {
			return err
		}
	}
	return nil
}
