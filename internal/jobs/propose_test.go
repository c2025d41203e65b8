package jobs_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/models"
)

// misses are signals that a skill should have fired, from four cohorts.
func misses(skill string, from, until int) (out []*models.Signal) {
	for i := from; i < until; i++ {
		out = append(out, &models.Signal{SourceKey: fmt.Sprint(skill, i), SkillName: &skill, SignalType: "missed_trigger", Missed: true, UserCohort: new(fmt.Sprint(i % 4))})
	}
	return out
}

// A proposal follows the signal that tips the scale, whichever of two servers takes the signal and whichever the job.
func TestPropose(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(t, w.Store)
	w.start(t, w.open(t))
	add := func(signals []*models.Signal) {
		_, err := w.org.AddSignals(t.Context(), signals)
		require.NoError(t, err)
	}
	drawn := func() int { return w.count(t, "SELECT count(*) FROM proposals") }
	add(misses("pdf", 0, 9))
	require.Eventually(t, func() bool {
		return w.count(t, "SELECT count(*) FROM river_job WHERE kind = 'propose' AND state = 'completed'") == 1
	}, limit, poll)
	require.Zero(t, drawn(), "below the gate")
	add(misses("pdf", 9, 10))
	require.Eventually(t, func() bool { return drawn() == 1 }, limit, poll)
	for i := range 20 {
		add(misses(fmt.Sprint("skill ", i), 0, 10))
	}
	require.Eventually(t, func() bool { return drawn() == 21 }, limit, poll)
	require.Eventually(t, func() bool {
		return w.count(t, "SELECT (SELECT count(*) FROM proposals_due) + (SELECT count(*) FROM river_job WHERE kind = 'propose' AND state <> 'completed')") == 0
	}, limit, poll, "nothing is left to do")
}
