package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
)

// Every flag can be set in the environment, and a flag wins.
func TestSettings(t *testing.T) {
	t.Parallel()
	dir, blobs := newDir(t), filepath.Join(newDir(t), "100% blobs?")
	s := serveWith(t, []string{
		"SKILLGRAPH_ADDR=127.0.0.2:0", "SKILLGRAPH_BASE_URL=https://skills.example.com/", "SKILLGRAPH_CORS_ORIGINS=https://a.example.com, https://b.example.com",
		"SKILLGRAPH_DATA_DIR=" + dir, "SKILLGRAPH_DATABASE_URL=" + dbtest.Database(t), "SKILLGRAPH_LOG_FORMAT=xml", "SKILLGRAPH_LOG_LEVEL=debug",
		"SKILLGRAPH_METRICS_ADDR=127.0.0.1:0", "SKILLGRAPH_MIGRATE=true", "SKILLGRAPH_BLOBS=" + blobs,
	}, "--log-format", "json")
	require.Equal(t, "https://skills.example.com/", s.shown("Dashboard"))
	require.Equal(t, "https://skills.example.com/playground", s.shown("Playground"))
	require.NoDirExists(t, dir, "a database and blobs elsewhere need none")
	require.DirExists(t, blobs)

	// With a base URL the banner does not tell where the server listens, but its metrics are here.
	metrics := s.shown("Metrics")
	status, text := get(t, metrics, "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "skillgraph_db_statements_total")

	require.Zero(t, s.stop(t, syscall.SIGTERM))
	for line := range strings.Lines(s.stderr.String()) {
		require.True(t, json.Valid([]byte(line)), line)
	}
}

// Archives are in the data folder, wherever the database is, unless they are told to be elsewhere.
func TestBlobs(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := startServer(t, "--database-url", dbtest.Database(t), "--data-dir", dir)
	require.Zero(t, s.stop(t, syscall.SIGTERM))
	require.DirExists(t, filepath.Join(dir, "blobs"))

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, at := range []string{"ftp://archives", "file://relative", file} {
		runWith(t, nil, "serve", "--database-url", dbtest.Database(t), "--addr", "127.0.0.1:0", "--blobs", at).refused(t, "--blobs")
	}
}

// A flag of any command, also one that may be repeated.
func TestSettingsOfKeys(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	r := runWith(t, []string{
		"SKILLGRAPH_DATABASE_URL=" + url, "SKILLGRAPH_ORG=acme", "SKILLGRAPH_USER=someone@example.com", "SKILLGRAPH_PLAN=gold",
		"SKILLGRAPH_NAME=nightly", "SKILLGRAPH_PERMISSION=registry:push,registry:install",
	}, "key", "create", "--plan", "pro")
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `acme +someone@example.com +nightly `, must(t, "key", "list", "--database-url", url))
	require.Regexp(t, `acme +pro `, must(t, "org", "list", "--database-url", url))
}

func TestMetricsAddress(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	s := startServer(t, "--database-url", url)
	require.Empty(t, s.shown("Metrics"))
	status, _ := get(t, s.url()+"/metrics", "")
	require.Equal(t, http.StatusOK, status)

	s = startServer(t, "--database-url", url, "--metrics-addr", "127.0.0.1:0")
	status, _ = get(t, s.url()+"/metrics", "")
	require.Equal(t, http.StatusNotFound, status)
	status, _ = get(t, s.shown("Metrics"), "")
	require.Equal(t, http.StatusOK, status)
}

// underWay begins a request; finish sends the rest of it. The status is 0 where there was no answer.
func underWay(t *testing.T, s *process, key string) (status <-chan int, finish func()) {
	t.Helper()
	body, rest := io.Pipe()
	t.Cleanup(func() { _ = rest.Close() })
	reading, answered := make(chan struct{}), make(chan int, 1)
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(reading) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url()+"/graphql", body)
	require.NoError(t, err)
	req.Header = http.Header{"Authorization": {"Bearer " + key}, "Content-Type": {"application/json"}, "Expect": {"100-continue"}}
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			answered <- 0
			return
		}
		_ = res.Body.Close()
		answered <- res.StatusCode
	}()
	select {
	case <-reading:
	case <-time.After(limit):
		t.Fatal("the server does not read the request")
	}
	return answered, func() {
		_, err := rest.Write([]byte(`{"query": "{ suites { totalCount } }"}`))
		require.NoError(t, err)
		require.NoError(t, rest.Close())
	}
}

