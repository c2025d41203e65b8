package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// DeliverJob sends a notification.
type DeliverJob struct {
	OrgID          ids.ID `json:"org_id"`
	NotificationID ids.ID `json:"notification_id"`
}

// Kind names the job in the queue.
func (DeliverJob) Kind() string { return "deliver_notification" }

// evaluateBatch is how many alerts one transaction evaluates.
const evaluateBatch = 200

// EvaluateAlerts evaluates the alerts that are due, and says how many there were; the next time is an interval later.
// Everything that follows from an alert is committed with it: incidents, states, events, what is to be told, and the jobs that tell it.
func (s *Store) EvaluateAlerts(ctx context.Context, interval time.Duration) (int, error) {
	total := 0
	for {
		n := 0
		err := s.tx(ctx, func(db bun.IDB, pg querier) (err error) {
			n, err = s.evaluateSome(ctx, db, pg, interval)
			return err
		})
		if err != nil {
			return total, err
		}
		if total += n; n < evaluateBatch {
			return total, nil
		}
	}
}

func (s *Store) evaluateSome(ctx context.Context, db bun.IDB, pg querier, interval time.Duration) (int, error) {
	now := s.now()
	// Another server that evaluates at the same time skips what this one holds.
	due, err := query[models.Alert](ctx, pg, `WITH d AS (
			SELECT org_id, id FROM alerts WHERE due_at <= $1 AND state <> 'DISABLED' ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED
		) UPDATE alerts t SET due_at = $2 FROM d WHERE t.org_id = d.org_id AND t.id = d.id RETURNING `+columns[models.Alert](), now, now.Add(interval), evaluateBatch)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	orgs, alerts := column(due, func(a *models.Alert) ids.ID { return a.OrgID }), column(due, alertID)
	watched, err := query[models.Watched](ctx, pg, `SELECT a.id AS alert_id, a.org_id, s.id AS skill_id, s.pass_rate, s.recent_graded, s.last_seen_at
		FROM unnest($1::uuid[], $2::uuid[]) AS k(org_id, id) JOIN alerts a ON a.org_id = k.org_id AND a.id = k.id
		JOIN skills s ON s.org_id = a.org_id AND (a.skill_id IS NULL OR s.id = a.skill_id) ORDER BY s.id`, orgs, alerts)
	if err != nil {
		return 0, err
	}
	open, err := query[models.Incident](ctx, pg, "SELECT "+columns[models.Incident]()+` FROM incidents t JOIN unnest($1::uuid[], $2::uuid[]) AS k(org_id, id)
		ON t.org_id = k.org_id AND t.alert_id = k.id WHERE t.resolved_at IS NULL`, orgs, alerts)
	if err != nil {
		return 0, err
	}
	skills := group(watched, func(w *models.Watched) ids.ID { return w.AlertID })
	lasting := group(open, func(i *models.Incident) ids.ID { return i.AlertID })
	for _, a := range due {
		o := Org{store: s, id: a.OrgID, db: db, pg: pg}
		steps, state := a.Evaluate(skills[a.ID], lasting[a.ID], now)
		for _, step := range steps {
			if err := o.take(ctx, step, now); err != nil {
				return 0, err
			}
		}
		if err := o.setAlertState(ctx, a, state, nil); err != nil {
			return 0, err
		}
	}
	return len(due), nil
}

// take does what the evaluation decided about one skill, and writes down who is to be told.
func (o Org) take(ctx context.Context, s models.Step, now time.Time) error {
	incident := s.Incident
	var err error
	switch s.Kind {
	case models.NotificationKindOpened:
		incident = &models.Incident{OrgID: o.id, ID: ids.New(ids.Incident, now), AlertID: s.Alert.ID, SkillID: s.SkillID, Value: s.Value, OpenedAt: now, RemindedAt: now}
		_, err = o.db.NewInsert().Model(incident).Exec(ctx)
	case models.NotificationKindReminder:
		_, err = exec(ctx, o.pg, "UPDATE incidents SET reminded_at = $3 WHERE org_id = $1 AND id = $2", o.id, incident.ID, now)
	case models.NotificationKindResolved:
		_, err = exec(ctx, o.pg, "UPDATE incidents SET resolved_at = $3 WHERE org_id = $1 AND id = $2", o.id, incident.ID, now)
	}
	if err != nil {
		return err
	}
	n := &models.Notification{
		OrgID: o.id, ID: ids.New(ids.Notification, now), AlertID: s.Alert.ID, IncidentID: incident.ID,
		Kind: s.Kind, Value: s.Value, State: models.NotificationStatePending, CreatedAt: now,
	}
	if _, err := o.db.NewInsert().Model(n).Exec(ctx); err != nil {
		return err
	}
	if err := o.enqueue(ctx, DeliverJob{o.id, n.ID}); err != nil {
		return err
	}
	return o.event(ctx, "incident."+s.Kind.Wire(), incident.ID, map[string]any{"alert_id": s.Alert.ID, "skill_id": s.SkillID, "value": s.Value})
}

