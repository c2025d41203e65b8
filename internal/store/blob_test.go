package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/blob"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/store"
)

func blobHash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// everythingIdle is how long nothing can have been idle: all blobs are old enough.
const everythingIdle = -time.Hour

// blobWorld has a table that refers to blobs, of which the store knows nothing.
type blobWorld struct {
	world
	passed atomic.Int64
}

func newBlobWorld(t *testing.T) *blobWorld {
	t.Helper()
	w := &blobWorld{}
	w.world = newWorldAt(t, w.now)
	dbtest.Exec(t, w.url, "CREATE TABLE archives (id bigserial PRIMARY KEY, hash text NOT NULL CONSTRAINT archives_hash_fkey REFERENCES blobs (hash))")
	return w
}

func (w *blobWorld) now() time.Time { return time.Now().Add(time.Duration(w.passed.Load())) }

func (w *blobWorld) touch(t *testing.T, content string) string {
	t.Helper()
	require.NoError(t, w.TouchBlob(t.Context(), blobHash(content), int64(len(content))))
	return blobHash(content)
}

func (w *blobWorld) refer(t *testing.T, hash string) error {
	t.Helper()
	_, err := w.conn(t).Exec(t.Context(), "INSERT INTO archives (hash) VALUES ($1)", hash)
	return err
}

// collect returns what was removed.
func (w *blobWorld) collect(t *testing.T, idle time.Duration) (removed []string) {
	t.Helper()
	n, err := w.CollectBlobs(t.Context(), idle, func(_ context.Context, hash string) error {
		removed = append(removed, hash)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, removed, n)
	return removed
}

func (w *blobWorld) blobs(t *testing.T) int {
	t.Helper()
	return w.count(t, "SELECT count(*) FROM blobs")
}

func isForeignKey(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23503"
}

func TestCollectBlobs(t *testing.T) {
	t.Parallel()
	w := newBlobWorld(t)
	idle, used, touched := w.touch(t, "idle"), w.touch(t, "used"), w.touch(t, "touched")
	require.NoError(t, w.refer(t, used))
	require.Empty(t, w.collect(t, time.Hour))

	w.passed.Add(int64(59 * time.Minute))
	w.touch(t, "touched")
	require.Empty(t, w.collect(t, time.Hour))
	w.passed.Add(int64(2 * time.Minute))
	require.Equal(t, []string{idle}, w.collect(t, time.Hour))
	require.Equal(t, 2, w.blobs(t))
	require.True(t, isForeignKey(w.refer(t, idle)), "who comes too late is told")

	w.passed.Add(int64(time.Hour))
	require.Equal(t, []string{touched}, w.collect(t, time.Hour))
	dbtest.Exec(t, w.url, "DELETE FROM archives")
	require.Equal(t, []string{used}, w.collect(t, time.Hour))
	require.Empty(t, w.collect(t, time.Hour))
}

func TestTouchBlob(t *testing.T) {
	t.Parallel()
	w := newBlobWorld(t)
	for _, bad := range []string{"", "x", strings.ToUpper(blobHash("x")), blobHash("x") + "\n"} {
		require.Error(t, w.TouchBlob(t.Context(), bad, 1))
	}
	require.Error(t, w.TouchBlob(t.Context(), blobHash("x"), -1))
	hash := w.touch(t, "x")
	at := func() (at time.Time) {
		require.NoError(t, w.conn(t).QueryRow(t.Context(), "SELECT touched_at FROM blobs WHERE hash = $1", hash).Scan(&at))
		return at
	}
	first := at()
	w.passed.Add(int64(time.Minute))
	w.touch(t, "x")
	second := at()
	require.Greater(t, second, first)
	w.passed.Add(-int64(time.Minute)) // a server whose clock is behind
	w.touch(t, "x")
	require.Equal(t, second, at())
}

// More than fit one statement.
func TestCollectBlobsInBatches(t *testing.T) {
	t.Parallel()
	w := newBlobWorld(t)
	dbtest.Exec(t, w.url, `INSERT INTO blobs SELECT encode(sha256(n::text::bytea), 'hex'), 1, now() - interval '1 day' FROM generate_series(1, 2500) n`)
	dbtest.Exec(t, w.url, `INSERT INTO archives (hash) SELECT encode(sha256(n::text::bytea), 'hex') FROM generate_series(1, 2500) n WHERE n % 2 = 0`)
	require.Len(t, w.collect(t, time.Hour), 1250)
	require.Equal(t, 1250, w.blobs(t))
}

// A column that is listed keeps what it refers to from being tried at all. (No other test runs meanwhile.)
func TestBlobReferences(t *testing.T) {
	w := newBlobWorld(t)
	dbtest.Exec(t, w.url, "ALTER TABLE archives DROP CONSTRAINT archives_hash_fkey")
	t.Cleanup(store.ReferToBlobs("archives", "hash"))
	idle, used := w.touch(t, "idle"), w.touch(t, "used")
	require.NoError(t, w.refer(t, used))
	require.Equal(t, []string{idle}, w.collect(t, everythingIdle))
}

// Every column that refers to blobs is listed, and has an index for those who ask it about one blob.
func TestBlobReferencesAreListed(t *testing.T) {
	w := newWorld(t)
	rows, err := w.conn(t).Query(t.Context(), `SELECT f.conrelid::regclass::text || '.' || a.attname,
			EXISTS (SELECT FROM pg_index i WHERE i.indrelid = f.conrelid AND i.indkey[0] = a.attnum)
		FROM pg_constraint f JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = f.conkey[1]
		WHERE f.contype = 'f' AND f.confrelid = 'blobs'::regclass`)
	require.NoError(t, err)
	found := []string{}
	for rows.Next() {
		var column string
		var indexed bool
		require.NoError(t, rows.Scan(&column, &indexed))
		require.True(t, indexed, column)
		found = append(found, column)
	}
	require.NoError(t, rows.Err())
	require.ElementsMatch(t, store.BlobReferences(), found)
}

// What cannot be removed is tried again, and holds up nothing else.
func TestCollectBlobsThatStay(t *testing.T) {
	t.Parallel()
	w := newBlobWorld(t)
	hashes := []string{w.touch(t, "a"), w.touch(t, "b"), w.touch(t, "c")}
	slices.Sort(hashes)
	away := errors.New("the bucket is away")
	n, err := w.CollectBlobs(t.Context(), everythingIdle, func(_ context.Context, hash string) error {
		if hash == hashes[0] {
			return away
		}
		return nil
	})
	require.ErrorIs(t, err, away)
	require.Equal(t, 2, n)
	require.Equal(t, 1, w.blobs(t))
	require.Equal(t, hashes[:1], w.collect(t, everythingIdle))
}

// A removal has time, but less than the lock that it needs.
func TestCollectBlobsHasADeadline(t *testing.T) {
	t.Parallel()
	w := newBlobWorld(t)
	w.touch(t, "x")
	_, err := w.CollectBlobs(t.Context(), everythingIdle, func(ctx context.Context, _ string) error {
		deadline, ok := ctx.Deadline()
		require.True(t, ok)
		var limit time.Duration
		var text string
		require.NoError(t, w.Pool().QueryRow(ctx, "SHOW idle_in_transaction_session_timeout").Scan(&text))
		limit, err := time.ParseDuration(text)
		require.NoError(t, err)
		require.Less(t, time.Until(deadline), limit)
		return nil
	})
	require.NoError(t, err)
}

// Who wants a blob that is being removed waits until it is gone, and then has it anew.
func TestTouchBlobDuringRemoval(t *testing.T) {
	t.Parallel()
	w := newBlobWorld(t)
	hash := w.touch(t, "x")
	var gone atomic.Bool
	touched := make(chan error, 1)
	_, err := w.CollectBlobs(t.Context(), everythingIdle, func(context.Context, string) error {
		go func() {
			err := w.TouchBlob(t.Context(), hash, 1)
			if err == nil && !gone.Load() {
				err = errors.New("did not wait")
			}
			touched <- err
		}()
		w.untilWaiting(t)
		gone.Store(true)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, <-touched)
	require.Equal(t, 1, w.blobs(t))
	require.NoError(t, w.refer(t, hash))
	require.Empty(t, w.collect(t, everythingIdle))
}

// untilWaiting returns when somebody waits for a lock.
func (w *blobWorld) untilWaiting(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n))
		return n > 0
	}, time.Minute, time.Millisecond)
}

