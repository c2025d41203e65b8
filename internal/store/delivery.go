package store

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
	"github.com/uptrace/bun"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// DeliveriesJob works on the deliveries of one repository, or of one installation, one after the other.
type DeliveriesJob struct {
	Queue string `json:"queue"`
}

// Kind is what the queue calls it.
func (DeliveriesJob) Kind() string { return "deliveries" }

// InsertOpts has one job for each queue of deliveries at a time.
func (DeliveriesJob) InsertOpts() river.InsertOpts {
	return river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}}}
}

// Receive keeps a delivery of the code host, once, and has it worked on after those before it. Whether somebody works on the queue
// and whether there is something in it is decided under the lock of its row.
func (s *Store) Receive(ctx context.Context, d models.Received) (isNew bool, err error) {
	payload, err := json.Marshal(d.Payload)
	if err != nil {
		return false, err
	}
	now := s.now()
	err = s.tx(ctx, func(_ bun.IDB, pg querier) error {
		if err := lockQueue(ctx, pg, d.Queue); err != nil {
			return err
		}
		n, err := exec(ctx, pg, `INSERT INTO repo_deliveries (org_id, id, delivery_key, queue, event, action, repo_full_name, ref, payload, state, received_at)
			VALUES ((SELECT i.org_id FROM repo_installations i WHERE i.installation_id = $1), $2, $3, $4, $5, nullif($6, ''), nullif($7, ''), nullif($8, ''), $9, 'PENDING', $10)
			ON CONFLICT (delivery_key) DO NOTHING`, d.InstallationID, ids.New(ids.Delivery, now), d.Key, d.Queue, d.Event, d.Action, d.RepoFullName, d.Ref, string(payload), now)
		if err != nil || n == 0 {
			return err
		}
		isNew = true
		return s.enqueue(ctx, pg, DeliveriesJob{d.Queue})
	})
	return isNew, err
}

func lockQueue(ctx context.Context, pg querier, queue string) error {
	if _, err := exec(ctx, pg, "INSERT INTO repo_queues (name) VALUES ($1) ON CONFLICT DO NOTHING", queue); err != nil {
		return err
	}
	_, err := exec(ctx, pg, "SELECT FROM repo_queues WHERE name = $1 FOR UPDATE", queue)
	return err
}

// Told is a delivery to be worked on.
type Told struct {
	ID      ids.ID      `bun:"id"`
	OrgID   *ids.ID     `bun:"org_id"`
	Payload models.JSON `bun:"payload"`
	Tries   int         `bun:"tries"`
}

