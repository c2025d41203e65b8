package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
)

type proposeWorker struct {
	river.WorkerDefaults[store.ProposeJob]
	store *store.Store
}

// Work draws an organization's proposals.
func (w *proposeWorker) Work(ctx context.Context, job *river.Job[store.ProposeJob]) error {
	return w.store.Org(job.Args.OrgID, ids.ID{}).Propose(ctx)
}
