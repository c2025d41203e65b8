package jobs_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/alerting"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// deliver runs one job once.
func (w *world) deliver(t *testing.T, job store.DeliverJob) (attempt int, delivered bool) {
	t.Helper()
	attempt, delivered, err := w.alerts.Deliver(t.Context(), w.Store, job)
	require.NoError(t, err)
	return attempt, delivered
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	w.grade(t, w.org, 0.25, "pdf")
	a := w.alert(t, w.org, r.URL+"/hook")
	w.evaluate(t)
	job := w.pending(t)[0]
	attempt, delivered := w.deliver(t, job)
	require.Equal(t, 1, attempt)
	require.True(t, delivered)

	got := r.messages()
	require.Len(t, got, 1)
	m := got[0]
	require.NoError(t, alerting.Verify(secret, m.Signature, m.Raw, time.Now(), time.Minute))
	require.Error(t, alerting.Verify("another", m.Signature, m.Raw, time.Now(), time.Minute))
	require.Equal(t, job.NotificationID.String(), m.Delivery)
	n, attempts := w.notification(t, job)
	require.Equal(t, "pass_rate_below", m.Body.Type)
	require.Equal(t, "pdf", m.Body.Skill)
	require.InDelta(t, 0.6, m.Body.Threshold, 0)
	require.InDelta(t, 0.25, *m.Body.CurrentPassRate, 1e-9)
	require.Nil(t, m.Body.DaysWithoutData)
	require.Equal(t, a.ID.String(), m.Body.AlertID)
	require.Equal(t, n.IncidentID.String(), m.Body.IncidentID)
	require.Equal(t, "firing", m.Body.State)
	require.Equal(t, n.CreatedAt.Format("2006-01-02T15:04:05.000Z"), m.Body.TriggeredAt)

	require.Equal(t, models.NotificationStateDelivered, n.State)
	require.NotNil(t, n.DeliveredAt)
	require.Len(t, attempts, 1)
	require.Equal(t, http.StatusOK, attempts[0].Status)
	require.Equal(t, "the endpoint answered 200", attempts[0].Message)

	attempt, _ = w.deliver(t, job)
	require.Zero(t, attempt, "once is enough")
	require.Len(t, r.messages(), 1)

	// The end of it tells of the beginning.
	w.grade(t, w.org, 1, "pdf")
	w.evaluate(t)
	over := w.pending(t)[0]
	_, delivered = w.deliver(t, over)
	require.True(t, delivered)
	last := r.messages()[1]
	require.Equal(t, "resolved", last.Body.State)
	require.Equal(t, m.Body.IncidentID, last.Body.IncidentID)
	require.Equal(t, m.Body.TriggeredAt, last.Body.TriggeredAt)
	require.NotEqual(t, m.Delivery, last.Delivery)
	require.InDelta(t, 1, *last.Body.CurrentPassRate, 1e-9)
}

// A receiver that fails is tried eight times; its words are kept to itself.
func TestDeliverInVain(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	r.status.Store(http.StatusInternalServerError)
	w.grade(t, w.org, 0, "pdf")
	a := w.alert(t, w.org, r.URL)
	w.evaluate(t)
	job := w.pending(t)[0]
	for want := 1; want <= models.MaxAttempts; want++ {
		n, _ := w.notification(t, job)
		require.Equal(t, models.NotificationStatePending, n.State)
		attempt, delivered := w.deliver(t, job)
		require.Equal(t, want, attempt)
		require.False(t, delivered)
	}
	n, attempts := w.notification(t, job)
	require.Equal(t, models.NotificationStateGivenUp, n.State)
	require.Nil(t, n.DeliveredAt)
	require.Len(t, attempts, models.MaxAttempts)
	for i, at := range attempts {
		require.Equal(t, i+1, at.Number)
		require.Equal(t, http.StatusInternalServerError, at.Status)
		require.Equal(t, "the endpoint answered 500", at.Message)
	}
	attempt, _ := w.deliver(t, job)
	require.Zero(t, attempt, "given up is given up")
	got := r.messages()
	require.Len(t, got, models.MaxAttempts)
	for _, m := range got {
		require.Equal(t, job.NotificationID.String(), m.Delivery, "the same id at every attempt")
	}
	require.Equal(t, 1, w.state(t, a).FailedIncidents)
	require.Equal(t, models.AlertStateFiring, w.state(t, a).State)

	r.Close() // nobody listens any more
	w.pass(24 * time.Hour)
	w.evaluate(t)
	job = w.pending(t)[0]
	w.deliver(t, job)
	_, attempts = w.notification(t, job)
	require.Zero(t, attempts[0].Status)
	require.Equal(t, "no connection: it was refused", attempts[0].Message)
}

// fail gives an incident of every named skill up.
func (w *world) fail(t *testing.T, skills ...string) {
	t.Helper()
	w.grade(t, w.org, 0, skills...)
	w.evaluate(t)
	for _, job := range w.pending(t) {
		for range models.MaxAttempts {
			w.deliver(t, job)
		}
	}
}

