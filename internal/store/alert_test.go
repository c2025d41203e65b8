package store_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

const interval = 5 * time.Minute

// watch is telemetry that alerts watch, under a clock that a test moves.
type watch struct {
	*telemetry
	url    string
	passed atomic.Int64 // since noon
	made   int
}

func newWatch(t *testing.T) *watch {
	t.Helper()
	w := &watch{url: dbtest.Database(t)}
	w.telemetry = &telemetry{db: w.open(t)}
	w.Org = w.org(t, "acme")
	w.conn = connect(t, w.url)
	return w
}

// open opens one more store on the same database.
func (w *watch) open(t *testing.T) *store.Store {
	t.Helper()
	return dbtest.Open(t, w.url, store.Options{MaxConns: 10, Clock: w.now})
}

func (w *watch) now() time.Time { return noon.Add(time.Duration(w.passed.Load())) }

func (w *watch) pass(d time.Duration) { w.passed.Add(int64(d)) }

// grade makes sessions that are graded now: enough of them are all that the pass rate is made of.
func (w *watch) grade(t *testing.T, org store.Org, skill string, sessions int, rate float64) {
	t.Helper()
	at := w.now()
	var c models.Canonical
	for range sessions {
		w.made++
		id := fmt.Sprint("graded-", w.made)
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: skill, OccurredAt: &at, Triggered: new(true)})
		c.Gradings = append(c.Gradings, models.GradingRecord{GradingID: id, SessionID: id, SkillName: skill, GradedAt: &at, PassRate: &rate})
	}
	w.in(org).push(t, c)
}

// alert makes one; a nil skill is every skill.
func alert(t *testing.T, org store.Org, kind models.AlertType, threshold float64, skill *ids.ID) *models.Alert {
	t.Helper()
	a, err := org.CreateAlert(t.Context(), &models.Alert{
		SkillID: skill, Type: kind, Threshold: threshold, Channel: models.AlertChannelWebhook, State: models.AlertStateOk,
		Destination: models.JSON(`{"webhook_url": "https://hooks.example.com/"}`), Secret: new("whsec_test"),
	})
	require.NoError(t, err)
	return a
}

// evaluate evaluates what is due and says how many alerts that were.
func (w *watch) evaluate(t *testing.T) int {
	t.Helper()
	n, err := w.db.EvaluateAlerts(t.Context(), interval)
	require.NoError(t, err)
	return n
}

// told counts what is written down of an alert: its notifications by kind. Each has a job of its own, and no job has none.
func (w *watch) told(t *testing.T) map[string]int {
	t.Helper()
	out := map[string]int{}
	type row struct {
		Kind string
		N    int
	}
	for _, r := range read[row](t, w.telemetry, "SELECT kind, count(*) FROM notifications WHERE org_id = $1 GROUP BY 1") {
		out[r.Kind] = r.N
	}
	var lonely int
	require.NoError(t, w.conn.QueryRow(t.Context(), `SELECT count(*) FROM notifications n
		FULL JOIN (SELECT args->>'notification_id' AS id, count(*) AS jobs FROM river_job WHERE kind = 'deliver_notification' GROUP BY 1) j ON j.id = n.id::text
		WHERE n.id IS NULL OR j.jobs IS DISTINCT FROM 1`).Scan(&lonely))
	require.Zero(t, lonely, "notifications without exactly one job, or jobs without a notification")
	return out
}

func (w *watch) state(t *testing.T, a *models.Alert) models.AlertState {
	t.Helper()
	got, err := w.db.Org(a.OrgID, ids.ID{}).Alert(t.Context(), a.ID)
	require.NoError(t, err)
	return got.State
}

// about lists the kinds of the events of alerts and incidents, oldest first.
func about(t *testing.T, org store.Org) []string {
	t.Helper()
	out := []string{}
	for _, e := range events(t, org) {
		if k := e.ObjectID.Kind(); k == ids.Alert || k == ids.Incident {
			out = append(out, e.Kind)
		}
	}
	return out
}

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

