package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"skillgraph/internal/codehost"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
)

// turn is how long the deliveries of one repository are worked on before others have theirs.
const turn = 5 * time.Second

type deliveriesWorker struct {
	river.WorkerDefaults[store.DeliveriesJob]

	store *store.Store
	host  *codehost.Host
}

// Work acts upon the deliveries of a repository, one after the other, until there are none.
func (w *deliveriesWorker) Work(ctx context.Context, job *river.Job[store.DeliveriesJob]) error {
	mine, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	for mine.Err() == nil {
		d, err := w.store.NextDelivery(ctx, job.Args.Queue)
		if err != nil {
			return err
		}
		if d == nil {
			left, err := w.store.LeaveQueue(ctx, job)
			if err != nil || left {
				return err
			}
			continue
		}
		if err := w.host.Deliver(ctx, w.store, d); err != nil {
			slog.WarnContext(ctx, "a delivery of the code host will be tried again", "queue", job.Args.Queue, "try", d.Tries, "error", err)
			return river.JobSnooze(backoff(d.Tries))
		}
	}
	return river.JobSnooze(0)
}

// backoff is how long to wait after so many tries: 2 seconds, 4, 8, and so on.
func backoff(tries int) time.Duration { return time.Second << min(tries, 8) }

type writeBackWorker struct {
	river.WorkerDefaults[store.WriteBackJob]

	store *store.Store
	host  *codehost.Host
}

// Work tells the code host what became of an attempt.
func (w *writeBackWorker) Work(ctx context.Context, job *river.Job[store.WriteBackJob]) error {
	return w.host.WriteBack(ctx, w.store.Org(job.Args.OrgID, ids.ID{}), job.Args.AttemptID, job.Attempt >= store.WriteBackTries)
}
