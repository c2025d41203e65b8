package store_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// verbs is one of each way to speak to the database: a read, a page, a write, a read of the operator's.
func (w world) verbs(id ids.ID) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"suite": func(ctx context.Context) error { _, err := w.acme.Suite(ctx, id); return err },
		"suites": func(ctx context.Context) error {
			_, err := w.acme.Suites(ctx, models.SuiteFilter{}, models.SuiteOrderName, everything)
			return err
		},
		"create": func(ctx context.Context) error { _, err := w.acme.CreateSuite(ctx, newSuite("x")); return err },
		"update": func(ctx context.Context) error {
			_, err := w.acme.UpdateSuite(ctx, id, rename(time.Now().String()), nil)
			return err
		},
		"delete": func(ctx context.Context) error { return w.acme.DeleteSuite(ctx, ids.New(ids.Suite, time.Now())) },
		"viewer": func(ctx context.Context) error { _, err := w.Viewer(ctx, models.NewKey()); return err },
		"grant": func(ctx context.Context) error {
			_, _, err := w.Grant(ctx, store.Grant{Org: "acme", Email: "a@example.com", KeyName: "k"})
			return err
		},
		"ready": w.Ready,
	}
}

// healthy is what the verbs answer while the database is there.
var healthy = map[string]errs.Code{"delete": errs.NotFound, "viewer": errs.Unauthenticated}

func requireHealthy(t *testing.T, name string, err error) {
	t.Helper()
	if want := healthy[name]; want != "" {
		requireCode(t, want, err)
		return
	}
	require.NoError(t, err, name)
}

// admin is a connection to the cluster that is not to the test's database.
func admin(t *testing.T) *pgx.Conn {
	t.Helper()
	return connect(t, os.Getenv(dbtest.URLVariable))
}

func (w world) database(t *testing.T) (name string) {
	t.Helper()
	require.NoError(t, w.conn(t).QueryRow(t.Context(), "SELECT current_database()").Scan(&name))
	return name
}

// cut ends all connections to a database and waits until they are gone.
func cut(t *testing.T, cluster *pgx.Conn, database string) {
	t.Helper()
	require.Eventually(t, func() bool {
		gone, err := cluster.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", database)
		return err == nil && gone.RowsAffected() == 0
	}, 10*time.Second, time.Millisecond)
}

func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "n")
	cluster, name := admin(t), w.database(t)
	_, err := cluster.Exec(t.Context(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
	require.NoError(t, err)
	cut(t, cluster, name)
	for range 3 { // the first finds dead connections, the others none
		for verb, run := range w.verbs(made.ID) {
			err := run(t.Context())
			require.Error(t, err, verb)
			require.Equal(t, string(errs.Unavailable), string(errs.CodeOf(err)), "%s: %v", verb, err)
			require.EqualError(t, err, "The database is not reachable; try again in a moment")
			var e *errs.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, 5*time.Second, e.RetryAfter)
		}
	}
	_, err = cluster.Exec(t.Context(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
	require.NoError(t, err)
	for verb, run := range w.verbs(made.ID) {
		requireHealthy(t, verb, run(t.Context()))
	}
}

// When connections are cut (a restart, a failover) verbs fail as UNAVAILABLE until the dead ones are gone, and then work.
func TestConnectionsCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "n")
	cluster, name := admin(t), w.database(t)
	for verb, run := range w.verbs(made.ID) {
		requireHealthy(t, verb, run(t.Context()))
		race(10, func(int) error { return w.acme.DeleteSuite(t.Context(), made.OrgID) }) // fills the pool
		cut(t, cluster, name)
		failures, err := 0, error(nil)
		for err = run(t.Context()); errs.CodeOf(err) == errs.Unavailable; err = run(t.Context()) {
			failures++
			require.LessOrEqual(t, failures, 10, "no more than there were connections")
		}
		requireHealthy(t, verb, err)
	}
}