func TestDisabledAndMuted(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.grade(t, w.Org, "pdf", 3, 0)
	a := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, nil)
	change := func(in models.UpdateAlertInput) {
		t.Helper()
		_, err := w.UpdateAlert(t.Context(), a.ID, in, models.Reach{})
		require.NoError(t, err)
	}
	change(models.UpdateAlertInput{Enabled: set(new(false))})
	require.Zero(t, w.evaluate(t), "an alert that is off is not evaluated")
	require.Equal(t, models.AlertStateDisabled, w.state(t, a))

	until := w.now().Add(time.Hour)
	change(models.UpdateAlertInput{Enabled: set(new(true)), MutedUntil: set(&until)})
	require.Equal(t, 1, w.evaluate(t))
	require.Empty(t, w.told(t), "nobody is told of new incidents")
	require.Equal(t, models.AlertStateOk, w.state(t, a))
	w.pass(time.Hour)
	w.evaluate(t)
	require.Equal(t, map[string]int{"OPENED": 1}, w.told(t), "the silence is over, the incident is not")

	until = w.now().Add(48 * time.Hour)
	change(models.UpdateAlertInput{MutedUntil: set(&until)})
	w.pass(25 * time.Hour)
	w.evaluate(t)
	require.Equal(t, map[string]int{"OPENED": 1}, w.told(t), "no reminder either")
	w.grade(t, w.Org, "pdf", 20, 1)
	w.pass(interval)
	w.evaluate(t)
	require.Equal(t, map[string]int{"OPENED": 1, "RESOLVED": 1}, w.told(t), "good news is told all the same")
}

// An incident outlasts the time in which its alert is off; then it goes on, or is over.
func TestIncidentOutlastsDisabling(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.grade(t, w.Org, "pdf", 3, 0)
	w.grade(t, w.Org, "docx", 3, 0)
	a := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, &w.skill(t, "pdf").ID)
	b := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, &w.skill(t, "docx").ID)
	w.evaluate(t)
	enable := func(on bool) {
		for _, alert := range []*models.Alert{a, b} {
			_, err := w.UpdateAlert(t.Context(), alert.ID, models.UpdateAlertInput{Enabled: set(&on)}, models.Reach{})
			require.NoError(t, err)
		}
	}
	enable(false)
	w.grade(t, w.Org, "docx", 20, 1)
	w.pass(interval)
	require.Zero(t, w.evaluate(t))
	enable(true)
	require.Equal(t, 2, w.evaluate(t))
	require.Equal(t, models.AlertStateFiring, w.state(t, a))
	require.Equal(t, models.AlertStateResolved, w.state(t, b))
	require.Equal(t, map[string]int{"OPENED": 2, "RESOLVED": 1}, w.told(t), "nobody is told of it a second time")
}

// delivery is what the first notification that waits takes to be told.
func (w *watch) delivery(t *testing.T, org store.Org) *store.Delivery {
	t.Helper()
	var id ids.ID
	require.NoError(t, w.conn.QueryRow(t.Context(), "SELECT id FROM notifications WHERE org_id = $1 AND state = 'PENDING' ORDER BY id LIMIT 1", org.ID()).Scan(&id))
	d, err := org.PendingDelivery(t.Context(), id)
	require.NoError(t, err)
	require.NotNil(t, d)
	return d
}