func (o Org) setAlertState(ctx context.Context, a *models.Alert, state models.AlertState, reason *string) error {
	if a.State == state {
		return nil
	}
	if _, err := exec(ctx, o.pg, "UPDATE alerts SET state = $3, disabled_reason = $4 WHERE org_id = $1 AND id = $2", o.id, a.ID, state, reason); err != nil {
		return err
	}
	data := map[string]any{"from": a.State.Wire(), "to": state.Wire()}
	if reason != nil {
		data["reason"] = *reason
	}
	return o.event(ctx, "alert.state_changed", a.ID, data)
}

// Delivery is a notification with everything that telling it takes.
type Delivery struct {
	models.Notification
	Alert    *models.Alert
	Incident *models.Incident
	Skill    *models.Skill
}

// PendingDelivery is what a job has to send, or nil when that is done or the alert is gone.
func (o Org) PendingDelivery(ctx context.Context, id ids.ID) (*Delivery, error) {
	found, err := o.NotificationsByID(ctx, []ids.ID{id})
	if err != nil || found[id] == nil || found[id].State != models.NotificationStatePending {
		return nil, err
	}
	d := &Delivery{Notification: *found[id]}
	alerts, err := o.AlertsByID(ctx, []ids.ID{d.AlertID})
	if err != nil {
		return nil, err
	}
	incidents, err := o.IncidentsByID(ctx, []ids.ID{d.IncidentID})
	if err != nil {
		return nil, err
	}
	d.Alert, d.Incident = alerts[d.AlertID], incidents[d.IncidentID]
	if d.Alert == nil || d.Incident == nil { // it was deleted between two statements
		return nil, nil
	}
	d.Skill, err = o.Skill(ctx, models.SkillKey{ID: d.Incident.SkillID})
	return d, err
}

// RecordAttempt writes down what became of an attempt, and returns its number; 0 when the alert is gone, and the log with it.
// A notification that is delivered or given up is not tried again; an alert whose endpoint failed too many incidents in a
// row is switched off.
func (o Org) RecordAttempt(ctx context.Context, d *Delivery, status int, message string, delivered bool) (int, error) {
	return inTx(ctx, o, func(o Org) (int, error) {
		// The alert first, as its deletion does; attempts wait for each other, and so have numbers of their own.
		a, err := o.alert(ctx, d.AlertID, " FOR UPDATE")
		if errs.CodeOf(err) == errs.NotFound {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		now := o.now()
		type row struct {
			Number int `bun:"number"`
		}
		made, err := query[row](ctx, o.pg, `INSERT INTO notification_attempts (org_id, notification_id, number, status, message, at)
			SELECT $1, $2, 1 + coalesce(max(number), 0), $3, $4, $5 FROM notification_attempts WHERE org_id = $1 AND notification_id = $2 RETURNING number`,
			o.id, d.ID, status, message, now)
		if err != nil {
			return 0, err
		}
		number := made[0].Number
		switch {
		case delivered:
			err = o.settle(ctx, d, now)
		case number >= models.MaxAttempts:
			err = o.giveUp(ctx, d, a, message)
		}
		return number, err
	})
}

// settle is for a notification that has arrived.
func (o Org) settle(ctx context.Context, d *Delivery, now time.Time) error {
	if _, err := exec(ctx, o.pg, "UPDATE notifications SET state = 'DELIVERED', delivered_at = coalesce(delivered_at, $3) WHERE org_id = $1 AND id = $2", o.id, d.ID, now); err != nil {
		return err
	}
	_, err := exec(ctx, o.pg, "UPDATE alerts SET failed_incidents = 0 WHERE org_id = $1 AND id = $2 AND failed_incidents > 0", o.id, d.AlertID)
	return err
}

// giveUp is for one that will not, unless another attempt has brought it there.
func (o Org) giveUp(ctx context.Context, d *Delivery, a *models.Alert, message string) error {
	given, err := exec(ctx, o.pg, "UPDATE notifications SET state = 'GIVEN_UP' WHERE org_id = $1 AND id = $2 AND state = 'PENDING'", o.id, d.ID)
	if err != nil || given == 0 || d.Kind != models.NotificationKindOpened {
		return err
	}
	a.FailedIncidents++
	if _, err := exec(ctx, o.pg, "UPDATE alerts SET failed_incidents = $3 WHERE org_id = $1 AND id = $2", o.id, a.ID, a.FailedIncidents); err != nil {
		return err
	}
	if a.FailedIncidents < models.FailuresToDisable {
		return nil
	}
	reason := "The last 5 incidents could not be told: " + message
	return o.setAlertState(ctx, a, models.AlertStateDisabled, &reason)
}
