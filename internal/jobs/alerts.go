package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"skillgraph/internal/alerting"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// Alerts tells people.
type Alerts struct {
	Sender  *alerting.Sender
	Check   func(url string) error // refuses URLs that may not be called
	BaseURL string                 // for links
	Now     func() time.Time
}

// Reach is what destinations are checked with.
func (a *Alerts) Reach() models.Reach {
	return models.Reach{CheckURL: a.Check, CanMail: a.Sender.CanMail()}
}

// Test sends a test message.
func (a *Alerts) Test(ctx context.Context, alert *models.Alert) models.TestAlertPayload {
	r := a.Sender.Send(ctx, target(alert), alerting.Notice{
		DeliveryID: ids.New(ids.Notification, a.Now()).String(), AlertID: alert.ID.String(), Type: alert.Type.Wire(),
		Skill: "example-skill", Threshold: alert.Threshold, State: "test", TriggeredAt: a.Now(), Link: a.BaseURL,
	})
	return models.TestAlertPayload{Delivered: r.Delivered, Status: r.Status, Message: r.Message}
}

// Deliver sends a notification, unless that is done, and writes down what became of it. Attempt 0 is none: there is
// nothing to send, or nothing left to write it down in.
func (a *Alerts) Deliver(ctx context.Context, s *store.Store, job store.DeliverJob) (attempt int, delivered bool, err error) {
	org := s.Org(job.OrgID, ids.ID{})
	d, err := org.PendingDelivery(ctx, job.NotificationID)
	if err != nil || d == nil {
		return 0, false, err
	}
	r := a.Sender.Send(ctx, target(d.Alert), a.notice(d))
	attempt, err = org.RecordAttempt(ctx, d, r.Status, r.Message, r.Delivered)
	return attempt, r.Delivered, err
}

func (a *Alerts) notice(d *store.Delivery) alerting.Notice {
	n := alerting.Notice{
		DeliveryID: d.ID.String(), AlertID: d.AlertID.String(), IncidentID: d.IncidentID.String(),
		Type: d.Alert.Type.Wire(), Skill: d.Skill.Name, Threshold: d.Alert.Threshold, State: "firing",
		Reminder: d.Kind == models.NotificationKindReminder, TriggeredAt: d.Incident.OpenedAt, Link: a.BaseURL,
	}
	if d.Kind == models.NotificationKindResolved {
		n.State = "resolved"
	}
	if d.Alert.Type == models.AlertTypeNoData {
		n.DaysWithoutData = &d.Value
	} else {
		n.CurrentPassRate = &d.Value
	}
	return n
}

func target(a *models.Alert) alerting.Target {
	t := alerting.Target{Channel: a.Channel.Wire()}
	if a.Channel == models.AlertChannelEmail {
		t.Email = a.Address()
	} else {
		t.URL = a.Address()
	}
	if a.Secret != nil {
		t.Secret = *a.Secret
	}
	return t
}

type evaluateJob struct{}

// Kind names the job in the queue.
func (evaluateJob) Kind() string { return "evaluate_alerts" }

type evaluateWorker struct {
	river.WorkerDefaults[evaluateJob]
	store    *store.Store
	interval time.Duration
}

// Work evaluates what is due.
func (w *evaluateWorker) Work(ctx context.Context, _ *river.Job[evaluateJob]) error {
	_, err := w.store.EvaluateAlerts(ctx, w.interval)
	return err
}

// perOrganization is how many of an organization's notifications are under way at once on one server: slow receivers of one
// organization do not hold up another's.
const perOrganization = 5

type deliverWorker struct {
	river.WorkerDefaults[store.DeliverJob]
	store  *store.Store
	alerts *Alerts

	mu   sync.Mutex
	busy map[string]int
}

// Work sends one notification.
func (w *deliverWorker) Work(ctx context.Context, job *river.Job[store.DeliverJob]) error {
	org := job.Args.OrgID.String()
	if !w.enter(org) {
		return river.JobSnooze(time.Second)
	}
	defer w.leave(org)
	attempt, delivered, err := w.alerts.Deliver(ctx, w.store, job.Args)
	switch {
	case err != nil:
		return err
	case delivered || attempt == 0 || attempt >= models.MaxAttempts:
		return nil
	}
	return river.JobSnooze(models.RetryAfter(attempt))
}

func (w *deliverWorker) enter(org string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[org] >= perOrganization {
		return false
	}
	w.busy[org]++
	return true
}

func (w *deliverWorker) leave(org string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[org]--; w.busy[org] == 0 {
		delete(w.busy, org)
	}
}

type pruneJob struct{}

// Kind names the job in the queue.
func (pruneJob) Kind() string { return "prune" }

type pruneWorker struct {
	river.WorkerDefaults[pruneJob]
	store *store.Store
}

// Timeout is longer than that of other jobs: the first run after the retention was shortened may have much to do.
func (*pruneWorker) Timeout(*river.Job[pruneJob]) time.Duration { return 4 * time.Minute }

// Work deletes what is too old.
func (w *pruneWorker) Work(ctx context.Context, _ *river.Job[pruneJob]) error {
	if err := w.store.PruneDeliveries(ctx); err != nil {
		return err
	}
	sessions, events, err := w.store.Prune(ctx)
	if sessions+events > 0 {
		slog.InfoContext(ctx, "deleted what is too old", "sessions", sessions, "events", events)
	}
	return err
}
