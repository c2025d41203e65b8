package resolvers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

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
