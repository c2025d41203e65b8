package bench

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

const (
	fewPrompts  = 10_000
	perDelivery = 100 // sessions that are new
	manyPrompts = 100_000
	manyTimes   = 15
)

// BenchmarkSuggestions brings the suggestions of a source up to date after a delivery of a hundred sessions, and reads a page of them with their neighbours, where
// the source's skill has few prompts and where it has many, turn by turn.
func BenchmarkSuggestions(b *testing.B) {
	few, many := withPrompts(b, fewPrompts), withPrompts(b, manyPrompts)
	var small, large, smallPush, largePush []time.Duration
	for n := range b.N * manyTimes {
		p, s := few.deliver(b, n)
		smallPush, small = append(smallPush, p), append(small, s)
		p, s = many.deliver(b, n)
		largePush, large = append(largePush, p), append(large, s)
	}
	b.ReportMetric(float64(median(small).Microseconds()), "suggest-few-µs")
	b.ReportMetric(float64(median(large).Microseconds()), "suggest-many-µs")
	b.ReportMetric(float64(median(large))/float64(median(small)), "suggest-many/few")
	b.ReportMetric(float64(median(largePush))/float64(median(smallPush)), "push-many/few")
	small, large = nil, nil
	for range b.N * reads / 10 {
		small, large = append(small, few.read(b)), append(large, many.read(b))
	}
	b.ReportMetric(float64(median(small).Microseconds()), "similar-few-µs")
	b.ReportMetric(float64(median(large).Microseconds()), "similar-many-µs")
	b.ReportMetric(float64(median(large))/float64(median(small)), "similar-many/few")
	b.ReportMetric(many.took.Seconds(), "first-time-s")
	b.ReportMetric(0, "ns/op")
}

type prompted struct {
	*apitest.Server
	source string
	took   time.Duration // to make all suggestions, the first time
}

// deliver pushes sessions and brings the suggestions up to date with them.
func (s prompted) deliver(b *testing.B, n int) (push, suggest time.Duration) {
	var c models.Canonical
	at := apitest.Noon
	for i := range perDelivery {
		id := fmt.Sprintf("new-%d-%d", n, i)
		text := fmt.Sprintf("Please fill in form %d of the %s office", n*perDelivery+i, []string{"tax", "post", "patent"}[i%3])
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
		c.Prompts = append(c.Prompts, models.PromptRecord{PromptID: id, SessionID: id, OccurredAt: &at, PromptText: &text})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: "pdf", OccurredAt: &at, Triggered: new(i%2 == 0), MatchedPromptID: &id})
	}
	begun := time.Now()
	_, err := s.Org().Push(b.Context(), &models.Push{ID: ids.New(ids.Push, at), Canonical: c})
	require.NoError(b, err)
	push = time.Since(begun)
	begun = time.Now()
	s.Suggest(b)
	return push, time.Since(begun)
}

func (s prompted) read(b *testing.B) time.Duration {
	begun := time.Now()
	res := s.GraphQL(b, "owner", `query($id: ID!) { source(id: $id) { suggestions(first: 20, filter: {status: PENDING}) { nodes { query rationale confidence similar(first: 3) { similarity suggestion { query } } } } } }`, map[string]any{"id": s.source})
	require.Equal(b, http.StatusOK, res.Status)
	require.NotContains(b, string(res.Body), `"errors"`)
	return time.Since(begun)
}

// withPrompts is a server on an organization with that many prompts of a skill, every tenth of which it missed, each in a session of its own.
func withPrompts(b *testing.B, n int) prompted {
	s := prompted{Server: apitest.New(b), source: ids.New(ids.Source, apitest.Noon).String()}
	conn, err := pgx.Connect(b.Context(), s.Database)
	require.NoError(b, err)
	defer func() { _ = conn.Close(b.Context()) }()
	skill, org := ids.New(ids.Skill, apitest.Noon), s.Orgs["acme"]
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{"INSERT INTO skills (org_id, id, name, created_at) VALUES ($1, $2, 'pdf', now())", []any{org, skill}},
		{"INSERT INTO sessions (org_id, session_id, received_at) SELECT $1, 's' || i, $2 FROM generate_series(1, $3::int) i", []any{org, apitest.Noon, n}},
		{`INSERT INTO prompts (org_id, prompt_id, session_id, occurred_at, prompt_text, is_actionable)
			SELECT $1, 'p' || i, 's' || i, $2::timestamptz - i * interval '1 second', (
				SELECT string_agg(left(md5((hashint4(i / 3 * 8 + w) % 3000)::text), 3 + w % 4), ' ') FROM generate_series(1, 8) w), true
			FROM generate_series(1, $3::int) i`, []any{org, apitest.Noon, n}},
		{`INSERT INTO invocations (org_id, invocation_id, session_id, skill_id, occurred_at, triggered, matched_prompt_id)
			SELECT $1, 'i' || i, 's' || i, $2, $3::timestamptz - i * interval '1 second', i % 10 > 0, 'p' || i FROM generate_series(1, $4::int) i`, []any{org, skill, apitest.Noon, n}},
		{`INSERT INTO session_skills (org_id, session_id, skill_id, day, seen, first_at, last_at, triggers, scored, confidence, version_hash, platform, model)
			SELECT org_id, session_id, skill_id, occurred_at::date, true, occurred_at, occurred_at, triggered::int, 0, 0, '', '', '' FROM invocations WHERE org_id = $1`, []any{org}},
		{"INSERT INTO cloud_sources (org_id, id, label, source_type, skill_id, created_at) VALUES ($1, $2, 'folder', 'UPLOAD', $3, now())", []any{org, s.source, skill}},
		{"VACUUM ANALYZE", nil},
	} {
		_, err = conn.Exec(b.Context(), step.sql, step.args...)
		require.NoError(b, err)
	}
	begun := time.Now()
	s.Suggest(b)
	s.took = time.Since(begun)
	_, err = conn.Exec(b.Context(), "VACUUM ANALYZE")
	require.NoError(b, err)
	return s
}