// A blob is wanted between the moment that it is found idle and the moment that it would go.
func TestTouchBlobBeforeRemoval(t *testing.T) {
	t.Parallel()
	w := newBlobWorld(t)
	hashes := []string{w.touch(t, "a"), w.touch(t, "b"), w.touch(t, "c")}
	slices.Sort(hashes)
	w.passed.Add(int64(2 * time.Hour))
	n, err := w.CollectBlobs(t.Context(), time.Hour, func(ctx context.Context, hash string) error {
		require.Equal(t, hashes[0], hash, "the others are wanted")
		return errors.Join(w.refer(t, hashes[1]), w.TouchBlob(ctx, hashes[2], 1))
	})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 2, w.blobs(t))
}

// Somebody who refers to a blob has not committed yet, and the collector waits for what he decides.
func TestReferToBlobDuringCollection(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		w := newBlobWorld(t)
		hash := w.touch(t, "x")
		tx, err := w.conn(t).Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), "INSERT INTO archives (hash) VALUES ($1)", hash)
		require.NoError(t, err)
		collected := make(chan int, 1)
		go func() {
			n, err := w.CollectBlobs(t.Context(), everythingIdle, func(context.Context, string) error { return nil })
			if err != nil {
				t.Error(err)
			}
			collected <- n
		}()
		w.untilWaiting(t)
		if commits {
			require.NoError(t, tx.Commit(t.Context()))
			require.Equal(t, 0, <-collected)
			require.Equal(t, 1, w.blobs(t))
		} else {
			require.NoError(t, tx.Rollback(t.Context()))
			require.Equal(t, 1, <-collected)
			require.Zero(t, w.blobs(t))
		}
	}
}

