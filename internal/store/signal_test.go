package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// crowdSignals are n misses of a skill from so many cohorts.
func crowdSignals(skill string, n, cohorts int) (out []*models.Signal) {
	for i := range n {
		out = append(out, &models.Signal{
			SourceKey: fmt.Sprint(skill, " ", i), SkillName: &skill, SignalType: "missed_trigger", Missed: true, UserCohort: new(fmt.Sprint("cohort ", i%cohorts)), Confidence: new(0.5),
		})
	}
	return out
}

func addSignals(t *testing.T, org store.Org, signals []*models.Signal) *models.SubmitSignalsPayload {
	t.Helper()
	got, err := org.AddSignals(t.Context(), signals)
	require.NoError(t, err)
	return got
}

func signalSkill(t *testing.T, org store.Org, name string) *models.SignalDetail {
	t.Helper()
	d, err := org.SignalSkill(t.Context(), name)
	require.NoError(t, err)
	return d
}

func TestSignalsCountOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := addSignals(t, w.acme, crowdSignals("pdf", 12, 4))
	require.Equal(t, &models.SubmitSignalsPayload{Status: "accepted", Accepted: 12}, first)
	twice := append(crowdSignals("pdf", 14, 4), crowdSignals("pdf", 15, 4)...)
	require.Equal(t, &models.SubmitSignalsPayload{Status: "accepted", Accepted: 3, Duplicates: 26}, addSignals(t, w.acme, twice))
	require.Equal(t, &models.SubmitSignalsPayload{Status: "accepted", Duplicates: 15}, addSignals(t, w.acme, crowdSignals("pdf", 15, 7)))
	got, err := w.acme.SignalAggregates(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, got.Aggregates, 1)
	a := got.Aggregates[0]
	require.Equal(t, []int{15, 4}, []int{*a.TotalSignals, *a.Cohorts})
	require.InDelta(t, 0.5, *a.AvgConfidence, 1e-9)

	nameless := &models.Signal{SourceKey: "nameless", SignalType: "x"}
	require.Equal(t, 1, addSignals(t, w.acme, []*models.Signal{nameless}).Accepted)
	require.Equal(t, 1, addSignals(t, w.acme, []*models.Signal{nameless}).Duplicates)
	require.Equal(t, 16, w.count(t, "SELECT count(*) FROM raw_signals"))
	got, err = w.acme.SignalAggregates(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, got.Aggregates, 1)
}

// The gate, at its edges.
func TestGate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		signals, cohorts int
		shown            bool
	}{{9, 3, false}, {10, 2, false}, {9, 9, false}, {100, 2, false}, {10, 3, true}, {10, 10, true}} {
		w := newWorld(t)
		addSignals(t, w.acme, crowdSignals("pdf", c.signals, c.cohorts))
		got, err := w.acme.SignalOverview(t.Context())
		require.NoError(t, err)
		d := signalSkill(t, w.acme, "pdf")
		require.Equal(t, *got.Skills[0], d.SignalSkill)
		if !c.shown {
			require.Equal(t, models.SignalStateBelowThreshold, d.State(), c)
			require.Nil(t, got.TotalSignals, c)
			require.Nil(t, got.TotalSkills, c)
			require.Nil(t, got.TotalCohorts, c)
			require.Nil(t, got.ActionableSkills, c)
			require.Empty(t, d.ByWeek, c)
			require.Nil(t, d.ByType[0].TotalSignals, c)
			continue
		}
		require.Equal(t, models.SignalStateAvailable, d.State(), c)
		require.Equal(t, []int{c.signals, 1, c.cohorts, 1}, []int{*got.TotalSignals, *got.TotalSkills, *got.TotalCohorts, *got.ActionableSkills}, c)
		require.Equal(t, []int{c.signals, 0, c.signals}, []int{*d.TotalSignals, *d.TriggeredCount, *d.MissedCount}, c)
		require.Zero(t, *d.TriggerRate)
		require.Equal(t, c.signals, *d.ByWeek[0].TotalSignals, c)
		require.Empty(t, d.QueryBuckets)
	}
}

// Without user_cohort, who sends is the cohort; a cohort of the same name is another one.
func TestCohorts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sent := func(by store.Org, n int, cohort *string) {
		var list []*models.Signal
		for i := range n {
			list = append(list, &models.Signal{SourceKey: fmt.Sprint(by, cohort, i), SkillName: new("pdf"), SignalType: "x", UserCohort: cohort})
		}
		addSignals(t, by, list)
	}
	state := func() models.SignalState { return signalSkill(t, w.acme, "pdf").State() }
	sent(w.acme, 20, nil)
	require.Equal(t, models.SignalStateBelowThreshold, state())
	sent(w.member(t, w.acme, "member@example.com"), 1, nil)
	require.Equal(t, models.SignalStateBelowThreshold, state())
	sent(w.acme, 1, new(w.owner.UserID.String()))
	require.Equal(t, models.SignalStateAvailable, state())
	require.Nil(t, signalSkill(t, w.acme, "pdf").TriggerRate, "nobody told")
	require.Zero(t, *signalSkill(t, w.acme, "pdf").TriggeredCount)
	// Nothing that is kept says who they are.
	for _, secret := range []string{w.owner.UserID.String(), "member@example.com"} {
		for _, table := range []string{"raw_signals", "raw_signal_cells", "raw_signal_cohorts"} {
			require.Zero(t, w.count(t, "SELECT count(*) FROM "+table+" t WHERE t::text LIKE '%' || $1 || '%'", secret), table)
		}
	}
}