// NextDelivery is the oldest delivery of a queue that nobody has worked on; nil when there is none.
func (s *Store) NextDelivery(ctx context.Context, queue string) (*Told, error) {
	rows, err := query[Told](ctx, s.pool, `UPDATE repo_deliveries t SET tries = t.tries + 1 WHERE t.id = (
			SELECT n.id FROM repo_deliveries n WHERE n.queue = $1 AND n.state = 'PENDING' ORDER BY n.number LIMIT 1)
		RETURNING t.id, t.org_id, t.payload, t.tries`, queue)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// DeliveryDone keeps what became of a delivery.
func (s *Store) DeliveryDone(ctx context.Context, id ids.ID, state models.DeliveryState, outcome string) error {
	_, err := exec(ctx, s.pool, "UPDATE repo_deliveries SET state = $2, outcome = $3 WHERE id = $1", id, state, outcome)
	return err
}

var errNotEmpty = errors.New("the queue is not empty")

// LeaveQueue ends a job, unless there is something in its queue again.
func (s *Store) LeaveQueue(ctx context.Context, job *river.Job[DeliveriesJob]) (left bool, err error) {
	type row struct {
		Pending bool `bun:"pending"`
	}
	err = s.tx(ctx, func(_ bun.IDB, pg querier) error {
		if err := lockQueue(ctx, pg, job.Args.Queue); err != nil {
			return err
		}
		rows, err := query[row](ctx, pg, "SELECT EXISTS (SELECT FROM repo_deliveries t WHERE t.queue = $1 AND t.state = 'PENDING') AS pending", job.Args.Queue)
		if err != nil {
			return err
		}
		if rows[0].Pending {
			return errNotEmpty
		}
		var tx pgx.Tx = &joinedTx{connection: connection{pg.(*transaction).Conn}}
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
	if errors.Is(err, errNotEmpty) {
		return false, nil
	}
	return err == nil, err
}

// RepoDeliveries lists what the code host has told about the organization's installations, newest first.
func (o Org) RepoDeliveries(ctx context.Context, w models.Window) (*models.RepoDeliveryConnection, error) {
	return page(ctx, o, listing[models.RepoDelivery]{
		from: "repo_deliveries t", parent: "t.org_id",
		order: order[models.RepoDelivery]{
			name: "number", columns: []string{"t.number"}, types: []string{"bigint"}, desc: true,
			key: func(d *models.RepoDelivery) []string { return []string{strconv.Itoa(d.Number)} },
			id:  func(d *models.RepoDelivery) ids.ID { return d.ID },
		},
	}, w)
}

// RepoDeliveriesByID is the batch for nodes.
func (o Org) RepoDeliveriesByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.RepoDelivery, error) {
	return batch(ctx, o, func(d *models.RepoDelivery) ids.ID { return d.ID }, "repo_deliveries t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

// LinksOf are the connections of an installation to a repository. One that has another name by now is renamed first, with its sources.
func (o Org) LinksOf(ctx context.Context, installation, repoID int64, fullName string) ([]*models.RepoLink, error) {
	type row struct {
		Name string `bun:"repo_full_name"`
	}
	return inTx(ctx, o, func(o Org) ([]*models.RepoLink, error) {
		former, err := query[row](ctx, o.pg, `SELECT DISTINCT t.repo_full_name FROM repo_links t JOIN repo_installations i ON i.org_id = t.org_id AND i.id = t.repo_installation_id
			WHERE t.org_id = $1 AND i.installation_id = $2 AND t.repo_id = $3 AND t.repo_id <> 0 AND lower(t.repo_full_name) <> lower($4)`, o.id, installation, repoID, fullName)
		if err != nil {
			return nil, err
		}
		for _, f := range former {
			if _, err := o.RenameRepository(ctx, installation, f.Name, fullName); err != nil {
				return nil, err
			}
		}
		return query[models.RepoLink](ctx, o.pg, "SELECT "+columns[models.RepoLink]()+` FROM repo_links t JOIN repo_installations i ON i.org_id = t.org_id AND i.id = t.repo_installation_id
			WHERE t.org_id = $1 AND i.installation_id = $2 AND lower(t.repo_full_name) = lower($3) ORDER BY t.id`, o.id, installation, fullName)
	})
}

// InstallationOf is the installation that has connections to a repository, for hosts that do not say with which they tell of it; 0
// when there is none, or more than one.
func (s *Store) InstallationOf(ctx context.Context, repoID int64, fullName string) (int64, error) {
	type row struct {
		Number int64 `bun:"installation_id"`
	}
	rows, err := query[row](ctx, s.pool, `SELECT DISTINCT i.installation_id FROM repo_links t JOIN repo_installations i ON i.org_id = t.org_id AND i.id = t.repo_installation_id
		WHERE lower(t.repo_full_name) = lower($2) OR t.repo_id = $1 AND t.repo_id <> 0`, repoID, fullName)
	if err != nil || len(rows) != 1 {
		return 0, err
	}
	return rows[0].Number, nil
}

// RenameRepository follows a repository to its new name, in connections and sources.
func (o Org) RenameRepository(ctx context.Context, installation int64, from, to string) (links int64, err error) {
	type row struct {
		ID ids.ID `bun:"id"`
	}
	err = o.tx(ctx, func(o Org) error {
		for _, in := range []struct{ table, event string }{{"repo_links", "connection.renamed"}, {"cloud_sources", "source.repository_renamed"}} {
			rows, err := query[row](ctx, o.pg, "UPDATE "+in.table+` t SET repo_full_name = $4 FROM repo_installations i
				WHERE t.org_id = $1 AND i.org_id = $1 AND i.id = t.repo_installation_id AND i.installation_id = $2 AND lower(t.repo_full_name) = lower($3) RETURNING t.id`, o.id, installation, from, to)
			if err != nil {
				return err
			}
			for _, r := range rows {
				if err := o.event(ctx, in.event, r.ID, map[string]any{"from": from, "to": to}); err != nil {
					return err
				}
			}
			links += int64(len(rows))
		}
		return nil
	})
	return links, err
}

// SuspendInstallation follows what the code host says of an installation.
func (o Org) SuspendInstallation(ctx context.Context, installation int64, suspended bool) error {
	return o.tx(ctx, func(o Org) error {
		rows, err := query[models.RepoInstallation](ctx, o.pg, `UPDATE repo_installations t SET suspended = $3, updated_at = $4 WHERE t.org_id = $1 AND t.installation_id = $2 AND t.suspended <> $3
			RETURNING `+columns[models.RepoInstallation](), o.id, installation, suspended, o.now())
		if err != nil || len(rows) == 0 {
			return err
		}
		return o.event(ctx, "installation.suspended", rows[0].ID, map[string]any{"account_login": rows[0].AccountLogin, "suspended": suspended})
	})
}

// deliveryLife is how long deliveries are kept.
const deliveryLife = 30 * 24 * time.Hour

// PruneDeliveries deletes old deliveries, a bounded number at once.
func (s *Store) PruneDeliveries(ctx context.Context) error {
	for {
		n, err := exec(ctx, s.pool, `DELETE FROM repo_deliveries WHERE id IN (SELECT t.id FROM repo_deliveries t WHERE t.received_at < $1 AND t.state <> 'PENDING' LIMIT 1000)`, s.now().Add(-deliveryLife))
		if err != nil || n == 0 {
			return err
		}
	}
}
