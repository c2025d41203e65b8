package store_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// past is a hundred days of a few skills: some get worse, some fall silent, some are hardly graded.
func past(rnd *rand.Rand) (c models.Canonical) {
	for skill := range 6 {
		name, quiet := fmt.Sprint("skill ", skill), rnd.IntN(100)
		for day := range 100 {
			if day >= quiet && day < quiet+20 || rnd.IntN(3) == 0 {
				continue
			}
			for range 1 + rnd.IntN(2) {
				// Sessions end before midnight: a session that does not is known to the day only.
				at := noon.Truncate(24*time.Hour).AddDate(0, 0, -day).Add(time.Duration(rnd.IntN(11*3600)) * time.Second)
				id := fmt.Sprintf("%s-%d", name, len(c.Sessions))
				c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
				c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: name, OccurredAt: &at, Triggered: new(true)})
				if rnd.IntN(1+skill) == 0 {
					// Tenths, so that a mean is sometimes exactly the threshold.
					later, rate := at.Add(time.Duration(rnd.IntN(72*60))*time.Minute), float64(rnd.IntN(4)+7-3*(skill%2))/10
					if rnd.IntN(4) == 0 {
						rate = 0.7
					}
					if later.Before(noon) {
						c.Gradings = append(c.Gradings, models.GradingRecord{GradingID: id, SessionID: id, SkillName: name, GradedAt: &later, PassRate: &rate})
					}
				}
			}
		}
	}
	return c
}

// fired is a day on which an alert would have fired.
type fired struct {
	Day   string
	Skill ids.ID
	Value float64
}

// replay evaluates an alert at the end of each day, over the records as they are.
func replay(a *models.Alert, c models.Canonical, skills map[string]ids.ID, days int) (out []fired) {
	today := noon.Truncate(24 * time.Hour)
	for ago := days - 1; ago >= 0; ago-- {
		day := today.AddDate(0, 0, -ago)
		end := day.AddDate(0, 0, 1)
		if end.After(noon) {
			end = noon
		}
		for name, id := range skills {
			if a.SkillID != nil && *a.SkillID != id {
				continue
			}
			w := &models.Watched{SkillID: id}
			for _, i := range c.Invocations {
				if i.SkillName == name && i.OccurredAt.Before(end) && (w.LastSeenAt == nil || i.OccurredAt.After(*w.LastSeenAt)) {
					w.LastSeenAt = i.OccurredAt
				}
			}
			var graded []models.GradingRecord
			for _, g := range c.Gradings {
				if g.SkillName == name && g.GradedAt.Before(end) {
					graded = append(graded, g)
				}
			}
			slices.SortFunc(graded, func(a, b models.GradingRecord) int {
				return cmp.Or(b.GradedAt.Compare(*a.GradedAt), cmp.Compare(b.GradingID, a.GradingID))
			})
			graded = graded[:min(20, len(graded))]
			tenths := 0.0
			for _, g := range graded {
				tenths += math.Round(*g.PassRate * 10)
			}
			if w.RecentGraded = len(graded); len(graded) > 0 {
				w.PassRate = new(tenths / float64(10*len(graded)))
			}
			steps, _ := a.Evaluate([]*models.Watched{w}, nil, end)
			for _, s := range steps {
				out = append(out, fired{day.Format(time.DateOnly), id, billionth(s.Value)})
			}
		}
	}
	return out
}

// A dry run is what a naive replay of the evaluation, day by day, says.
func TestDryRun(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(randomSeed(t), 0))
	s := newTelemetry(t, store.Options{})
	for round := range 4 {
		o := s.in(s.org(t, fmt.Sprint("org-", round)))
		c := past(rnd)
		o.push(t, c)
		skills := map[string]ids.ID{}
		for _, i := range c.Invocations {
			if skills[i.SkillName].IsZero() {
				skills[i.SkillName] = o.skill(t, i.SkillName).ID
			}
		}
		some := o.skill(t, "skill 1").ID
		fires := 0
		for _, a := range []models.Alert{
			{Type: models.AlertTypePassRateBelow, Threshold: 0.7},
			{Type: models.AlertTypePassRateBelow, Threshold: rnd.Float64()},
			{Type: models.AlertTypePassRateBelow, Threshold: 0.8, SkillID: &some},
			{Type: models.AlertTypeNoData, Threshold: 0},
			{Type: models.AlertTypeNoData, Threshold: 7},
			{Type: models.AlertTypeNoData, Threshold: rnd.Float64() * 10},
			{Type: models.AlertTypeNoData, Threshold: 2.5, SkillID: &some},
		} {
			days := 1 + rnd.IntN(90)
			found, err := o.DryRun(t.Context(), &a, days)
			require.NoError(t, err)
			got := []fired{}
			for _, d := range found {
				got = append(got, fired{d.Date.Time().Format(time.DateOnly), d.SkillID, billionth(d.Value)})
			}
			require.True(t, slices.IsSortedFunc(got, func(a, b fired) int { return cmp.Compare(a.Day, b.Day) }), "oldest first")
			require.ElementsMatch(t, replay(&a, c, skills, days), got, "%+v over %d days", a, days)
			fires += len(got)
		}
		require.Positive(t, fires)
	}
}

// When raw rows are gone, the days without data are known to the day, and never told too early.
func TestDryRunAfterRetention(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	at := noon.AddDate(0, 0, -10)
	s.push(t, models.Canonical{
		Sessions:    []models.SessionRecord{{SessionID: "a"}},
		Invocations: []models.InvocationRecord{{InvocationID: "a", SessionID: "a", SkillName: "pdf", OccurredAt: &at, Triggered: new(true)}},
	})
	days := func() (out []fired) {
		found, err := s.DryRun(t.Context(), &models.Alert{Type: models.AlertTypeNoData, Threshold: 9}, 30)
		require.NoError(t, err)
		for _, d := range found {
			out = append(out, fired{Day: d.Date.Time().Format(time.DateOnly), Value: d.Value})
		}
		return out
	}
	require.Equal(t, []fired{{Day: "2026-11-14", Value: 9.5}, {Day: "2026-11-15", Value: 10}}, days())
	dbtest.Exec(t, s.conn.Config().ConnString(), "DELETE FROM session_skills")
	require.Equal(t, []fired{{Day: "2026-11-14", Value: 9}, {Day: "2026-11-15", Value: 9.5}}, days())
}
