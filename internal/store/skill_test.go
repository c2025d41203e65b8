package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/store"
	"skillgraph/models"
)

// Every skill is on one page and on one only, also where times differ by less than what cursors carry.
func TestSkillsPaging(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	c := models.Canonical{Sessions: []models.SessionRecord{session("a")}}
	for n := range 30 {
		r := invocation(fmt.Sprint(n), "a", fmt.Sprintf("skill %02d", n), true)
		r.OccurredAt = new(noon.Add(-time.Duration(n*n) * 137 * time.Microsecond))
		c.Invocations = append(c.Invocations, r)
	}
	c.Signals = []models.SignalRecord{{SignalID: "n", SessionID: "a", OccurredAt: ago(0), MentionedSkill: new("never seen")}}
	s.push(t, c)
	for _, by := range []models.SkillOrder{models.SkillOrderLastSeen, models.SkillOrderName} {
		var names []string
		w := models.Window{Limit: 4}
		for range 10 {
			page, err := s.Skills(t.Context(), models.SkillFilter{}, by, w)
			require.NoError(t, err)
			for _, k := range page.Nodes {
				names = append(names, k.Name)
			}
			if !page.PageInfo.HasNextPage {
				break
			}
			w, err = models.PageArgs{First: new(4), After: page.PageInfo.EndCursor()}.Window()
			require.NoError(t, err)
		}
		require.Len(t, names, 31)
		sorted := slices.Clone(names)
		slices.Sort(sorted)
		require.Len(t, slices.Compact(sorted), 31, "%v", names)
		if by == models.SkillOrderLastSeen {
			require.Equal(t, "never seen", names[30])
		}
	}
	s.requireCounted(t)
}