// drain tells the server to stop and waits until it takes no more requests.
func drain(t *testing.T, s *process) {
	t.Helper()
	require.NoError(t, s.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		res, err := http.Get(s.url() + "/healthz")
		if err == nil {
			_ = res.Body.Close()
		}
		return err != nil
	}, limit, 10*time.Millisecond)
}

// A request that is under way when the server is told to stop is answered; later ones find nobody.
func TestDrain(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	key := strings.TrimSpace(must(t, "demo", "--data-dir", dir))
	s := startServer(t, "--data-dir", dir)
	status, finish := underWay(t, s, key)
	drain(t, s)
	finish()
	require.Equal(t, http.StatusOK, <-status)
	require.Zero(t, s.wait(), s.stderr)
	require.True(t, postgresGone(dir))
}

// Who presses Ctrl-C again does not want to wait for it.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	key := strings.TrimSpace(must(t, "demo", "--data-dir", dir))
	s := startServer(t, "--data-dir", dir)
	underWay(t, s, key)
	drain(t, s)
	require.Equal(t, -1, s.stop(t, syscall.SIGINT), "killed by the signal")
	require.Eventually(t, func() bool { return postgresGone(dir) }, 10*time.Second, 20*time.Millisecond)
}

// A server that is killed takes its PostgreSQL with it, and the next one finds the data.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	key := strings.TrimSpace(must(t, "demo", "--data-dir", dir))
	s := startServer(t, "--data-dir", dir)
	_, before := get(t, s.url()+suites, key)
	require.Equal(t, -1, s.stop(t, syscall.SIGKILL))
	require.Eventually(t, func() bool { return postgresGone(dir) }, 10*time.Second, 20*time.Millisecond)

	s = startServer(t, "--data-dir", dir)
	require.Equal(t, -1, s.stop(t, syscall.SIGKILL))
	s = startServer(t, "--data-dir", dir) // at once: the old PostgreSQL may still be stopping
	_, after := get(t, s.url()+suites, key)
	require.Equal(t, before, after)
}

func TestPostgresDies(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := startServer(t, "--data-dir", dir)
	text, err := os.ReadFile(filepath.Join(dir, "postgres", "data", "postmaster.pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.SplitN(string(text), "\n", 2)[0])
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGQUIT))
	require.Equal(t, 1, s.wait())
	require.Contains(t, s.stderr.String(), "skillgraph: PostgreSQL has ended; its log is in "+filepath.Join(dir, "postgres", "postgres.log"))
}

// Where only stored documents may run, they are checked before anything else happens.
func TestDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "me.graphql"), []byte("query Me { viewer { plan } }"), 0o600))
	url := dbtest.Database(t)
	key := strings.Fields(must(t, "key", "create", "--database-url", url, "--org", "acme", "--user", "a@example.com", "--name", "k"))[0]
	s := startServer(t, "--database-url", url, "--data-dir", newDir(t), "--documents", "stored", "--documents-dir", dir)
	_, text := get(t, s.url()+"/graphql?documentId=me", key)
	require.Contains(t, text, `{"data":{"viewer":{"plan":"FREE"}}}`)
	_, text = get(t, s.url()+"/graphql?query={viewer{plan}}", key)
	require.Contains(t, text, "DOCUMENT_NOT_STORED")

	serve := func(args ...string) result {
		return runWith(t, nil, append([]string{"serve", "--database-url", url, "--addr", "127.0.0.1:0"}, args...)...)
	}
	serve("--documents", "some").refused(t, "--documents must be any or stored")
	serve("--documents", "stored").refused(t, "--documents-dir")
	serve("--documents-dir", filepath.Join(dir, "none")).refused(t, "--documents-dir")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.graphql"), []byte("{ nonsense }"), 0o600))
	serve("--documents-dir", dir).refused(t, "bad.graphql", "nonsense")
}
