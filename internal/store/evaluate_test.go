package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func TestEvaluateOnlyWhatIsDue(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	early := alert(t, w.Org, models.AlertTypeNoData, 7, nil)
	w.pass(time.Minute)
	late := alert(t, w.Org, models.AlertTypeNoData, 7, nil)
	require.Equal(t, w.now(), late.DueAt, "a new alert is due at once")
	w.pass(-time.Minute)
	require.Equal(t, 1, w.evaluate(t))
	require.Zero(t, w.evaluate(t))
	due := func(a *models.Alert) time.Time {
		got, err := w.Alert(t.Context(), a.ID)
		require.NoError(t, err)
		return got.DueAt
	}
	require.Equal(t, noon.Add(interval), due(early))
	require.Equal(t, noon.Add(time.Minute), due(late))
	w.pass(time.Minute)
	require.Equal(t, 1, w.evaluate(t))
	w.pass(interval - time.Minute - time.Millisecond)
	require.Zero(t, w.evaluate(t))
	w.pass(time.Millisecond)
	require.Equal(t, 1, w.evaluate(t))
	w.pass(10 * interval)
	require.Equal(t, 2, w.evaluate(t), "once, however late")
	require.Equal(t, w.now().Add(interval), due(early))
	_, err := w.UpdateAlert(t.Context(), late.ID, models.UpdateAlertInput{Threshold: set(new(3.0))}, models.Reach{})
	require.NoError(t, err)
	require.Equal(t, 1, w.evaluate(t), "a change is looked at, at once")
}

// An incident opens, is called to mind every day, and is over; each time exactly one notification, one job, one event.
func TestIncidentLife(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.grade(t, w.Org, "pdf", 2, 0.1)
	a := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, nil)
	step := func(after time.Duration, state models.AlertState, told map[string]int) {
		t.Helper()
		w.pass(after)
		w.evaluate(t)
		require.Equal(t, state, w.state(t, a))
		require.Equal(t, told, w.told(t))
	}
	step(0, models.AlertStateOk, map[string]int{})
	w.grade(t, w.Org, "pdf", 1, 0.1)
	step(interval, models.AlertStateFiring, map[string]int{"OPENED": 1})
	step(interval, models.AlertStateFiring, map[string]int{"OPENED": 1})
	step(24*time.Hour-interval-time.Millisecond, models.AlertStateFiring, map[string]int{"OPENED": 1})
	step(interval, models.AlertStateFiring, map[string]int{"OPENED": 1, "REMINDER": 1})
	step(interval, models.AlertStateFiring, map[string]int{"OPENED": 1, "REMINDER": 1})
	step(24*time.Hour, models.AlertStateFiring, map[string]int{"OPENED": 1, "REMINDER": 2})
	w.grade(t, w.Org, "pdf", 20, 0.6)
	step(interval, models.AlertStateResolved, map[string]int{"OPENED": 1, "REMINDER": 2, "RESOLVED": 1})
	step(interval, models.AlertStateResolved, map[string]int{"OPENED": 1, "REMINDER": 2, "RESOLVED": 1})
	w.grade(t, w.Org, "pdf", 1, 0.59)
	step(interval, models.AlertStateFiring, map[string]int{"OPENED": 2, "REMINDER": 2, "RESOLVED": 1})

	require.Equal(t, []string{
		"alert.created", "incident.opened", "alert.state_changed", "incident.reminder", "incident.reminder",
		"incident.resolved", "alert.state_changed", "incident.opened", "alert.state_changed",
	}, about(t, w.Org))
	page, err := w.IncidentsOfAlerts(t.Context(), []ids.ID{a.ID}, models.IncidentList{Window: everything})
	require.NoError(t, err)
	list := page[a.ID].Nodes
	require.Len(t, list, 2)
	require.Nil(t, list[0].ResolvedAt)
	require.InDelta(t, 0.5995, list[0].Value, 1e-9)
	require.Equal(t, noon.Add(interval), list[1].OpenedAt)
	require.InDelta(t, 0.1, list[1].Value, 1e-9)
	require.NotNil(t, list[1].ResolvedAt)
	last := events(t, w.Org)
	require.JSONEq(t, `{"from": "resolved", "to": "firing"}`, string(last[len(last)-1].Data))
}

func TestAlertOfEverySkill(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	for _, name := range []string{"pdf", "docx", "fine"} {
		w.grade(t, w.Org, name, 5, map[bool]float64{true: 0.9, false: 0.1}[name == "fine"])
	}
	every := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, nil)
	one := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, &w.skill(t, "pdf").ID)
	none := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, &w.skill(t, "fine").ID)
	w.evaluate(t)
	incidents := func(a *models.Alert) (names []string) {
		page, err := w.IncidentsOfAlerts(t.Context(), []ids.ID{a.ID}, models.IncidentList{Window: everything})
		require.NoError(t, err)
		for _, i := range page[a.ID].Nodes {
			skills, err := w.SkillsByID(t.Context(), []ids.ID{i.SkillID})
			require.NoError(t, err)
			names = append(names, skills[i.SkillID].Name)
		}
		return names
	}
	require.ElementsMatch(t, []string{"pdf", "docx"}, incidents(every))
	require.Equal(t, []string{"pdf"}, incidents(one))
	require.Empty(t, incidents(none))
	require.Equal(t, models.AlertStateOk, w.state(t, none))

	w.grade(t, w.Org, "new", 3, 0)
	w.pass(interval)
	w.evaluate(t)
	require.ElementsMatch(t, []string{"pdf", "docx", "new"}, incidents(every), "a skill that appeared since")
	require.Equal(t, map[string]int{"OPENED": 4}, w.told(t))

	w.grade(t, w.Org, "pdf", 20, 1)
	w.pass(interval)
	w.evaluate(t)
	require.Equal(t, map[string]int{"OPENED": 4, "RESOLVED": 2}, w.told(t))
	require.Equal(t, models.AlertStateFiring, w.state(t, every), "docx and new last")
	require.Equal(t, models.AlertStateResolved, w.state(t, one))
}