func TestDeleteAlertWithIncidents(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.grade(t, w.Org, "pdf", 3, 0)
	gone := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, nil)
	w.evaluate(t)
	d := w.delivery(t, w.Org)
	n, err := w.RecordAttempt(t.Context(), d, 500, "the endpoint answered 500", false)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	stays := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, nil)
	w.evaluate(t)

	require.NoError(t, w.DeleteAlert(t.Context(), gone.ID))
	for table, left := range map[string]int{"alerts": 1, "incidents": 1, "notifications": 1, "notification_attempts": 0} {
		require.Equal(t, left, w.count(t, table), table)
	}
	pending, err := w.PendingDelivery(t.Context(), d.ID)
	require.NoError(t, err)
	require.Nil(t, pending)
	n, err = w.RecordAttempt(t.Context(), d, 200, "the endpoint answered 200", true)
	require.NoError(t, err)
	require.Zero(t, n, "there is nothing to write it down in")
	requireCode(t, errs.NotFound, w.DeleteAlert(t.Context(), gone.ID))
	w.pass(interval)
	require.Equal(t, 1, w.evaluate(t))
	require.Equal(t, models.AlertStateFiring, w.state(t, stays))
	require.Contains(t, about(t, w.Org), "alert.deleted")
}

// Deleting an alert while its last attempt is written down waits for it, or makes it wait; neither fails.
func TestDeleteAlertWhileTelling(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.grade(t, w.Org, "pdf", 3, 0)
	for round := range 20 {
		a := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, nil)
		w.evaluate(t)
		d := w.delivery(t, w.Org)
		failed := make(chan error, 3)
		for _, delivered := range []bool{true, false} {
			go func() {
				_, err := w.RecordAttempt(t.Context(), d, 0, "no answer", delivered)
				failed <- err
			}()
		}
		go func() { failed <- w.DeleteAlert(t.Context(), a.ID) }()
		for range 3 {
			require.NoError(t, <-failed, "round %d", round)
		}
		require.Zero(t, w.count(t, "notification_attempts"))
	}
}

// An attempt that comes too late does not undo a delivery, and two at once have a number each.
func TestAttemptsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	w.grade(t, w.Org, "pdf", 3, 0)
	alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, nil)
	w.evaluate(t)
	d := w.delivery(t, w.Org)
	failed := make(chan error, models.MaxAttempts)
	for n := range models.MaxAttempts {
		go func() {
			_, err := w.RecordAttempt(t.Context(), d, 0, "no answer", n == 0)
			failed <- err
		}()
	}
	for range models.MaxAttempts {
		require.NoError(t, <-failed)
	}
	attempts, err := w.AttemptsOf(t.Context(), []ids.ID{d.ID})
	require.NoError(t, err)
	for i, a := range attempts[d.ID] {
		require.Equal(t, i+1, a.Number)
	}
	require.Len(t, attempts[d.ID], models.MaxAttempts)
	got, err := w.NotificationsByID(t.Context(), []ids.ID{d.ID})
	require.NoError(t, err)
	require.Equal(t, models.NotificationStateDelivered, got[d.ID].State)
}

// Two organizations with skills of the same names: each alert sees its own.
func TestAlertsSeeTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	other := w.org(t, "other")
	w.grade(t, w.Org, "pdf", 5, 0)
	w.grade(t, other, "pdf", 5, 1)
	mine := alert(t, w.Org, models.AlertTypePassRateBelow, 0.6, nil)
	theirs := alert(t, other, models.AlertTypePassRateBelow, 0.6, nil)
	require.Equal(t, 2, w.evaluate(t))
	require.Equal(t, models.AlertStateFiring, w.state(t, mine))
	require.Equal(t, models.AlertStateOk, w.state(t, theirs))
	require.Equal(t, 1, w.count(t, "incidents"))
	require.Zero(t, w.in(other).count(t, "incidents"))
	require.Zero(t, w.in(other).count(t, "notifications"))
	require.NotContains(t, happened(t, other), "incident.opened")

	id := w.skill(t, "pdf").ID
	_, err := other.CreateAlert(t.Context(), &models.Alert{SkillID: &id, Type: models.AlertTypeNoData, Channel: models.AlertChannelWebhook, Destination: models.JSON(`{}`), State: models.AlertStateOk})
	requireCode(t, errs.NotFound, err)
}

