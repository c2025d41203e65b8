package store

import (
	"context"
	"errors"
	"strings"
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

// TouchBlob says that a blob is about to be written. It waits for whoever is removing the same one; from then on nobody does for
// as long as a blob may be idle, and in that time it must be referred to.
func (s *Store) TouchBlob(ctx context.Context, hash string, size int64) error {
	_, err := exec(ctx, s.pool, `INSERT INTO blobs (hash, size, touched_at) VALUES ($1, $2, $3)
		ON CONFLICT (hash) DO UPDATE SET touched_at = greatest(blobs.touched_at, excluded.touched_at)`, hash, size, s.now())
	return err
}

// CollectBlobs removes blobs that nobody refers to and nobody has touched for a while, and returns how many. One that cannot be
// removed does not hold up the others; it is tried again next time.
func (s *Store) CollectBlobs(ctx context.Context, idle time.Duration, remove func(ctx context.Context, hash string) error) (int, error) {
	type row struct {
		Hash string `bun:"hash"`
		Idle bool   `bun:"idle"`
	}
	isIdle := []string{"t.touched_at < $2"}
	for _, r := range blobReferences {
		isIdle = append(isIdle, "NOT EXISTS (SELECT FROM "+r.table+" r WHERE r."+r.column+" = t.hash)")
	}
	sql := "SELECT t.hash, " + strings.Join(isIdle, " AND ") + " AS idle FROM blobs t WHERE t.hash > $1 ORDER BY t.hash LIMIT $3"
	before, last, removed := s.now().Add(-idle), "", 0
	var failed error
	for { // a statement looks at a batch of rows, however many there are
		rows, err := query[row](ctx, s.pool, sql, last, before, blobBatch)
		if err != nil {
			return removed, err
		}
		for _, r := range rows {
			if last = r.Hash; !r.Idle {
				continue
			}
			switch err := s.collectBlob(ctx, r.Hash, before, remove); {
			case err == nil:
				removed++
			case !errors.Is(err, errBlobInUse):
				failed = err
			}
		}
		if len(rows) < blobBatch {
			return removed, failed
		}
	}
}

var errBlobInUse = errors.New("store: the blob is in use")

// collectBlob removes a blob with its row, unless it was touched since or somebody refers to it: the foreign keys decide. The row
// is locked until the bytes are gone, so that whoever wants to write them again does so afterwards. Where the end is never reached
// the row stays, as that of a blob that nobody refers to: it is collected again, or written anew.
func (s *Store) collectBlob(ctx context.Context, hash string, before time.Time, remove func(ctx context.Context, hash string) error) error {
	return s.tx(ctx, func(_ bun.IDB, pg querier) error {
		tag, err := pg.Exec(ctx, "DELETE FROM blobs WHERE hash = $1 AND touched_at < $2", hash, before)
		var broken *pgconn.PgError
		if errors.As(err, &broken) && broken.Code == "23503" || err == nil && tag.RowsAffected() == 0 {
			return errBlobInUse
		}
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, removeTimeout)
		defer cancel()
		return remove(ctx, hash)
	})
}
