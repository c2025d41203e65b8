package loader_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

const skillPage = `skills(first: $n, orderBy: NAME) { nodes {
	name triggerRate avgConfidence rates { triggerRate { value } } dailyStats { sessions }
	version: breakdown(by: VERSION) { value } platform: breakdown(by: PLATFORM) { value }
	confusedWith(first: 3) { sessions skill { name } } } }`

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

	s = s.Counting(t)

	// One each for the page, the rates, the days, two breakdowns, the confusions and the skills at their other end; the first
	// skill by name fired, so that it was confused with none.
	for n, want := range map[int]int64{1: 6, 10: 7, 100: 7} {
		requireStatements(t, s, want, strings.ReplaceAll(skillPage, "$n", fmt.Sprint(n)), fmt.Sprint(n, " skills"))
	}
	requireStatements(t, s, 1, `skill(name: "skill 1") { name } days: skill(name: "skill 1") { status }`, "the same skill twice")
	requireStatements(t, s, 2, `skill(name: "skill 1") { name } other: skill(name: "skill 2") { name }`, "two skills")
}