func TestAlertIsDisabled(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	a := w.alert(t, w.org, r.URL)
	r.status.Store(http.StatusServiceUnavailable)
	w.fail(t, "a", "b", "c", "d")
	require.Equal(t, 4, w.state(t, a).FailedIncidents)

	// One that arrives makes good for all before it.
	r.status.Store(http.StatusNoContent)
	w.grade(t, w.org, 0, "e")
	w.evaluate(t)
	_, delivered := w.deliver(t, w.pending(t)[0])
	require.True(t, delivered)
	require.Zero(t, w.state(t, a).FailedIncidents)

	r.status.Store(http.StatusServiceUnavailable)
	w.fail(t, "f", "g", "h", "i")
	require.Equal(t, models.AlertStateFiring, w.state(t, a).State)
	w.fail(t, "j")
	got := w.state(t, a)
	require.Equal(t, models.AlertStateDisabled, got.State)
	require.Equal(t, "The last 5 incidents could not be told: the endpoint answered 503", *got.DisabledReason)
	events, err := w.org.Events(t.Context(), models.EventFilter{}, models.Window{Limit: 1})
	require.NoError(t, err)
	last := events.Nodes[0]
	require.Equal(t, "alert.state_changed", last.Kind)
	require.Equal(t, a.ID, last.ObjectID)
	require.JSONEq(t, `{"from": "firing", "to": "disabled", "reason": "The last 5 incidents could not be told: the endpoint answered 503"}`, string(last.Data))

	w.grade(t, w.org, 0, "k")
	w.evaluate(t)
	require.Empty(t, w.pending(t), "an alert that is off is silent")

	// Switched on again, it starts anew.
	_, err = w.org.UpdateAlert(t.Context(), a.ID, models.UpdateAlertInput{Enabled: omittable(true)}, w.alerts.Reach())
	require.NoError(t, err)
	got = w.state(t, a)
	require.Zero(t, got.FailedIncidents)
	require.Nil(t, got.DisabledReason)
	w.fail(t, "l", "m")
	got = w.state(t, a)
	require.Equal(t, 3, got.FailedIncidents, "k, l and m")
	require.Equal(t, models.AlertStateFiring, got.State)
}

// Reminders and good news that do not arrive are no incidents.
func TestOnlyIncidentsCount(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	a := w.alert(t, w.org, r.URL)
	r.status.Store(http.StatusBadGateway)
	w.fail(t, "a")
	for range 6 {
		w.pass(24 * time.Hour)
		w.fail(t, "a")
	}
	require.Equal(t, 1, w.state(t, a).FailedIncidents)
	require.Equal(t, 6, w.count(t, "SELECT count(*) FROM notifications WHERE kind = 'REMINDER' AND state = 'GIVEN_UP'"))
}

// A server that dies between sending and writing it down sends again, under the same id; the log has one outcome.
func TestDeliverAgainAfterACrash(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	w.grade(t, w.org, 0, "pdf")
	w.alert(t, w.org, r.URL)
	w.evaluate(t)
	job := w.pending(t)[0]

	// The context ends while the receiver has the message: sent, and not written down.
	ctx, cancel := context.WithCancel(t.Context())
	r.hold = func(message) { cancel() }
	_, _, err := w.alerts.Deliver(ctx, w.Store, job)
	require.Error(t, err)
	require.Eventually(t, func() bool { return len(r.messages()) == 1 }, limit, poll)
	n, attempts := w.notification(t, job)
	require.Equal(t, models.NotificationStatePending, n.State)
	require.Empty(t, attempts)

	_, delivered := w.deliver(t, job)
	require.True(t, delivered)
	got := r.messages()
	require.Len(t, got, 2)
	require.Equal(t, got[0].Delivery, got[1].Delivery)
	require.Equal(t, got[0].Raw, got[1].Raw)
	n, attempts = w.notification(t, job)
	require.Equal(t, models.NotificationStateDelivered, n.State)
	require.Len(t, attempts, 1)
}

func TestDeliverAfterDeletion(t *testing.T) {
	t.Parallel()
	w, r := newWorld(t), newReceiver(t)
	w.grade(t, w.org, 0, "pdf")
	a := w.alert(t, w.org, r.URL)
	w.evaluate(t)
	job := w.pending(t)[0]
	r.hold = func(message) { _ = w.org.DeleteAlert(context.WithoutCancel(t.Context()), a.ID) } // while it is being told
	attempt, delivered := w.deliver(t, job)
	require.Zero(t, attempt)
	require.True(t, delivered)
	attempt, delivered = w.deliver(t, job)
	require.Zero(t, attempt)
	require.False(t, delivered)
	require.Len(t, r.messages(), 1)
	_, _, err := w.alerts.Deliver(t.Context(), w.Store, store.DeliverJob{OrgID: w.org.ID(), NotificationID: ids.New(ids.Notification, time.Now())})
	require.NoError(t, err)
}
