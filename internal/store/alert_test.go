package store_test

import (
	"fmt"
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
