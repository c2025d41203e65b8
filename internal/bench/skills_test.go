package bench

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/ids"
)

const (
	fewInvocations = 10_000
	reads          = 300
)

// manyInvocations is how many the large organization has; SKILLGRAPH_BENCH_INVOCATIONS changes it.
func manyInvocations(b *testing.B) int {
	s := os.Getenv("SKILLGRAPH_BENCH_INVOCATIONS")
	if s == "" {
		return 10_000_000
	}
	n, err := strconv.Atoi(s)
	require.NoError(b, err)
	return n
}

// BenchmarkSkills reads a page of skills and one skill with its 90 days, from an organization with few invocations and
// from one with many, turn by turn.
func BenchmarkSkills(b *testing.B) {
	count := manyInvocations(b)
	few, many := withInvocations(b, fewInvocations), withInvocations(b, count)
	for name, path := range map[string]string{"page": "/v1/skills", "skill": "/v1/skills/skill-07"} {
		var small, large []time.Duration
		for range b.N * reads {
			small, large = append(small, timed(b, few, path)), append(large, timed(b, many, path))
		}
		results.skills = append(results.skills, fmt.Sprintf("- `GET %s` takes %d µs with %d invocations and %d µs with %d.", path, median(small).Microseconds(), fewInvocations, median(large).Microseconds(), count))
		b.ReportMetric(float64(median(small).Microseconds()), name+"-few-µs")
		b.ReportMetric(float64(median(large).Microseconds()), name+"-many-µs")
		b.ReportMetric(float64(median(large))/float64(median(small)), name+"-many/few")
	}
	b.ReportMetric(0, "ns/op")
}

func timed(b *testing.B, s *apitest.Server, path string) time.Duration {
	start := time.Now()
	res := s.Do(b, "owner", http.MethodGet, path, nil, nil)
	require.Equal(b, http.StatusOK, res.Status)
	return time.Since(start)
}

// withInvocations is a server on an organization with that many invocations, four to a session, over 90 days.
func withInvocations(b *testing.B, n int) *apitest.Server {
	s := apitest.New(b)
	conn, err := pgx.Connect(b.Context(), s.Database)
	require.NoError(b, err)
	defer func() { _ = conn.Close(b.Context()) }()
	skills := make([]ids.ID, skillCount)
	for i := range skills {
		skills[i] = ids.New(ids.Skill, apitest.Noon)
		_, err = conn.Exec(b.Context(), "INSERT INTO skills (org_id, id, name, created_at) VALUES ($1, $2, $3, $4)", s.Orgs["acme"], skills[i], fmt.Sprintf("skill-%02d", i), apitest.Noon)
		require.NoError(b, err)
	}
	_, err = conn.Exec(b.Context(), "SET session_replication_role = replica") // what refers to what is right by construction
	require.NoError(b, err)
	// What the store would have made of them, a row at a time.
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{"INSERT INTO sessions (org_id, session_id, platform, model, received_at) SELECT $1, 's' || i, 'cli', 'model-' || i % 5, $2 FROM generate_series(1, $3::int) i", []any{apitest.Noon, n / 4}},
		{`INSERT INTO invocations (org_id, invocation_id, session_id, skill_id, occurred_at, triggered, confidence)
			SELECT $1, i || '-' || k, 's' || i, ($2::uuid[])[1 + (i + k) % cardinality($2)], $3::timestamptz - i % 90 * interval '1 day' - k * interval '1 minute', k < 3, 0.5
			FROM generate_series(1, $4::int) i, generate_series(0, 3) k`, []any{skills, apitest.Noon, n / 4}},
		{`INSERT INTO session_skills (org_id, session_id, skill_id, day, seen, first_at, last_at, triggers, scored, confidence, rate, graded_at, grading_id, version_hash, platform, model)
			SELECT $1, i.session_id, i.skill_id, i.occurred_at::date, true, i.occurred_at, i.occurred_at, i.triggered::int, i.triggered::int, i.triggered::int * 500000000, 0.8, i.occurred_at, i.invocation_id, 'v1', s.platform, s.model
			FROM invocations i JOIN sessions s USING (org_id, session_id) WHERE i.org_id = $1`, nil},
		{`INSERT INTO skill_days SELECT $1, skill_id, day, count(*), sum(triggers), sum(triggers), sum(scored), sum(confidence), count(*), count(*), count(*) * 800000000 FROM session_skills GROUP BY skill_id, day`, nil},
		{`INSERT INTO skill_breakdowns SELECT $1, skill_id, 'MODEL', model, count(*), sum(triggers), sum(triggers), sum(scored), sum(confidence), count(*), count(*), count(*) * 800000000 FROM session_skills GROUP BY skill_id, model`, nil},
		{`UPDATE skills t SET unique_sessions = n.n, graded_sessions = n.n, recent_graded = 20, pass_rate = 0.8, status = 'HEALTHY', first_seen_at = n.first_at, last_seen_at = n.last_at, unseen = -floor(extract(epoch FROM n.last_at) * 1000)
			FROM (SELECT skill_id, count(*) AS n, min(first_at) AS first_at, max(last_at) AS last_at FROM session_skills GROUP BY 1) n WHERE t.org_id = $1 AND t.id = n.skill_id`, nil},
	} {
		_, err = conn.Exec(b.Context(), step.sql, append([]any{s.Orgs["acme"]}, step.args...)...)
		require.NoError(b, err)
	}
	_, err = conn.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)
	return s
}
