// Package dbtest gives every test a PostgreSQL database of its own: a clone of a template that was migrated once.
package dbtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/blob"
	"skillgraph/internal/ids"
	"skillgraph/internal/postgres"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// URLVariable names the cluster that tests share; without it a test binary runs one of its own.
const URLVariable = "SKILLGRAPH_TEST_DATABASE_URL"

// Main runs the tests of a package: func TestMain(m *testing.M) { dbtest.Main(m) }.
func Main(m interface{ Run() int }) {
	if os.Getenv(URLVariable) != "" {
		os.Exit(m.Run())
	}
	stop, url, err := StartCluster(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "tests need PostgreSQL:", err)
		os.Exit(1)
	}
	_ = os.Setenv(URLVariable, url)
	code := m.Run()
	stop()
	os.Exit(code)
}

// StartCluster runs a PostgreSQL that forgets everything, in memory where there is room.
func StartCluster(ctx context.Context) (stop func(), url string, err error) {
	parent := os.TempDir()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		parent = "/dev/shm"
	}
	sweep(filepath.Join(parent, clusters+"*"))
	dir, err := os.MkdirTemp(parent, clusters)
	if err != nil {
		return nil, "", err
	}
	srv, err := postgres.Start(ctx, postgres.Options{Dir: dir, Volatile: true})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, "", err
	}
	return func() {
		_ = srv.Stop()
		_ = os.RemoveAll(dir)
	}, srv.URL("postgres"), nil
}

// clusters begin with this.
const clusters = "skillgraph-test-"

// sweep removes what tests that were killed have left in memory.
func sweep(pattern string) {
	left, _ := filepath.Glob(pattern) // fails only for a bad pattern
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > time.Minute && postgres.Abandoned(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

var template = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, os.Getenv(URLVariable))
	if err != nil {
		return "", err
	}
	defer func() { _ = admin.Close(ctx) }()
	// Packages are tested at the same time: the first one makes the template, the others wait.
	if _, err := admin.Exec(ctx, "SELECT pg_advisory_lock(1)"); err != nil {
		return "", err
	}
	const name = "skillgraph_template"
	var there bool
	if err := admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&there); err != nil || there {
		return name, err
	}
	if err := store.CreateDatabase(ctx, os.Getenv(URLVariable), name+"_new"); err != nil {
		return "", err
	}
	s, err := store.Open(ctx, URL(name+"_new"), store.Options{})
	if err != nil {
		return "", err
	}
	_, err = s.Migrate(ctx)
	s.Close()
	if err != nil {
		return "", err
	}
	_, err = admin.Exec(ctx, "ALTER DATABASE "+name+"_new RENAME TO "+name)
	return name, err
})

// URL is the URL of a database on the test cluster.
func URL(database string) string {
	return strings.Replace(os.Getenv(URLVariable), "/postgres?", "/"+database+"?", 1)
}

// Database makes an empty, migrated database for a test and returns its URL.
func Database(t testing.TB) string {
	t.Helper()
	from, err := template()
	require.NoError(t, err)
	admin, err := pgx.Connect(t.Context(), os.Getenv(URLVariable))
	require.NoError(t, err)
	name := "test_" + strings.ReplaceAll(ids.New(ids.Unknown, time.Now()).String(), "-", "")
	_, err = admin.Exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE "+from+" STRATEGY FILE_COPY")
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.Background()
		_, err := admin.Exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)")
		require.NoError(t, err)
		require.NoError(t, admin.Close(ctx))
	})
	return URL(name)
}

// New opens a store on a database of the test's own.
func New(t testing.TB) *store.Store {
	t.Helper()
	return Open(t, Database(t), store.Options{MaxConns: 10})
}

// Open opens a store that is closed when the test ends.
func Open(t testing.TB, url string, o store.Options) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url, o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// Blobs opens a blob store in a folder of the test's own.
func Blobs(t testing.TB, ledger blob.Ledger) *blob.Store {
	t.Helper()
	s, err := blob.Open(t.Context(), "file://"+filepath.ToSlash(t.TempDir()), ledger)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Exec runs a statement that no verb of the store stands for.
func Exec(t testing.TB, url, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// Count is how many rows a table has.
func Count(t testing.TB, url, table string) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM "+pgx.Identifier{table}.Sanitize()).Scan(&n))
	return n
}

// Key makes an organization, a member and a key, and says who the key stands for.
func Key(t testing.TB, s *store.Store, org, email string, plan models.Plan, role models.Role, can ...models.Permission) (string, *models.Viewer) {
	t.Helper()
	key, _, err := s.Grant(t.Context(), store.Grant{Org: org, Email: email, KeyName: "test", Plan: &plan, Role: &role, Permissions: can})
	require.NoError(t, err)
	v, err := s.Viewer(t.Context(), key)
	require.NoError(t, err)
	return key, v
}
