package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

const (
	deliveries = 21  // of each, in a round
	perPush    = 800 // sessions in a delivery, each with a dozen records
)

// BenchmarkIngest compares rows a second through the store, rollups and all, with a bare COPY of the same rows into the
// same tables with the same indexes, a delivery of one after a delivery of the other.
func BenchmarkIngest(b *testing.B) {
	through, bare := apitest.New(b), apitest.New(b)
	conn, err := pgx.Connect(b.Context(), bare.Database)
	require.NoError(b, err)
	b.Cleanup(func() { _ = conn.Close(b.Context()) })
	var took, floor []time.Duration
	rows := 0
	for n := range b.N * deliveries {
		c := delivery(n, perPush)
		start := time.Now()
		copyRows(b, conn, bare.Orgs["acme"], &c)
		floor = append(floor, time.Since(start))
		start = time.Now()
		_, err := through.Org().Push(b.Context(), &models.Push{ID: ids.New(ids.Push, apitest.Noon), Canonical: c})
		require.NoError(b, err)
		took = append(took, time.Since(start))
		rows += len(c.Sessions) + len(c.Prompts) + len(c.Invocations) + len(c.Facts) + len(c.Gradings) + len(c.Signals)
	}
	each := float64(rows) / float64(len(took))
	results.ingest = fmt.Sprintf("Records are taken at %.0f rows/s, rollups and all; a bare COPY of the same rows into the same tables makes %.0f rows/s: a ratio of %.2f.",
		each/median(took).Seconds(), each/median(floor).Seconds(), median(floor).Seconds()/median(took).Seconds())
	b.ReportMetric(each/median(took).Seconds(), "rows/s")
	b.ReportMetric(each/median(floor).Seconds(), "copied-rows/s")
	b.ReportMetric(median(floor).Seconds()/median(took).Seconds(), "ingest/copy")
	b.ReportMetric(0, "ns/op")
}

// median is what a machine with other things to do disturbs least.
func median(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

const skillCount = 50

// delivery is a push of sessions with a dozen records each, from three days in a row.
func delivery(push, sessions int) (c models.Canonical) {
	text, yes, no, mode, platform, kind := strings.Repeat("fill in the form ", 12), true, false, "implicit", "cli", "user"
	for n := range sessions {
		id := fmt.Sprintf("%08d-%04d", push, n)
		at := func(i int) *time.Time {
			t := apitest.Noon.AddDate(0, 0, -(push+n%3)%90).Add(-time.Duration(i) * time.Minute)
			return &t
		}
		skill := func(i int) string { return fmt.Sprintf("skill-%02d", (n+i)%skillCount) }
		model, rate, size := fmt.Sprintf("model-%d", n%5), float64(n%11)/10, int64(n)
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id, Platform: &platform, Model: &model, StartedAt: at(10), EndedAt: at(0)})
		for i := range 3 {
			c.Prompts = append(c.Prompts, models.PromptRecord{PromptID: fmt.Sprint(id, "-", i), SessionID: id, OccurredAt: at(i), PromptText: &text, PromptKind: &kind, IsActionable: &yes})
		}
		for i := range 4 {
			fired := &yes
			if i == 3 {
				fired = &no
			}
			c.Invocations = append(c.Invocations, models.InvocationRecord{
				InvocationID: fmt.Sprint(id, "-", i), SessionID: id, OccurredAt: at(i), SkillName: skill(i), Triggered: fired, Confidence: &rate, InvocationMode: &mode,
			})
		}
		for i := range 2 {
			c.Facts = append(c.Facts, models.FactRecord{FactID: fmt.Sprint(id, "-", i), SessionID: id, OccurredAt: at(i), TotalToolCalls: &size, AssistantTurns: &size, ErrorsEncountered: &size, InputTokens: &size})
		}
		c.Gradings = append(c.Gradings, models.GradingRecord{GradingID: id, SessionID: id, SkillName: skill(0), GradedAt: at(0), PassRate: &rate})
		if n%2 == 0 {
			c.Signals = append(c.Signals, models.SignalRecord{SignalID: id, SessionID: id, OccurredAt: at(0), Query: &text, SignalType: &kind})
		}
	}
	return c
}

// copyRows copies the records of a delivery into their tables, in one transaction.
func copyRows(b *testing.B, conn *pgx.Conn, org ids.ID, c *models.Canonical) {
	skill := ids.New(ids.Skill, apitest.Noon)
	tx, err := conn.Begin(b.Context())
	require.NoError(b, err)
	put := func(table string, columns string, n int, row func(i int) []any) {
		_, err := tx.CopyFrom(b.Context(), pgx.Identifier{table}, strings.Split("org_id,"+columns, ","), pgx.CopyFromSlice(n, func(i int) ([]any, error) {
			return append([]any{org}, row(i)...), nil
		}))
		require.NoError(b, err)
	}
	put("sessions", "session_id,platform,model,started_at,ended_at,received_at", len(c.Sessions), func(i int) []any {
		r := &c.Sessions[i]
		return []any{r.SessionID, r.Platform, r.Model, r.StartedAt, r.EndedAt, apitest.Noon}
	})
	put("prompts", "prompt_id,session_id,occurred_at,prompt_text,prompt_kind,is_actionable", len(c.Prompts), func(i int) []any {
		r := &c.Prompts[i]
		return []any{r.PromptID, r.SessionID, r.OccurredAt, r.PromptText, r.PromptKind, r.IsActionable}
	})
	put("invocations", "invocation_id,session_id,skill_id,occurred_at,triggered,confidence,invocation_mode", len(c.Invocations), func(i int) []any {
		r := &c.Invocations[i]
		return []any{r.InvocationID, r.SessionID, skill, r.OccurredAt, r.Triggered, r.Confidence, r.InvocationMode}
	})
	put("execution_facts", "fact_id,session_id,occurred_at,total_tool_calls,assistant_turns,errors_encountered,input_tokens", len(c.Facts), func(i int) []any {
		r := &c.Facts[i]
		return []any{r.FactID, r.SessionID, r.OccurredAt, r.TotalToolCalls, r.AssistantTurns, r.ErrorsEncountered, r.InputTokens}
	})
	put("gradings", "grading_id,session_id,skill_id,graded_at,rate", len(c.Gradings), func(i int) []any {
		r := &c.Gradings[i]
		return []any{r.GradingID, r.SessionID, skill, r.GradedAt, r.Rate()}
	})
	put("improvement_signals", "signal_id,session_id,occurred_at,query,signal_type", len(c.Signals), func(i int) []any {
		r := &c.Signals[i]
		return []any{r.SignalID, r.SessionID, r.OccurredAt, r.Query, r.SignalType}
	})
	require.NoError(b, tx.Commit(b.Context()))
}
