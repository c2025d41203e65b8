package bench

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
)

const fewSignals = 10_000

// manySignals is how many the large organization has; SKILLGRAPH_BENCH_SIGNALS changes it.
func manySignals(b *testing.B) int {
	s := os.Getenv("SKILLGRAPH_BENCH_SIGNALS")
	if s == "" {
		return 1_000_000
	}
	n, err := strconv.Atoi(s)
	require.NoError(b, err)
	return n
}

// BenchmarkSignals reads the overview, the aggregates and one skill, from an organization with few signals and from one with many, turn by turn.
func BenchmarkSignals(b *testing.B) {
	few, many := withSignals(b, fewSignals), withSignals(b, manySignals(b))
	paths := map[string]string{"overview": "/api/v1/creator-signals/overview", "aggregates": "/api/v1/signals/aggregates", "skill": "/api/v1/creator-signals/skills/skill-7"}
	small, large := map[string][]time.Duration{}, map[string][]time.Duration{}
	for i := range b.N * reads {
		for name, path := range paths {
			if i%2 == 0 { // who comes second pays for the garbage of the first
				small[name], large[name] = append(small[name], timed(b, few, path)), append(large[name], timed(b, many, path))
			} else {
				large[name], small[name] = append(large[name], timed(b, many, path)), append(small[name], timed(b, few, path))
			}
		}
	}
	for name := range paths {
		b.ReportMetric(float64(median(small[name]).Microseconds()), name+"-few-µs")
		b.ReportMetric(float64(median(large[name]).Microseconds()), name+"-many-µs")
		b.ReportMetric(float64(median(large[name]))/float64(median(small[name])), name+"-many/few")
	}
	b.ReportMetric(0, "ns/op")
}

// signalParts has a row for every cell that a signal is in.
const signalParts = `raw_signals s, LATERAL (VALUES (''), (s.signal_type)) t(type),
	LATERAL (VALUES ('ALL', ''), ('SCORED', ''), ('WEEK', date_trunc('week', s.hour)::date::text), ('BUCKET', s.query_bucket)) d(dimension, label)`

// withSignals is a server on an organization with that many signals, of two types, over 13 weeks and 10 buckets, from one cohort for every 5,000 of them,
// and at least 10.
func withSignals(b *testing.B, n int) *apitest.Server {
	s := apitest.New(b)
	conn, err := pgx.Connect(b.Context(), s.Database)
	require.NoError(b, err)
	defer func() { _ = conn.Close(b.Context()) }()
	// What the store would have made of them, a batch at a time.
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{`INSERT INTO raw_signals (org_id, source_key, skill_name, signal_type, cohort, confidence, triggered, missed, query_bucket, hour, received_on)
			SELECT $1, i::text, 'skill-' || i % $3, CASE WHEN i / 50 % 4 = 0 THEN 'missed_trigger' ELSE 'skill_session' END, int4send(i / 50 % greatest(10, $4::int / 5000)), 0.5, i / 50 % 4 <> 0, i / 50 % 4 = 0,
				'bucket-' || i / 50 % 10, $2::timestamptz - i / 50 % 13 * interval '7 days', $2 FROM generate_series(0, $4::int - 1) i`, []any{apitest.Noon, skillCount, n}},
		{`INSERT INTO raw_signal_cohorts SELECT DISTINCT $1::uuid, dimension, skill_name, type, label, cohort FROM ` + signalParts, nil},
		{`INSERT INTO raw_signal_cells SELECT $1::uuid, dimension, skill_name, type, label, count(*), 0, count(*),
				count(*) FILTER (WHERE triggered), count(*) FILTER (WHERE missed), count(*) * 500000000, min(hour), max(hour)
			FROM ` + signalParts + ` GROUP BY dimension, skill_name, type, label`, nil},
		{`UPDATE raw_signal_cells t SET cohorts = c.n FROM (SELECT dimension, skill_name, signal_type, label, count(*) AS n FROM raw_signal_cohorts GROUP BY 1, 2, 3, 4) c
			WHERE t.org_id = $1 AND (t.dimension, t.skill_name, t.signal_type, t.label) = (c.dimension, c.skill_name, c.signal_type, c.label)`, nil},
	} {
		_, err = conn.Exec(b.Context(), step.sql, append([]any{s.Orgs["acme"]}, step.args...)...)
		require.NoError(b, err)
	}
	_, err = conn.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)
	return s
}
