package resolvers_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Reading skills with everything that hangs on them takes the same number of statements for 1, 10 and 100 of them.
func TestSkillStatements(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	at, no, yes := apitest.Noon.Add(-time.Hour), false, true
	c := models.Canonical{Sessions: []models.SessionRecord{{SessionID: "a"}}}
	for n := range 100 {
		fired := &no
		if n%2 == 0 {
			fired = &yes
		}
		name := fmt.Sprint("skill ", n)
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: name, SessionID: "a", SkillName: name, OccurredAt: &at, Triggered: fired})
	}
	_, err := s.Org().Push(t.Context(), &models.Push{ID: ids.New(ids.Push, at), Canonical: c})
	require.NoError(t, err)

	// A machine that is busy may tear a batch in two, so the best of a few counts.
	costs := map[int]int64{1: math.MaxInt64, 10: math.MaxInt64, 100: math.MaxInt64}
	for _, first := range slices.Repeat([]int{1, 10, 100}, 6) {
		before := s.Store.Statements()
		data := s.Query(t, "owner", `query($first: Int) { skills(first: $first, orderBy: NAME) { nodes {
			name triggerRate avgConfidence rates { triggerRate { value } } dailyStats { sessions }
			version: breakdown(by: VERSION) { value } platform: breakdown(by: PLATFORM) { value }
			confusedWith(first: 3) { sessions skill { name } } } } }`, map[string]any{"first": first})
		require.Len(t, data["skills"].(map[string]any)["nodes"], first)
		costs[first] = min(costs[first], s.Store.Statements()-before)
	}
	// One each for the page, the sums, the days, two breakdowns, the confusions and the skills at their other end.
	// The first skill by name fired, so that it was confused with none. With more of them it is one statement more, and
	// no more than twice that where every batch is torn; one for each skill would be hundreds.
	require.Equal(t, int64(6), costs[1])
	require.LessOrEqual(t, costs[10], int64(14))
	require.LessOrEqual(t, costs[100], int64(14))
}

// Two ranges in one operation are two answers.
func TestSkillDaysByRange(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	var c models.Canonical
	yes := true
	for n := range 3 {
		at, id := apitest.Noon.AddDate(0, 0, -n), fmt.Sprint(n)
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: "pdf", OccurredAt: &at, Triggered: &yes})
	}
	_, err := s.Org().Push(t.Context(), &models.Push{ID: ids.New(ids.Push, apitest.Noon), Canonical: c})
	require.NoError(t, err)
	data := s.Query(t, "owner", `{ skill(name: "pdf") {
		all: dailyStats { date } old: dailyStats(until: "2026-11-13") { date } new: dailyStats(since: "2026-11-15") { date } } }`, nil)
	day := func(s string) map[string]any { return map[string]any{"date": s} }
	require.Equal(t, map[string]any{
		"all": []any{day("2026-11-13"), day("2026-11-14"), day("2026-11-15")},
		"old": []any{day("2026-11-13")},
		"new": []any{day("2026-11-15")},
	}, data["skill"])
}
