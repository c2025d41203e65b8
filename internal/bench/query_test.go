package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/graph/generated"
	"skillgraph/graph/level"
	"skillgraph/internal/apitest"
)

// Each question is asked so many times for so long, of everybody in turn, so that whatever else the machine does hits
// all alike.
const (
	queryRound  = 200 * time.Millisecond
	queryRounds = 20
)

// contender is somebody who answers a question, and what that took.
type contender struct {
	process
	name    string
	request []byte
	times   []time.Duration
	length  time.Duration // of the whole
	used    usage         // of all answers, but for the size
}

func (c *contender) measure(b *testing.B, connections int) {
	before := c.usage(b)
	begun := time.Now()
	c.times = append(c.times, hammer(b, c.url, c.request, connections, queryRound)...)
	c.length += time.Since(begun)
	after := c.usage(b)
	c.used.cpu += after.cpu - before.cpu
	c.used.statements += after.statements - before.statements
	c.used.allocations += after.allocations - before.allocations
	c.used.allocated += after.allocated - before.allocated
	c.used.resident = max(c.used.resident, after.resident)
}

// BenchmarkQueries measures both executors against the floor.
func BenchmarkQueries(b *testing.B) {
	s := apitest.New(b)
	populate(b, s, organizations, invocations)
	binary, key := build(b), s.Keys["owner"]
	floor := serveFloor(b, s.Database)
	ours, gqlgens := serve(b, binary, s.Database, "level"), serve(b, binary, s.Database, "gqlgen")
	for _, connections := range []int{32, 1} {
		results.title(connections)
		for i, q := range questions() {
			body, err := json.Marshal(map[string]string{"query": q.query})
			require.NoError(b, err)
			post := request(http.MethodPost, "/graphql", key, string(body))
			all := []*contender{
				{process: floor, name: "floor", request: request(http.MethodGet, fmt.Sprint("/", i), key, "")},
				{process: ours, name: "level", request: post},
				{process: gqlgens, name: "gqlgen", request: post},
			}
			if q.rest != "" {
				all = append(all, &contender{process: ours, name: "REST " + q.rest, request: request(http.MethodGet, q.rest, key, "")})
			}
			requireSame(b, all)
			for range queryRounds * b.N {
				for _, c := range all {
					c.measure(b, connections)
				}
			}
			for _, c := range all {
				results.row(q.name, c, all[0])
			}
			b.ReportMetric(float64(len(all[1].times))/float64(len(all[0].times)), fmt.Sprintf("Q%d-level/floor-at-%d", i+1, connections))
		}
	}
	b.ReportMetric(0, "ns/op")
}

// requireSame: the executors give the same bytes, and the floor the same data, but for how times and ids are spelled.
func requireSame(b *testing.B, all []*contender) {
	answers := make([][]byte, len(all))
	for i, c := range all {
		l := dial(b, c.url)
		answers[i] = bytes.Clone(l.ask(b, c.request))
		_ = l.Close()
		require.NotContains(b, string(answers[i]), `"errors"`)
	}
	require.Equal(b, string(answers[2]), string(answers[1]))
	require.Equal(b, shape(b, answers[0]), shape(b, answers[1]))
}

// shape is a JSON value without its leaves.
func shape(b *testing.B, answer []byte) any {
	var v any
	require.NoError(b, json.Unmarshal(answer, &v), "%.200s", answer)
	var strip func(v any) any
	strip = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = strip(v[k])
			}
			return v
		case []any:
			for i := range v {
				v[i] = strip(v[i])
			}
			return v
		}
		return v != nil
	}
	return strip(v)
}

// BenchmarkPlan makes plans of documents that were never seen.
func BenchmarkPlan(b *testing.B) {
	of := generated.Config{}
	inner := generated.NewExecutableSchema(of)
	exec := executor.New(inner)
	table := generated.Level(of)
	var times []time.Duration
	for _, q := range questions() {
		op, err := exec.CreateOperationContext(graphql.StartOperationTrace(b.Context()), &graphql.RawParams{Query: q.query})
		require.Nil(b, err)
		for range 200 * b.N {
			cold := level.New(inner, table)
			begun := time.Now()
			require.True(b, cold.Plans(op))
			times = append(times, time.Since(begun))
		}
	}
	results.planning = fmt.Sprintf("A plan of a document that was never seen takes %.0f µs (median; p99 %.0f µs).", 1000*quantile(times, 0.5), 1000*quantile(times, 0.99))
	b.ReportMetric(1000*quantile(times, 0.99), "p99-µs")
	b.ReportMetric(0, "ns/op")
}

// scans are how often each table of more than 10,000 rows was read from end to end.
func scans(t *testing.T, s *apitest.Server) map[string]int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.Database)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	require.Eventually(t, func() bool { // who goes tells on leaving what it has read
		var others int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> 'skillgraph'").Scan(&others)
		return err == nil && others == 0
	}, 20*time.Second, 10*time.Millisecond)
	rows, err := conn.Query(t.Context(), "SELECT relname, seq_scan FROM pg_stat_user_tables WHERE n_live_tup > 10000")
	require.NoError(t, err)
	out := map[string]int64{}
	var table string
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&table, &n}, func() error {
		out[table] = n
		return nil
	})
	require.NoError(t, err)
	return out
}

// No question reads a large table from end to end.
func TestPlans(t *testing.T) {
	s := apitest.New(t)
	populate(t, s, 20, 20_000)
	before := scans(t, s)
	for _, q := range questions() {
		s.Query(t, "owner", q.query, nil)
		if q.rest != "" {
			require.Equal(t, http.StatusOK, s.REST(t, "owner", http.MethodGet, q.rest, "").Status)
		}
	}
	s.Store.Close() // PostgreSQL counts what a connection has done at its end at the latest
	after := scans(t, s)
	for table, n := range before {
		require.Equal(t, n, after[table], table)
	}
	require.Contains(t, before, "registry_versions")
}
