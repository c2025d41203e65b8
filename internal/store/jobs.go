package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// Queue is a client of the job queue.
type Queue = river.Client[pgx.Tx]

// newQueue is a client that only inserts jobs; internal/jobs works on them.
func newQueue(pool *pgxpool.Pool) (*Queue, error) {
	return river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
}

// enqueue inserts a job into the transaction that a verb runs in: work that leaves the process is done if and only if
// the change that asked for it is committed.
func (o Org) enqueue(ctx context.Context, job river.JobArgs) error {
	return o.store.enqueue(ctx, o.pg, job)
}

func (s *Store) enqueue(ctx context.Context, pg querier, job river.JobArgs) error {
	tx, ok := pg.(*transaction)
	if !ok {
		return errors.New("store: a job belongs into a transaction")
	}
	_, err := s.queue.InsertTx(ctx, &joinedTx{connection: connection{tx.Conn}}, job, nil)
	return err
}

// migrateQueue makes the tables of the job queue.
func (s *Store) migrateQueue(ctx context.Context) error {
	m, err := rivermigrate.New(riverpgxv5.New(s.pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	return err
}

// Pool is for the job queue, which speaks to PostgreSQL itself.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// QueueCounts is how many jobs there are of each kind in each state.
func (s *Store) QueueCounts(ctx context.Context) (map[[2]string]int, error) {
	type row struct {
		Kind  string `bun:"kind"`
		State string `bun:"state"`
		N     int    `bun:"n"`
	}
	rows, err := query[row](ctx, s.pool, "SELECT kind, state::text AS state, count(*) AS n FROM river_job GROUP BY 1, 2")
	out := make(map[[2]string]int, len(rows))
	for _, r := range rows {
		out[[2]string{r.Kind, r.State}] = r.N
	}
	return out, err
}

// joinedTx shows the connection under a running transaction as a transaction of pgx. Whoever began it ends it.
type joinedTx struct {
	connection
	depth int
}

// connection has the methods of a connection; a transaction has a method of the name Conn.
type connection struct{ *pgx.Conn }

// Begin makes a savepoint.
func (t *joinedTx) Begin(ctx context.Context) (pgx.Tx, error) {
	inner := &savepoint{joinedTx{t.connection, t.depth + 1}}
	_, err := t.Exec(ctx, "SAVEPOINT "+inner.name())
	return inner, err
}

func (t *joinedTx) name() string { return fmt.Sprintf("joined_%d", t.depth) }

// Commit is not ours to call.
func (*joinedTx) Commit(context.Context) error { return errors.New("store: the verb commits") }

// Rollback is not ours to call.
func (*joinedTx) Rollback(context.Context) error { return errors.New("store: the verb rolls back") }

// LargeObjects are not used.
func (*joinedTx) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

// Conn is the connection.
func (t *joinedTx) Conn() *pgx.Conn { return t.connection.Conn }

type savepoint struct{ joinedTx }

// Commit keeps what was done since the savepoint.
func (t *savepoint) Commit(ctx context.Context) error {
	_, err := t.Exec(ctx, "RELEASE SAVEPOINT "+t.name())
	return err
}

// Rollback undoes it.
func (t *savepoint) Rollback(ctx context.Context) error {
	_, err := t.Exec(ctx, "ROLLBACK TO SAVEPOINT "+t.name())
	return err
}
