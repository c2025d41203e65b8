package bench

import (
	"io"
	"net/http"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
)

const (
	exported = 300_000  // invocations
	maxGrown = 64 << 20 // bytes
	passes   = 3
)

// exportFloor is what psql's \copy sends: the same rows, as the database has them.
const exportFloor = `COPY (SELECT t.invocation_id, t.session_id, t.skill_id, s.name, t.occurred_at, t.triggered, t.confidence, t.invocation_mode, t.matched_prompt_id, t.version_hash
	FROM invocations t JOIN skills s ON s.org_id = t.org_id AND s.id = t.skill_id) TO STDOUT WITH (FORMAT csv, HEADER)`

// BenchmarkExport compares exports over HTTP with a bare COPY of the same rows, one after the other, and says by how much the
// process has grown meanwhile.
func BenchmarkExport(b *testing.B) {
	s := apitest.New(b)
	fillInvocations(b, s)
	conn, err := pgx.Connect(b.Context(), s.Database)
	require.NoError(b, err)
	b.Cleanup(func() { _ = conn.Close(b.Context()) })
	took := map[string][]time.Duration{}
	timed := func(name string, do func()) {
		start := time.Now()
		do()
		took[name] = append(took[name], time.Since(start))
	}
	before := grown()
	for range b.N * passes {
		timed("copy", func() {
			tag, err := conn.PgConn().CopyTo(b.Context(), io.Discard, exportFloor)
			require.NoError(b, err)
			require.EqualValues(b, exported, tag.RowsAffected())
		})
		for _, format := range []string{"csv", "ndjson"} {
			timed(format, func() { download(b, s, "/v1/export/invocations?format="+format) })
		}
	}
	more := grown() - before
	require.Less(b, more, uint64(maxGrown))
	for name, list := range took {
		b.ReportMetric(exported/median(list).Seconds(), name+"-rows/s")
	}
	for _, format := range []string{"csv", "ndjson"} {
		b.ReportMetric(median(took["copy"]).Seconds()/median(took[format]).Seconds(), format+"/copy")
	}
	b.ReportMetric(float64(more)/(1<<20), "MiB-grown")
	b.ReportMetric(0, "ns/op")
}

// grown is what the process has ever had from the system.
func grown() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

func fillInvocations(b *testing.B, s *apitest.Server) {
	b.Helper()
	dbtest.Exec(b, s.Database, `INSERT INTO skills (org_id, id, name, created_at) SELECT $1, gen_random_uuid(), 'skill-' || n, now() FROM generate_series(1, 50) n`, s.Orgs["acme"])
	dbtest.Exec(b, s.Database, `INSERT INTO invocations (org_id, invocation_id, session_id, skill_id, occurred_at, triggered, confidence, invocation_mode)
		SELECT $1, gen_random_uuid(), 'session-' || n / 4, s.ids[1 + n % 50], timestamptz '2026-11-15' - n * interval '1 second', n % 3 = 0, (n % 1000)::float8 / 1000, 'implicit'
		FROM generate_series(1, $2::int) n, (SELECT array_agg(id) AS ids FROM skills) s`, s.Orgs["acme"], exported)
	dbtest.Exec(b, s.Database, "VACUUM ANALYZE")
}

// download reads an export that must be complete.
func download(b *testing.B, s *apitest.Server, path string) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.URL+path, nil)
	require.NoError(b, err)
	req.Header.Set("Authorization", "Bearer "+s.Keys["owner"])
	req.Header.Set("Accept-Encoding", "identity")
	res, err := http.DefaultClient.Do(req)
	require.NoError(b, err)
	defer func() { _ = res.Body.Close() }()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(b, err)
	require.Equal(b, strconv.Itoa(exported), res.Trailer.Get("X-Row-Count"))
}