// locked holds a suite for itself until the test ends.
func (w world) locked(t *testing.T, id ids.ID) {
	t.Helper()
	tx, err := w.conn(t).Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM eval_suites WHERE id = $1 FOR UPDATE", id)
	require.NoError(t, err)
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "n")
	w.locked(t, made.ID)
	before := w.dump(t, w.acme)
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := w.acme.UpdateSuite(ctx, made.ID, rename("x"), nil)
		cancel()
		requireCode(t, errs.Timeout, err)
		require.EqualError(t, err, "The operation took too long and was stopped; ask for less at once")
	}
	past, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for verb, run := range w.verbs(made.ID) {
		err := run(past)
		require.Equal(t, string(errs.Timeout), string(errs.CodeOf(err)), "%s: %v", verb, err)
	}
	require.Equal(t, before, w.dump(t, w.acme))
	_, err := w.acme.Suite(t.Context(), made.ID)
	require.NoError(t, err, "the store works on")
}

func TestCallerGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "n")
	w.locked(t, made.ID)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := w.acme.UpdateSuite(ctx, made.ID, rename("x"), nil)
		done <- err
	}()
	w.waitForBlocked(t)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

// A statement that the database stops is a TIMEOUT, too.
func TestStatementStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "n")
	w.locked(t, made.ID)
	done := make(chan error, 1)
	go func() {
		_, err := w.acme.UpdateSuite(context.WithoutCancel(t.Context()), made.ID, rename("x"), nil)
		done <- err
	}()
	w.waitForBlocked(t)
	_, err := w.conn(t).Exec(t.Context(), "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
	require.NoError(t, err)
	requireCode(t, errs.Timeout, <-done)
}

// Who has to wait longer than lock_timeout is told to try again.
func TestLockTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "n")
	w.locked(t, made.ID)
	_, err := w.acme.UpdateSuite(t.Context(), made.ID, rename("x"), nil)
	requireCode(t, errs.Unavailable, err)
	require.EqualError(t, err, "Others are changing the same thing; try again")
	var e *errs.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, time.Second, e.RetryAfter)
}

func TestTextThatPostgresCannotKeep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "n")
	for _, bad := range []string{"a\x00b", "a\xffb"} {
		_, err := w.acme.CreateSuite(t.Context(), newSuite(bad))
		requireCode(t, errs.Invalid, err)
		_, err = w.acme.UpdateSuite(t.Context(), made.ID, rename(bad), nil)
		requireCode(t, errs.Invalid, err)
		_, err = w.acme.Suites(t.Context(), models.SuiteFilter{NameContains: set(&bad)}, models.SuiteOrderName, everything)
		requireCode(t, errs.Invalid, err)
		_, err = w.acme.Events(t.Context(), models.EventFilter{Kinds: set([]string{bad})}, everything)
		requireCode(t, errs.Invalid, err)
		_, err = w.acme.AddMember(t.Context(), bad+"@example.com", models.RoleViewer)
		requireCode(t, errs.Invalid, err)
		_, _, err = w.acme.CreateKey(t.Context(), models.APIKey{Name: bad, UserID: w.owner.UserID})
		requireCode(t, errs.Invalid, err)
		_, err = w.acme.UpdateKey(t.Context(), w.owner.KeyID, models.UpdateAPIKeyInput{Name: set(&bad)})
		requireCode(t, errs.Invalid, err)
	}
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := suite(t, w.acme, "n")
	w.Close()
	for verb, run := range w.verbs(made.ID) {
		err := run(t.Context())
		require.Equal(t, string(errs.Unavailable), string(errs.CodeOf(err)), "%s: %v", verb, err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	_, err := store.Open(t.Context(), "postgres://%zz", store.Options{})
	require.ErrorContains(t, err, "the database URL is not usable")
	_, err = store.Open(t.Context(), dbtest.URL("no_such_database"), store.Options{})
	require.ErrorContains(t, err, `database "no_such_database" does not exist`)
}

func TestCreateDatabase(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("made_%d", time.Now().UnixNano())
	t.Cleanup(func() {
		c, err := pgx.Connect(context.Background(), os.Getenv(dbtest.URLVariable))
		require.NoError(t, err)
		_, err = c.Exec(context.Background(), "DROP DATABASE "+name)
		require.NoError(t, err)
		require.NoError(t, c.Close(context.Background()))
	})
	all := race(5, func(int) error { return store.CreateDatabase(t.Context(), os.Getenv(dbtest.URLVariable), name) })
	require.Equal(t, make([]error, 5), all, "once is enough, and more do not hurt")
	require.NoError(t, connect(t, dbtest.URL(name)).Close(t.Context()))
}