func TestNoData(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.grade(t, w.Org, "pdf", 1, 1)
	dbtest.Exec(t, w.url, "INSERT INTO skills (org_id, id, name, created_at) VALUES ($1, gen_random_uuid(), 'never seen', now())", w.ID())
	a := alert(t, w.Org, models.AlertTypeNoData, 0.5, nil)
	w.pass(12*time.Hour - time.Millisecond)
	w.evaluate(t)
	require.Equal(t, models.AlertStateOk, w.state(t, a))
	w.pass(interval)
	w.evaluate(t)
	require.Equal(t, models.AlertStateFiring, w.state(t, a))
	require.Equal(t, map[string]int{"OPENED": 1}, w.told(t))
	w.grade(t, w.Org, "pdf", 1, 1)
	w.pass(interval)
	w.evaluate(t)
	require.Equal(t, models.AlertStateResolved, w.state(t, a))
}

// Whichever step fails, nothing of the batch is left, and the next evaluation does all of it.
func TestEvaluateAllOrNothing(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"INSERT ON incidents", "INSERT ON notifications", "INSERT ON river_job", "INSERT ON events", "UPDATE ON alerts"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t)
			for n := range 3 {
				w.grade(t, w.Org, fmt.Sprint("skill ", n), 3, 0)
			}
			a := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, nil)
			before := len(events(t, w.Org))
			// It fails late: after everything else of this kind went well.
			late := "(SELECT count(*) FROM incidents) >= 3"
			switch step {
			case "INSERT ON incidents":
				late = "(SELECT count(*) FROM incidents) >= 2"
			case "UPDATE ON alerts":
				late = "NEW.state = 'FIRING'"
			}
			dbtest.Exec(t, w.url, `CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF `+late+` THEN RAISE EXCEPTION 'on purpose'; END IF; RETURN NEW; END $$`)
			dbtest.Exec(t, w.url, "CREATE TRIGGER fails BEFORE "+step+" FOR EACH ROW EXECUTE FUNCTION fails()")
			n, err := w.db.EvaluateAlerts(t.Context(), interval)
			require.ErrorContains(t, err, "on purpose")
			require.Zero(t, n)
			require.Empty(t, w.told(t))
			require.Zero(t, w.count(t, "incidents"))
			require.Len(t, events(t, w.Org), before)
			got, err := w.Alert(t.Context(), a.ID)
			require.NoError(t, err)
			require.Equal(t, a.DueAt, got.DueAt, "it is still due")
			require.Equal(t, models.AlertStateOk, got.State)

			dbtest.Exec(t, w.url, "DROP FUNCTION fails CASCADE")
			require.Equal(t, 1, w.evaluate(t))
			require.Equal(t, map[string]int{"OPENED": 3}, w.told(t))
		})
	}
}

// Ten evaluators on two servers share the work, and none of it is done twice.
func TestEvaluateTogether(t *testing.T) {
	t.Parallel()
	const alerts = 300
	w := newWatch(t)
	w.grade(t, w.Org, "pdf", 3, 0)
	w.grade(t, w.Org, "docx", 3, 0)
	for range alerts {
		alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, nil)
	}
	stores := []*store.Store{w.db, w.open(t)}
	for round, want := range []map[string]int{{"OPENED": 2 * alerts}, {"OPENED": 2 * alerts}, {"OPENED": 2 * alerts, "REMINDER": 2 * alerts}} {
		var total atomic.Int64
		var all sync.WaitGroup
		failed := make(chan error, 10)
		for i := range 10 {
			all.Go(func() {
				n, err := stores[i%2].EvaluateAlerts(t.Context(), interval)
				total.Add(int64(n))
				failed <- err
			})
		}
		all.Wait()
		for range 10 {
			require.NoError(t, <-failed)
		}
		require.Equal(t, int64(alerts), total.Load(), "round %d: each alert once", round)
		require.Equal(t, want, w.told(t), "round %d", round)
		require.Equal(t, 2*alerts, w.count(t, "incidents"))
		w.pass(interval)
		if round == 1 {
			w.pass(24 * time.Hour)
		}
	}
}

func TestEvaluateInBatches(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.grade(t, w.Org, "pdf", 3, 0)
	made := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, nil)
	dbtest.Exec(t, w.url, `INSERT INTO alerts (org_id, id, type, threshold, channel, config, state, due_at, created_at, updated_at)
		SELECT org_id, overlay(id::text PLACING lpad(to_hex(n), 12, '0') FROM 25)::uuid, type, threshold, channel, config, state, due_at - n * interval '1 second', created_at, updated_at
		FROM alerts, generate_series(1, 499) AS n`)
	require.Equal(t, 500, w.evaluate(t))
	require.Equal(t, map[string]int{"OPENED": 500}, w.told(t))
	require.Equal(t, models.AlertStateFiring, w.state(t, made))
	require.Zero(t, w.evaluate(t))
}