// watching is the part of the table of tenancy that is about telemetry and alerts: here the other organization has a
// skill that breaks an alert's condition, and acme knows all of their ids.
var watching = map[string]func(t *testing.T, o store.Org, f foreign){
	"AlertsByID":        func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.AlertsByID, f.alert) },
	"IncidentsByID":     func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.IncidentsByID, f.incident) },
	"NotificationsByID": func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.NotificationsByID, f.notification) },
	"AttemptsOf":        func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.AttemptsOf, f.notification) },
	"SkillsByID":        func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.SkillsByID, f.skill) },
	"RatesOf":           func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.RatesOf, f.skill) },
	"Alert": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.Alert(t.Context(), f.alert)
		requireCode(t, errs.NotFound, err)
	},
	"Skill": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.Skill(t.Context(), models.SkillKey{ID: &f.skill})
		requireCode(t, errs.NotFound, err)
		_, err = o.Skill(t.Context(), models.SkillKey{Name: "secret"})
		requireCode(t, errs.NotFound, err)
	},
	"CreateAlert": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.CreateAlert(t.Context(), &models.Alert{SkillID: &f.skill, Type: models.AlertTypeNoData})
		requireCode(t, errs.NotFound, err)
	},
	"UpdateAlert": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.UpdateAlert(t.Context(), f.alert, models.UpdateAlertInput{Enabled: set(new(false))}, models.Reach{})
		requireCode(t, errs.NotFound, err)
	},
	"DeleteAlert": func(t *testing.T, o store.Org, f foreign) {
		requireCode(t, errs.NotFound, o.DeleteAlert(t.Context(), f.alert))
	},
	"DryRun": func(t *testing.T, o store.Org, f foreign) {
		for _, skill := range []*ids.ID{nil, &f.skill} {
			days, err := o.DryRun(t.Context(), &models.Alert{SkillID: skill, Type: models.AlertTypePassRateBelow, Threshold: 1}, 90)
			require.NoError(t, err)
			require.Empty(t, days)
		}
	},
	"PendingDelivery": func(t *testing.T, o store.Org, f foreign) {
		d, err := o.PendingDelivery(t.Context(), f.notification)
		require.NoError(t, err)
		require.Nil(t, d)
	},
	"RecordAttempt": func(t *testing.T, o store.Org, f foreign) {
		d := &store.Delivery{Notification: models.Notification{ID: f.notification, AlertID: f.alert}}
		n, err := o.RecordAttempt(t.Context(), d, 200, "mine", true)
		require.NoError(t, err)
		require.Zero(t, n)
	},
	"Alerts": func(t *testing.T, o store.Org, _ foreign) {
		page, err := o.Alerts(t.Context(), models.AlertFilter{}, everything)
		requireEmptyPage(t, page, err)
	},
	"AlertsOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.AlertsOf(t.Context(), []ids.ID{f.skill}, models.AlertList{Window: everything})
		requireEmptyPage(t, pages[f.skill], err)
	},
	"IncidentsOfAlerts": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.IncidentsOfAlerts(t.Context(), []ids.ID{f.alert}, models.IncidentList{Window: everything})
		requireEmptyPage(t, pages[f.alert], err)
	},
	"IncidentsOfSkills": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.IncidentsOfSkills(t.Context(), []ids.ID{f.skill}, models.IncidentList{Window: everything})
		requireEmptyPage(t, pages[f.skill], err)
	},
	"NotificationsOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.NotificationsOf(t.Context(), []ids.ID{f.alert}, everything)
		requireEmptyPage(t, pages[f.alert], err)
	},
	"Skills": func(t *testing.T, o store.Org, _ foreign) {
		page, err := o.Skills(t.Context(), models.SkillFilter{}, models.SkillOrderLastSeen, everything)
		requireEmptyPage(t, page, err)
	},
	"DaysOf": func(t *testing.T, o store.Org, f foreign) {
		got, err := o.DaysOf(t.Context(), []ids.ID{f.skill}, models.DayRange{})
		require.NoError(t, err)
		require.Empty(t, got)
	},
	"BreakdownsOf": func(t *testing.T, o store.Org, f foreign) {
		got, err := o.BreakdownsOf(t.Context(), []ids.ID{f.skill}, models.DimensionPlatform)
		require.NoError(t, err)
		require.Empty(t, got)
	},
	"ConfusionsOf": func(t *testing.T, o store.Org, f foreign) {
		got, err := o.ConfusionsOf(t.Context(), []ids.ID{f.skill}, 10)
		require.NoError(t, err)
		require.Empty(t, got)
	},
	"Push": func(t *testing.T, o store.Org, f foreign) { // the same natural keys are other records here
		got, err := o.Push(t.Context(), &models.Push{ID: f.push, Canonical: secretSessions()})
		require.NoError(t, err)
		require.True(t, got.IsNew)
	},
	"EraseSession": func(t *testing.T, o store.Org, _ foreign) {
		got, err := o.EraseSession(t.Context(), "secret 0")
		require.NoError(t, err)
		require.Equal(t, &models.PushCounts{}, got)
	},
	"EraseUser": func(t *testing.T, o store.Org, f foreign) {
		_, _, err := o.EraseUser(t.Context(), f.user)
		requireCode(t, errs.NotFound, err)
	},
}

