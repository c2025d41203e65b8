package store_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/migrate"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/store"
	"skillgraph/migrations"
)

// empty is a database in which nothing was ever done.
func empty(t *testing.T) string {
	t.Helper()
	url := dbtest.Database(t)
	dbtest.Exec(t, url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	return url
}

// schema is everything that our migrations made, in words; bun and the job queue keep tables of their own.
func schema(t *testing.T, url string) (words string) {
	t.Helper()
	require.NoError(t, connect(t, url).QueryRow(t.Context(), `SELECT coalesce(string_agg(line, E'\n' ORDER BY line), '') FROM (
		SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) AS line FROM information_schema.columns WHERE table_schema = 'public' AND table_name !~ '^(bun|river)'
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conrelid::regclass::text !~ '^(bun|river)'
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename !~ '^(bun|river)') s`).Scan(&words))
	return words
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	url := empty(t)
	s := dbtest.Open(t, url, store.Options{})
	require.Empty(t, schema(t, url))
	before, err := s.Migrations(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, before)
	for _, m := range before {
		require.False(t, m.Applied, m.Name)
	}
	require.EqualError(t, s.Ready(t.Context()), "migration "+before[0].Name+" is not applied")
	require.Empty(t, schema(t, url), "asking changes nothing")

	taken, err := s.Migrate(t.Context())
	require.NoError(t, err)
	require.Len(t, taken, len(before))
	require.NoError(t, s.Ready(t.Context()))
	after, err := s.Migrations(t.Context())
	require.NoError(t, err)
	for i, m := range after {
		require.True(t, m.Applied)
		require.Equal(t, before[i].Name, m.Name)
		require.Equal(t, taken[i], m.Name)
	}
	full := schema(t, url)
	require.Contains(t, full, "eval_suites")
	again, err := s.Migrate(t.Context())
	require.NoError(t, err)
	require.Empty(t, again)
	require.Equal(t, full, schema(t, url))
}

func TestMigrateDownAndUpAgain(t *testing.T) {
	t.Parallel()
	url := empty(t)
	s := dbtest.Open(t, url, store.Options{})
	_, err := s.Migrate(t.Context())
	require.NoError(t, err)
	full := schema(t, url)
	all, err := migrations.All()
	require.NoError(t, err)
	pool, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	_, err = migrate.NewMigrator(bun.NewDB(pool, pgdialect.New()), all, migrate.WithMarkAppliedOnSuccess(true)).Rollback(t.Context())
	require.NoError(t, err)
	require.Empty(t, schema(t, url), "down leaves nothing")
	require.Error(t, s.Ready(t.Context()))
	taken, err := s.Migrate(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, taken)
	require.Equal(t, full, schema(t, url))
	require.NoError(t, s.Ready(t.Context()))
}

func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := schema(t, w.url)
	dbtest.Exec(t, w.url, "INSERT INTO bun_migrations (name, group_id, migrated_at) VALUES ('99990101000000', 2, now())")
	const words = "the database is newer than this program (it has migration 99990101000000): use a newer skillgraph"
	_, err := w.Migrate(t.Context())
	require.EqualError(t, err, words)
	_, err = w.Migrations(t.Context())
	require.EqualError(t, err, words)
	require.EqualError(t, w.Ready(t.Context()), words)
	require.NotContains(t, words, "\n")
	require.Equal(t, before, schema(t, w.url))
}

func TestManyMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := empty(t)
	stores, taken := []*store.Store{}, make([][]string, 4)
	for range taken {
		stores = append(stores, dbtest.Open(t, url, store.Options{MaxConns: 2}))
	}
	all := race(len(stores), func(i int) (err error) {
		taken[i], err = stores[i].Migrate(t.Context())
		return err
	})
	require.Equal(t, map[errs.Code]int{"": len(stores)}, sorted(all), "%v", all)
	steps, err := stores[0].Migrations(t.Context())
	require.NoError(t, err)
	total := 0
	for _, names := range taken {
		total += len(names)
	}
	require.Len(t, steps, total, "each step is taken once")
	require.NoError(t, stores[0].Ready(t.Context()))
}

// A step that cannot be taken leaves nothing behind, and the lock is free for the next try.
func TestMigrationFails(t *testing.T) {
	t.Parallel()
	url := empty(t)
	s := dbtest.Open(t, url, store.Options{})
	dbtest.Exec(t, url, "CREATE TABLE eval_suites (in_the_way int)")
	before := schema(t, url)
	for range 2 {
		_, err := s.Migrate(t.Context())
		require.ErrorContains(t, err, `relation "eval_suites" already exists`)
		require.Equal(t, before, schema(t, url))
	}
	dbtest.Exec(t, url, "DROP TABLE eval_suites")
	_, err := s.Migrate(t.Context())
	require.NoError(t, err)
	require.Contains(t, schema(t, url), "suite_revisions")
}
