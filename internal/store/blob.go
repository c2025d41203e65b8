package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
)

// blobReferences are the columns that refer to blobs(hash), each with a foreign key and an index.
var blobReferences = []struct{ table, column string }{
	{"snapshots", "blob_hash"},
	{"registry_versions", "content_hash"},
}

const (
	blobBatch     = 1000
	removeTimeout = 10 * time.Second // below idle_in_transaction_session_timeout: the lock must outlast the removal
)

// TouchBlob says that a blob is about to be written or referred to. When it returns, nobody is removing the bytes, and nobody will
// for as long as blobs may be idle.
func (s *Store) TouchBlob(ctx context.Context, hash string, size int64) error {
	return s.tx(ctx, func(_ bun.IDB, pg querier) error {
		if _, err := exec(ctx, pg, `INSERT INTO blobs (hash, size, touched_at) VALUES ($1, $2, $3)
			ON CONFLICT (hash) DO UPDATE SET touched_at = greatest(blobs.touched_at, excluded.touched_at)`, hash, size, s.now()); err != nil {
			return err
		}
		// A statement of its own: it must see a row that the first one has waited for. This one waits for a removal.
		_, err := exec(ctx, pg, "DELETE FROM dead_blobs WHERE hash = $1", hash)
		return err
	})
}

// CollectBlobs removes blobs that nobody refers to and nobody has touched for a while. It returns how many.
//
// First the row goes, if no foreign key objects, and leaves a note that its bytes are to be removed. From then on nobody can refer
// to them, so that removing them is safe, and safe to repeat after a crash at any moment. Whoever wants to write them again takes
// the note away (TouchBlob), and waits for a removal that is under way.
func (s *Store) CollectBlobs(ctx context.Context, idle time.Duration, remove func(ctx context.Context, hash string) error) (int, error) {
	if err := s.buryBlobs(ctx, s.now().Add(-idle)); err != nil {
		return 0, err
	}
	dead, err := query[blobRow](ctx, s.pool, "SELECT hash FROM dead_blobs ORDER BY hash")
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, b := range dead {
		done, failed := s.removeBlob(ctx, b.Hash, remove)
		if failed != nil {
			err = failed // the others need not wait for this one
		}
		if done {
			removed++
		}
	}
	return removed, err
}

type blobRow struct {
	Hash string `bun:"hash"`
}

// buryBlobs looks at a bounded number of rows in each statement, however many there are.
func (s *Store) buryBlobs(ctx context.Context, before time.Time) error {
	type row struct {
		blobRow `bun:",inline"`
		Idle    bool `bun:"idle"`
	}
	idle := "t.touched_at < $2"
	for _, r := range blobReferences {
		idle += " AND NOT EXISTS (SELECT FROM " + r.table + " r WHERE r." + r.column + " = t.hash)"
	}
	for last := ""; ; {
		rows, err := query[row](ctx, s.pool, "SELECT t.hash, "+idle+" AS idle FROM blobs t WHERE t.hash > $1 ORDER BY t.hash LIMIT $3", last, before, blobBatch)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if last = r.Hash; r.Idle {
				if err := s.buryBlob(ctx, r.Hash, before); err != nil {
					return err
				}
			}
		}
		if len(rows) < blobBatch {
			return nil
		}
	}
}

// buryBlob deletes a row, unless it was touched since or somebody refers to it: the foreign key decides.
func (s *Store) buryBlob(ctx context.Context, hash string, before time.Time) error {
	_, err := s.pool.Exec(ctx, `WITH gone AS (DELETE FROM blobs WHERE hash = $1 AND touched_at < $2 RETURNING hash)
		INSERT INTO dead_blobs (hash) SELECT hash FROM gone ON CONFLICT DO NOTHING`, hash, before)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23503" {
		return nil
	}
	return fail(ctx, err)
}

// removeBlob removes the bytes under the lock of their note.
func (s *Store) removeBlob(ctx context.Context, hash string, remove func(ctx context.Context, hash string) error) (done bool, err error) {
	err = s.tx(ctx, func(_ bun.IDB, pg querier) error {
		n, err := exec(ctx, pg, "DELETE FROM dead_blobs WHERE hash = $1", hash)
		if err != nil || n == 0 { // wanted again, or removed by somebody else
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, removeTimeout)
		defer cancel()
		done = true
		return remove(ctx, hash)
	})
	return done && err == nil, err
}