// The mean of a few confidences is a figure of a few.
func TestConfidenceHasItsOwnGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := crowdSignals("pdf", 30, 5)
	for _, s := range list[9:] {
		s.Confidence = nil
	}
	addSignals(t, w.acme, list)
	require.Equal(t, 30, *signalSkill(t, w.acme, "pdf").ByType[0].TotalSignals)
	require.Nil(t, signalSkill(t, w.acme, "pdf").ByType[0].AvgConfidence)
	more := crowdSignals("pdf", 31, 5)[30:]
	more[0].Confidence = new(1.0)
	addSignals(t, w.acme, more)
	require.InDelta(t, (9*0.5+1)/10, *signalSkill(t, w.acme, "pdf").ByType[0].AvgConfidence, 1e-9)
}

func TestSignalTimes(t *testing.T) {
	t.Parallel()
	w := newWorldAt(t, func() time.Time { return noon })
	list := crowdSignals("pdf", 36, 3)
	for i, s := range list {
		s.Hour = new(noon.Truncate(time.Hour).AddDate(0, 0, -7*(i%3)))
	}
	list[0].Hour = new(noon.AddDate(-20, 0, 0)) // beyond the retention: as good as none
	addSignals(t, w.acme, list)
	d := signalSkill(t, w.acme, "pdf")
	require.Len(t, d.ByWeek, 3)
	for i, week := range d.ByWeek {
		require.Equal(t, time.Monday, week.Week().Time().Weekday())
		require.Nil(t, week.AvgConfidence)
		require.Equal(t, models.SignalStateBelowThreshold, week.State(), "one cohort a week, in this list; week %d", i)
	}
	require.Equal(t, noon.Truncate(time.Hour), *d.LastSeenAt)
	require.Equal(t, noon.Truncate(time.Hour).AddDate(0, 0, -14), *d.ByType[0].FirstSeenAt)
}

// Batches whose keys come in opposite orders, at once, on two servers: none fails, and every signal counts once.
func TestSignalsConcurrently(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replica := dbtest.Open(t, w.url, store.Options{MaxConns: 10})
	const writers, each = 12, 200
	var accepted, duplicates [writers]int
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			var list []*models.Signal
			for _, skill := range []string{"a", "b", "c"} {
				list = append(list, crowdSignals(skill, each, 7)...)
			}
			if i%2 == 1 {
				slices.Reverse(list)
			}
			if i%3 == 2 {
				rand.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
			}
			by := w.acme
			if i%2 == 0 {
				by = replica.Org(w.acme.ID(), w.owner.UserID)
			}
			for part := range slices.Chunk(list, 150) {
				got, err := by.AddSignals(t.Context(), part)
				if err != nil {
					t.Error(err)
					return
				}
				accepted[i], duplicates[i] = accepted[i]+got.Accepted, duplicates[i]+got.Duplicates
			}
		})
	}
	wg.Wait()
	total, again := 0, 0
	for i := range writers {
		total, again = total+accepted[i], again+duplicates[i]
	}
	require.Equal(t, 3*each, total)
	require.Equal(t, (writers-1)*3*each, again)
	for _, skill := range []string{"a", "b", "c"} {
		d := signalSkill(t, w.acme, skill)
		require.Equal(t, []int{each, each, 7}, []int{*d.TotalSignals, *d.MissedCount, *d.ByType[0].Cohorts})
	}
}

func TestPruneSignals(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	addSignals(t, w.Org, crowdSignals("old", 12, 3))
	w.pass(20 * day)
	addSignals(t, w.Org, crowdSignals("new", 12, 3))
	_, _, err := w.old(t, 10*day).Prune(t.Context())
	require.NoError(t, err)
	require.Equal(t, 12, w.count(t, "raw_signals"))
	got, err := w.SignalOverview(t.Context())
	require.NoError(t, err)
	require.Equal(t, 24, *got.TotalSignals, "figures stay")
}

// 300 an hour are 300 an hour, on all servers together.
func TestQuota(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	servers := []*store.Store{w.open(t), w.open(t)}
	const limit = 50
	spend := func(n int) (allowed int) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		remaining := map[int]bool{}
		for i := range n {
			wg.Go(func() {
				q, err := servers[i%2].Org(w.ID(), ids.ID{}).SpendCall(t.Context(), "x", limit)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if q.Allowed {
					allowed++
					if remaining[q.Remaining] {
						t.Error("two calls are told the same rest:", q.Remaining)
					}
					remaining[q.Remaining] = true
				}
				if err := q.Check(); (err == nil) != q.Allowed {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return allowed
	}
	require.Equal(t, limit, spend(limit+30))
	require.Zero(t, spend(10))
	w.pass(59*time.Minute + 59*time.Second)
	q, err := w.SpendCall(t.Context(), "x", limit)
	require.NoError(t, err)
	require.False(t, q.Allowed)
	require.Equal(t, 1, q.Seconds())
	requireCode(t, errs.RateLimited, q.Check())
	q, err = w.SpendCall(t.Context(), "y", limit)
	require.NoError(t, err)
	require.True(t, q.Allowed, "each has a limit of its own")
	w.pass(time.Second)
	q, err = w.SpendCall(t.Context(), "x", limit)
	require.NoError(t, err)
	require.Equal(t, models.Quota{Limit: limit, Remaining: limit - 1, Reset: time.Hour, Allowed: true}, q)
	w.pass(-time.Second) // a server whose clock is behind
	q, err = w.SpendCall(t.Context(), "x", limit)
	require.NoError(t, err)
	require.Equal(t, limit-2, q.Remaining)
	require.Equal(t, 3601, q.Seconds())
	w.pass(time.Second)
	require.Equal(t, limit-2, spend(limit))
}