// A collector that dies after it has removed the bytes, and before it could say so, leaves the row of a blob that nobody refers
// to: whoever wants the blob writes it, as always, and else it is collected again.
func TestCollectorDies(t *testing.T) {
	t.Parallel()
	w := newBlobWorld(t)
	files := dbtest.Blobs(t, w)
	put := func() {
		require.NoError(t, files.Put(t.Context(), blobHash("x"), 1, strings.NewReader("x")))
	}
	put()
	dies := func(ctx context.Context, hash string) error {
		require.NoError(t, files.Delete(ctx, hash))
		_, err := w.conn(t).Exec(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'")
		return err
	}
	for range 2 {
		_, err := w.CollectBlobs(t.Context(), everythingIdle, dies)
		require.Error(t, err)
		require.Equal(t, 1, w.blobs(t))
	}
	put()
	require.NoError(t, w.refer(t, blobHash("x")))
	require.Empty(t, w.collect(t, everythingIdle))
	r, err := files.Open(t.Context(), blobHash("x"))
	require.NoError(t, err)
	require.NoError(t, r.Close())

	dbtest.Exec(t, w.url, "DELETE FROM archives")
	_, err = w.CollectBlobs(t.Context(), everythingIdle, dies)
	require.Error(t, err)
	require.Equal(t, []string{blobHash("x")}, w.collect(t, everythingIdle))
}

// Pushers and collectors on two servers, all after the same few blobs, for days: a blob that somebody refers to is there.
func TestCollectBlobsUnderFire(t *testing.T) {
	t.Parallel()
	w := newBlobWorld(t)
	dir := t.TempDir()
	stores := []*store.Store{w.Store, dbtest.Open(t, w.url, store.Options{MaxConns: 10, Clock: w.now})}
	blobs := make([]*blob.Store, len(stores))
	for i, s := range stores {
		var err error
		blobs[i], err = blob.Open(t.Context(), "file://"+dir, s)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, blobs[i].Close()) })
	}
	const pushers, rounds, contents, idle = 8, 40, 3, time.Hour
	var pushing, collecting sync.WaitGroup
	var removed atomic.Int64
	var instant sync.RWMutex // held by those who need less time than a blob may be idle
	done := make(chan struct{})
	for i, s := range stores {
		collecting.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				instant.Lock()
				w.passed.Add(int64(2 * idle))
				instant.Unlock()
				n, err := s.CollectBlobs(t.Context(), idle, func(ctx context.Context, hash string) error {
					time.Sleep(rand.N(10 * time.Millisecond)) // gives others a chance to do harm
					return blobs[i].Delete(ctx, hash)
				})
				removed.Add(int64(n))
				if err != nil {
					t.Error("collect:", err)
				}
			}
		})
	}
	for i := range pushers {
		conn := w.conn(t)
		pushing.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 0))
			for range rounds {
				content := fmt.Sprint("content ", rnd.IntN(contents))
				if err := pushBlob(t.Context(), &instant, blobs[i%len(blobs)], conn, content); err != nil {
					t.Error("push:", err)
				}
			}
		})
	}
	pushing.Wait()
	close(done)
	collecting.Wait()
	t.Logf("%d blobs were removed while others were pushed", removed.Load())
	require.NotZero(t, removed.Load())

	w.passed.Add(int64(2 * idle))
	_, err := w.CollectBlobs(t.Context(), idle, blobs[0].Delete)
	require.NoError(t, err)
	require.Zero(t, w.blobs(t))
	files, err := filepath.Glob(filepath.Join(dir, "[0-9a-f]*"))
	require.NoError(t, err)
	require.Empty(t, files, "nothing is left")
}

// pushBlob puts a blob, refers to it, makes sure that it is there for as long as it does, and lets go.
func pushBlob(ctx context.Context, instant *sync.RWMutex, blobs *blob.Store, conn *pgx.Conn, content string) error {
	hash := blobHash(content)
	var id int64
	err := func() error {
		instant.RLock()
		defer instant.RUnlock()
		if err := blobs.Put(ctx, hash, int64(len(content)), strings.NewReader(content)); err != nil {
			return err
		}
		return conn.QueryRow(ctx, "INSERT INTO archives (hash) VALUES ($1) RETURNING id", hash).Scan(&id)
	}()
	if err != nil {
		return err
	}
	for range 3 {
		r, err := blobs.Open(ctx, hash)
		if err != nil {
			return err
		}
		got, err := io.ReadAll(r)
		_ = r.Close()
		if err != nil || string(got) != content {
			return fmt.Errorf("read %q: %w", got, err)
		}
	}
	_, err = conn.Exec(ctx, "DELETE FROM archives WHERE id = $1", id)
	return err
}
