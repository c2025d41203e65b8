package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Alerts is what alerts need of the world outside.
type Alerts interface {
	Reach() models.Reach
	// Test sends a test message and says what became of it.
	Test(ctx context.Context, a *models.Alert) models.TestAlertPayload
}

func (query) Alert(ctx context.Context, id ids.ID) (*models.Alert, error) {
	return org(ctx).Alert(ctx, id)
}

func (query) Alerts(ctx context.Context, first *int, after *string, page, perPage *int, filter *models.AlertFilter) (*models.AlertConnection, error) {
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).Alerts(ctx, or(filter, models.AlertFilter{}), w)
}

func (query) Incidents(ctx context.Context, first *int, after *string, page, perPage *int, filter *models.IncidentFilter) (*models.IncidentConnection, error) {
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).Incidents(ctx, or(filter, models.IncidentFilter{}), w)
}

func (query) AlertDryRun(ctx context.Context, in models.DryRunInput) ([]*models.DryRunDay, error) {
	limit, err := in.Type.Limit(in.Threshold.Value())
	if err != nil {
		return nil, err
	}
	if in.Days < 1 || in.Days > 90 {
		return nil, errs.At("days").Because("must be between 1 and 90")
	}
	if id := in.SkillID.Value(); id != nil {
		if _, err := org(ctx).Skill(ctx, models.SkillKey{ID: *id}); err != nil {
			return nil, err
		}
	}
	return org(ctx).DryRun(ctx, &models.Alert{SkillID: in.SkillID.Value(), Type: in.Type, Threshold: limit}, in.Days)
}

func (r mutation) CreateAlert(ctx context.Context, in models.CreateAlertInput) (*models.CreateAlertPayload, error) {
	a, err := in.Alert(r.Alerts.Reach())
	if err != nil {
		return nil, err
	}
	if a.Channel == models.AlertChannelWebhook {
		secret := models.NewSecret()
		a.Secret, a.SigningSecret = &secret, &secret
	}
	if a, err = org(ctx).CreateAlert(ctx, a); err != nil {
		return nil, err
	}
	return &models.CreateAlertPayload{Alert: a}, nil
}

func (r mutation) UpdateAlert(ctx context.Context, id ids.ID, in models.UpdateAlertInput) (*models.UpdateAlertPayload, error) {
	a, err := org(ctx).UpdateAlert(ctx, id, in, r.Alerts.Reach())
	if err != nil {
		return nil, err
	}
	return &models.UpdateAlertPayload{Alert: a}, nil
}

func (mutation) DeleteAlert(ctx context.Context, id ids.ID) (*models.DeleteAlertPayload, error) {
	return &models.DeleteAlertPayload{DeletedID: id}, org(ctx).DeleteAlert(ctx, id)
}

func (r mutation) TestAlert(ctx context.Context, id ids.ID) (*models.TestAlertPayload, error) {
	a, err := org(ctx).Alert(ctx, id)
	if err != nil {
		return nil, err
	}
	out := r.Alerts.Test(ctx, a)
	return &out, nil
}

func (alertType) Skill(ctx context.Context, a *models.Alert) (*models.Skill, error) {
	return loader.One(ctx, loader.AlertSkill, a)
}

func (alertType) Incidents(ctx context.Context, a *models.Alert, first *int, after *string, page, perPage *int, filter *models.IncidentFilter) (*models.IncidentConnection, error) {
	return loader.List(ctx, loader.AlertIncidents, a, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (alertType) Notifications(ctx context.Context, a *models.Alert, first *int, after *string, page, perPage *int) (*models.NotificationConnection, error) {
	return loader.Page(ctx, loader.AlertNotifications, a, pageArgs(first, after, page, perPage))
}

func (alertType) CreatedBy(ctx context.Context, a *models.Alert) (*models.User, error) {
	return loader.One(ctx, loader.AlertAuthor, a)
}

func (dryRunDay) Skill(ctx context.Context, d *models.DryRunDay) (*models.Skill, error) {
	return loader.One(ctx, loader.DryRunSkill, d)
}

func (incident) Alert(ctx context.Context, i *models.Incident) (*models.Alert, error) {
	return loader.One(ctx, loader.IncidentAlert, i)
}

func (incident) Skill(ctx context.Context, i *models.Incident) (*models.Skill, error) {
	return loader.One(ctx, loader.IncidentSkill, i)
}

func (notification) Incident(ctx context.Context, n *models.Notification) (*models.Incident, error) {
	return loader.One(ctx, loader.NoticeIncident, n)
}

func (notification) Attempts(ctx context.Context, n *models.Notification) ([]*models.NotificationAttempt, error) {
	return loader.One(ctx, loader.NoticeAttempts, n)
}

func (skill) Alerts(ctx context.Context, s *models.Skill, first *int, after *string, page, perPage *int, filter *models.AlertFilter) (*models.AlertConnection, error) {
	return loader.List(ctx, loader.SkillAlerts, s, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (skill) Incidents(ctx context.Context, s *models.Skill, first *int, after *string, page, perPage *int, filter *models.IncidentFilter) (*models.IncidentConnection, error) {
	return loader.List(ctx, loader.SkillIncidents, s, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (incident) Notifications(ctx context.Context, i *models.Incident, first *int, after *string, page, perPage *int) (*models.NotificationConnection, error) {
	return loader.Page(ctx, loader.IncidentNotices, i, pageArgs(first, after, page, perPage))
}

func (notification) Alert(ctx context.Context, n *models.Notification) (*models.Alert, error) {
	return loader.One(ctx, loader.NoticeAlert, n)
}

func (registryEntry) Incidents(ctx context.Context, e *models.RegistryEntry, first *int, after *string, page, perPage *int, filter *models.IncidentFilter) (*models.IncidentConnection, error) {
	return loader.List(ctx, loader.EntryIncidents, e, pageArgs(first, after, page, perPage), filter, noOrder)
}
