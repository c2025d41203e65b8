package export_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/export"
	"skillgraph/internal/viewer"
	"skillgraph/rest"
)

// fill gives an organization more than the buffers between two programs hold: 20 MB.
func fill(t *testing.T, s *apitest.Server, org string) {
	t.Helper()
	dbtest.Exec(t, s.Database, `INSERT INTO sessions (org_id, session_id, platform, received_at)
		SELECT $1, lpad(n::text, 8, '0'), repeat('x', 1000), now() FROM generate_series(1, 20000) n`, s.Orgs[org])
}

// requireCopying waits until the database is at work on so many exports.
func requireCopying(t *testing.T, s *apitest.Server, n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.Database)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.Background()) }()
	require.Eventually(t, func() bool {
		var found int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY (SELECT%' AND state = 'active'").Scan(&found)
		return err == nil && found == n
	}, 20*time.Second, 20*time.Millisecond)
}

// begin reads the first line of an export and no more.
func begin(t *testing.T, res *http.Response) *bufio.Reader {
	t.Helper()
	require.Equal(t, http.StatusOK, res.StatusCode)
	r := bufio.NewReaderSize(res.Body, 4<<10)
	_, err := r.ReadString('\n')
	require.NoError(t, err)
	return r
}

// An export that the database breaks off does not look complete.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	fill(t, s, "acme")
	res := ask(t, s, "owner", "sessions", nil, nil)
	defer res.Body.Close()
	r := begin(t, res)
	requireCopying(t, s, 1)
	dbtest.Exec(t, s.Database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'COPY (SELECT%'")
	_, err := io.Copy(io.Discard, r)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Empty(t, res.Trailer.Get("X-Row-Count"))
	_, lines := rows(t, s, "owner", "sessions", nil)
	require.Len(t, lines, 20000, "and the next one is whole")
}

// A client that goes away stops the database.
func TestGone(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	fill(t, s, "acme")
	res := ask(t, s, "owner", "sessions", nil, nil)
	begin(t, res)
	requireCopying(t, s, 1)
	require.NoError(t, res.Body.Close())
	requireCopying(t, s, 0)
}

// An organization has two exports at once, and all of them have four.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, org := range []string{"acme", "other"} {
		fill(t, s, org)
	}
	var open []*http.Response
	start := func(who string) {
		res := ask(t, s, who, "sessions", nil, nil)
		begin(t, res)
		open = append(open, res)
	}
	start("owner")
	start("viewer")
	res := s.Do(t, "member", http.MethodGet, "/v1/export/skills", nil, nil)
	require.Equal(t, http.StatusTooManyRequests, res.Status)
	require.Equal(t, "10", res.Header.Get("Retry-After"))
	require.JSONEq(t, `{"error":{"message":"Your organization has two exports under way: wait until one is done","status":429,"code":"RATE_LIMITED"}}`, string(res.Body))
	start("stranger")
	start("stranger")
	res = s.Do(t, "pro", http.MethodGet, "/v1/export/skills", nil, nil)
	require.Equal(t, http.StatusServiceUnavailable, res.Status)
	require.Equal(t, "10", res.Header.Get("Retry-After"))
	require.Equal(t, http.StatusOK, s.Do(t, "pro", http.MethodGet, "/v1/skills", nil, nil).Status, "everything else goes on")
	for _, res := range open {
		require.NoError(t, res.Body.Close())
	}
	require.Eventually(t, func() bool {
		return s.Do(t, "member", http.MethodGet, "/v1/export/skills", nil, nil).Status == http.StatusOK
	}, 20*time.Second, 20*time.Millisecond)
}

// handler is the handler alone, for acme, behind a server with limits that are shorter than an export.
func handler(t *testing.T, s *apitest.Server, e *export.Exports) *apitest.Server {
	t.Helper()
	e.Store, e.Clock, e.Fail = s.Store, time.Now, rest.WriteError
	r := chi.NewRouter()
	r.Get(export.Path, func(w http.ResponseWriter, r *http.Request) {
		e.ServeHTTP(w, r.WithContext(viewer.With(r.Context(), s.Viewers["owner"])))
	})
	web := httptest.NewUnstartedServer(r)
	web.Config.ReadTimeout, web.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	web.Start()
	t.Cleanup(web.Close)
	return &apitest.Server{URL: web.URL, Database: s.Database}
}

// A client that reads slowly gets everything, however long the server gives others.
func TestSlow(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	fill(t, s, "acme")
	res := ask(t, handler(t, s, &export.Exports{}), "", "sessions", nil, nil)
	defer res.Body.Close()
	r := begin(t, res)
	time.Sleep(300 * time.Millisecond) // three times the server's limit; longer does no harm
	_, err := io.Copy(io.Discard, r)
	require.NoError(t, err)
	require.Equal(t, "20000", res.Trailer.Get("X-Row-Count"))
}

// One that stops reading is dropped, and so is one that takes too long altogether.
func TestStalled(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	fill(t, s, "acme")
	for name, e := range map[string]*export.Exports{"stalled": {Stall: 300 * time.Millisecond}, "slow": {Life: 300 * time.Millisecond}} {
		res := ask(t, handler(t, s, e), "", "sessions", nil, nil)
		r := begin(t, res)
		requireCopying(t, s, 0)
		_, err := io.Copy(io.Discard, r)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, name)
		require.Empty(t, res.Trailer.Get("X-Row-Count"))
	}
}

// What goes wrong before the first row is answered like any other error.
func TestFailedAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	dbtest.Exec(t, s.Database, "DROP TABLE sessions CASCADE")
	res := s.Do(t, "owner", http.MethodGet, "/v1/export/sessions", nil, nil)
	require.Equal(t, http.StatusInternalServerError, res.Status)
	require.NotContains(t, string(res.Body), "relation")
	require.Empty(t, res.Header.Get("Trailer"))
	s.DropDatabase(t)
	res = s.Do(t, "owner", http.MethodGet, "/v1/export/skills", nil, nil)
	require.Equal(t, http.StatusServiceUnavailable, res.Status)
	require.NotEmpty(t, res.Header.Get("Retry-After"))
}
