package store

import (
	"context"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// CreateAlert saves a checked alert. It is evaluated at the next opportunity.
func (o Org) CreateAlert(ctx context.Context, a *models.Alert) (*models.Alert, error) {
	now := o.now()
	a.OrgID, a.ID, a.DueAt = o.id, ids.New(ids.Alert, now), now
	a.CreatedByID, a.CreatedAt, a.UpdatedAt = o.by(), now, now
	return inTx(ctx, o, func(o Org) (*models.Alert, error) {
		if a.SkillID != nil {
			if _, err := o.Skill(ctx, models.SkillKey{ID: *a.SkillID}); err != nil {
				return nil, err
			}
		}
		if _, err := o.db.NewInsert().Model(a).Exec(ctx); err != nil {
			return nil, err
		}
		return a, o.event(ctx, "alert.created", a.ID, map[string]any{"type": a.Type.Wire(), "channel": a.Channel.Wire()})
	})
}

// Alert is one alert.
func (o Org) Alert(ctx context.Context, id ids.ID) (*models.Alert, error) {
	return o.alert(ctx, id, "")
}

func (o Org) alert(ctx context.Context, id ids.ID, lock string) (*models.Alert, error) {
	return queryOne[models.Alert](ctx, o.pg, ids.Alert, id, "SELECT "+columns[models.Alert]()+" FROM alerts t WHERE t.org_id = $1 AND t.id = $2"+lock, o.id, id)
}

// AlertsByID is the batch for every edge to an alert.
func (o Org) AlertsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.Alert, error) {
	return batch(ctx, o, alertID, "alerts t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

func alertID(a *models.Alert) ids.ID { return a.ID }

func alertListing(parent string, f models.AlertFilter) listing[models.Alert] {
	l := listing[models.Alert]{from: "alerts t", parent: parent, order: newest(alertID)}
	if state := f.State.Value(); state != nil {
		l.filter("t.state = ?", *state)
	}
	if kind := f.Type.Value(); kind != nil {
		l.filter("t.type = ?", *kind)
	}
	if id := f.SkillID.Value(); id != nil {
		l.filter("t.skill_id = ?", *id)
	}
	return l
}

// Alerts lists the organization's alerts, newest first.
func (o Org) Alerts(ctx context.Context, f models.AlertFilter, w models.Window) (*models.AlertConnection, error) {
	return page(ctx, o, alertListing("t.org_id", f), w)
}

// AlertsOf lists the alerts of skills, newest first.
func (o Org) AlertsOf(ctx context.Context, skills []ids.ID, in models.AlertList) (map[ids.ID]*models.AlertConnection, error) {
	return pages(ctx, o, alertListing("t.skill_id", in.Filter()), skills, in.Window)
}

// AlertsBy lists the alerts that members made, newest first.
func (o Org) AlertsBy(ctx context.Context, users []ids.ID, in models.AlertList) (map[ids.ID]*models.AlertConnection, error) {
	return pages(ctx, o, alertListing("t.created_by", in.Filter()), users, in.Window)
}

// UpdateAlert changes an alert. It is evaluated at the next opportunity.
func (o Org) UpdateAlert(ctx context.Context, id ids.ID, in models.UpdateAlertInput, reach models.Reach) (*models.Alert, error) {
	return inTx(ctx, o, func(o Org) (*models.Alert, error) {
		a, err := o.alert(ctx, id, " FOR UPDATE")
		if err != nil {
			return nil, err
		}
		was := a.State
		if err := in.Apply(a, reach); err != nil {
			return nil, err
		}
		a.UpdatedAt, a.DueAt = o.now(), o.now()
		if _, err := o.db.NewUpdate().Model(a).WherePK().Exec(ctx); err != nil {
			return nil, err
		}
		return a, o.event(ctx, "alert.updated", id, map[string]any{"from": was.Wire(), "to": a.State.Wire()})
	})
}

// DeleteAlert deletes an alert with its incidents and what it told.
func (o Org) DeleteAlert(ctx context.Context, id ids.ID) error {
	return o.tx(ctx, func(o Org) error {
		if _, err := o.alert(ctx, id, " FOR UPDATE"); err != nil {
			return err
		}
		if _, err := exec(ctx, o.pg, "DELETE FROM alerts WHERE org_id = $1 AND id = $2", o.id, id); err != nil {
			return err
		}
		return o.event(ctx, "alert.deleted", id, nil)
	})
}

// IncidentsByID is the batch for every edge to an incident.
func (o Org) IncidentsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.Incident, error) {
	return batch(ctx, o, incidentID, "incidents t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

func incidentID(i *models.Incident) ids.ID { return i.ID }

func incidentListing(parent string, f models.IncidentFilter) listing[models.Incident] {
	l := listing[models.Incident]{from: "incidents t", parent: parent, order: newest(incidentID)}
	if open := f.Open.Value(); open != nil {
		l.filter("(t.resolved_at IS NULL) = ?", *open)
	}
	if id := f.SkillID.Value(); id != nil {
		l.filter("t.skill_id = ?", *id)
	}
	return l
}

// Incidents lists the organization's incidents, newest first.
func (o Org) Incidents(ctx context.Context, f models.IncidentFilter, w models.Window) (*models.IncidentConnection, error) {
	return page(ctx, o, incidentListing("t.org_id", f), w)
}

// IncidentsOfAlerts lists the incidents of alerts, newest first.
func (o Org) IncidentsOfAlerts(ctx context.Context, alerts []ids.ID, in models.IncidentList) (map[ids.ID]*models.IncidentConnection, error) {
	return pages(ctx, o, incidentListing("t.alert_id", in.Filter()), alerts, in.Window)
}

// IncidentsOfSkills lists the incidents of skills, newest first.
func (o Org) IncidentsOfSkills(ctx context.Context, skills []ids.ID, in models.IncidentList) (map[ids.ID]*models.IncidentConnection, error) {
	return pages(ctx, o, incidentListing("t.skill_id", in.Filter()), skills, in.Window)
}

// NotificationsByID is the batch for nodes.
func (o Org) NotificationsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.Notification, error) {
	return batch(ctx, o, notificationID, "notifications t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

func notificationID(n *models.Notification) ids.ID { return n.ID }

// NotificationsOf lists what alerts have told, newest first.
func (o Org) NotificationsOf(ctx context.Context, alerts []ids.ID, w models.Window) (map[ids.ID]*models.NotificationConnection, error) {
	return pages(ctx, o, listing[models.Notification]{from: "notifications t", parent: "t.alert_id", order: newest(notificationID)}, alerts, w)
}

// NotificationsOfIncidents lists what was told of incidents, newest first.
func (o Org) NotificationsOfIncidents(ctx context.Context, incidents []ids.ID, w models.Window) (map[ids.ID]*models.NotificationConnection, error) {
	return pages(ctx, o, listing[models.Notification]{from: "notifications t", parent: "t.incident_id", order: newest(notificationID)}, incidents, w)
}

// AttemptsOf is the batch for the attempts at notifications, oldest first.
func (o Org) AttemptsOf(ctx context.Context, notifications []ids.ID) (map[ids.ID][]*models.NotificationAttempt, error) {
	rows, err := query[models.NotificationAttempt](ctx, o.pg, "SELECT "+columns[models.NotificationAttempt]()+` FROM notification_attempts t
		WHERE t.org_id = $1 AND t.notification_id = ANY($2) ORDER BY t.notification_id, t.number`, o.id, notifications)
	return group(rows, func(a *models.NotificationAttempt) ids.ID { return a.NotificationID }), err
}