func init() { maps.Copy(tenancy, watching) }

func secretSessions() (c models.Canonical) {
	at := time.Now().Add(-time.Hour)
	for n := range 3 {
		id := fmt.Sprint("secret ", n)
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: "secret", OccurredAt: &at, Triggered: new(true)})
		c.Gradings = append(c.Gradings, models.GradingRecord{GradingID: id, SessionID: id, SkillName: "secret", GradedAt: &at, PassRate: new(0.0)})
	}
	return c
}

// watched adds telemetry and an alert with an incident to an organization's objects.
func (w world) watched(t *testing.T, org store.Org, f *foreign) {
	t.Helper()
	f.push = ids.New(ids.Push, time.Now())
	_, err := org.Push(t.Context(), &models.Push{ID: f.push, Canonical: secretSessions()})
	require.NoError(t, err)
	f.alert = alert(t, org, models.AlertTypePassRateBelow, 0.6, nil).ID
	_, err = w.EvaluateAlerts(context.Background(), interval)
	require.NoError(t, err)
	incidents, err := org.IncidentsOfAlerts(t.Context(), []ids.ID{f.alert}, models.IncidentList{Window: everything})
	require.NoError(t, err)
	f.incident, f.skill = incidents[f.alert].Nodes[0].ID, incidents[f.alert].Nodes[0].SkillID
	told, err := org.NotificationsOf(t.Context(), []ids.ID{f.alert}, everything)
	require.NoError(t, err)
	f.notification = told[f.alert].Nodes[0].ID
	d, err := org.PendingDelivery(t.Context(), f.notification)
	require.NoError(t, err)
	_, err = org.RecordAttempt(t.Context(), d, 500, "the endpoint answered 500", false)
	require.NoError(t, err)
}

// The same verbs find what is the organization's own.
func TestOwnAlerts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.objects(t, w.acme, w.owner)
	w.watched(t, w.acme, &f)
	o := w.acme
	requireOne(t, o.AlertsByID, f.alert)
	requireOne(t, o.IncidentsByID, f.incident)
	requireOne(t, o.NotificationsByID, f.notification)
	requireOne(t, o.AttemptsOf, f.notification)
	requireOne(t, o.SkillsByID, f.skill)
	days, err := o.DryRun(t.Context(), &models.Alert{Type: models.AlertTypePassRateBelow, Threshold: 1}, 90)
	require.NoError(t, err)
	require.NotEmpty(t, days)
}
