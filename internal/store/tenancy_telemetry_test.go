package store_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// theirSession has the same natural keys in every organization.
const theirSession = "session-1"

// watch gives an organization a skill that fails, an alert that tells of it, and an attempt to tell.
func (w world) watch(t *testing.T, org store.Org, f *foreign) {
	t.Helper()
	ctx, now := t.Context(), time.Now().Add(-time.Hour)
	p := &models.Push{ID: ids.New(ids.Push, now)}
	for _, s := range []string{theirSession, "session-2", "session-3"} {
		p.Sessions = append(p.Sessions, models.SessionRecord{SessionID: s})
		p.Invocations = append(p.Invocations,
			models.InvocationRecord{InvocationID: s + "-1", SessionID: s, OccurredAt: &now, SkillName: "secret", Triggered: new(false)},
			models.InvocationRecord{InvocationID: s + "-2", SessionID: s, OccurredAt: &now, SkillName: "rival", Triggered: new(true)})
		p.Gradings = append(p.Gradings, models.GradingRecord{GradingID: s, SessionID: s, SkillName: "secret", GradedAt: &now, PassRate: new(0.1)})
	}
	_, err := org.Push(ctx, p)
	require.NoError(t, err)
	skill, err := org.Skill(ctx, models.SkillKey{Name: "secret"})
	require.NoError(t, err)
	a, err := org.CreateAlert(ctx, &models.Alert{
		SkillID: &skill.ID, Type: models.AlertTypePassRateBelow, Threshold: .5, Channel: models.AlertChannelWebhook,
		Destination: models.JSON(`{"webhook_url": "https://example.invalid/"}`), State: models.AlertStateOk,
	})
	require.NoError(t, err)
	_, err = w.EvaluateAlerts(ctx, time.Hour)
	require.NoError(t, err)
	told, err := org.NotificationsOf(ctx, []ids.ID{a.ID}, everything)
	require.NoError(t, err)
	n := told[a.ID].Nodes[0]
	d, err := org.PendingDelivery(ctx, n.ID)
	require.NoError(t, err)
	_, err = org.RecordAttempt(ctx, d, 500, "the endpoint answered 500", false)
	require.NoError(t, err)
	f.skill, f.alert, f.incident, f.notification = skill.ID, a.ID, n.IncidentID, n.ID
}

func init() {
	maps.Copy(tenancy, map[string]func(t *testing.T, o store.Org, f foreign){
		"SkillsByID":        func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.SkillsByID, f.skill) },
		"RatesOf":           func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.RatesOf, f.skill) },
		"AlertsByID":        func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.AlertsByID, f.alert) },
		"IncidentsByID":     func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.IncidentsByID, f.incident) },
		"NotificationsByID": func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.NotificationsByID, f.notification) },
		"AttemptsOf":        func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.AttemptsOf, f.notification) },

		"Skill": func(t *testing.T, o store.Org, f foreign) {
			_, err := o.Skill(t.Context(), models.SkillKey{ID: &f.skill})
			requireCode(t, errs.NotFound, err)
			_, err = o.Skill(t.Context(), models.SkillKey{Name: "secret"})
			requireCode(t, errs.NotFound, err)
		},
		"Skills": func(t *testing.T, o store.Org, _ foreign) {
			page, err := o.Skills(t.Context(), models.SkillFilter{}, models.SkillOrderLastSeen, everything)
			requireEmptyPage(t, page, err)
		},
		"DaysOf": func(t *testing.T, o store.Org, f foreign) {
			found, err := o.DaysOf(t.Context(), []ids.ID{f.skill}, models.DayRange{})
			require.NoError(t, err)
			require.Empty(t, found)
		},
		"BreakdownsOf": func(t *testing.T, o store.Org, f foreign) {
			found, err := o.BreakdownsOf(t.Context(), []ids.ID{f.skill}, models.DimensionPlatform)
			require.NoError(t, err)
			require.Empty(t, found)
		},
		"ConfusionsOf": func(t *testing.T, o store.Org, f foreign) {
			found, err := o.ConfusionsOf(t.Context(), []ids.ID{f.skill}, 10)
			require.NoError(t, err)
			require.Empty(t, found)
		},
		"Push": func(t *testing.T, o store.Org, _ foreign) { // the same natural keys are other records here
			_, err := o.Push(t.Context(), &models.Push{ID: ids.New(ids.Push, time.Now()), Canonical: models.Canonical{
				Sessions:    []models.SessionRecord{{SessionID: theirSession, Platform: new("mine")}},
				Invocations: []models.InvocationRecord{{InvocationID: theirSession + "-1", SessionID: theirSession, OccurredAt: new(time.Now()), SkillName: "secret", Triggered: new(true)}},
			}})
			require.NoError(t, err)
		},
		"EraseSession": func(t *testing.T, o store.Org, _ foreign) {
			erased, err := o.EraseSession(t.Context(), theirSession)
			require.NoError(t, err)
			require.Zero(t, erased.Sessions)
		},
		"EraseUser": func(t *testing.T, o store.Org, f foreign) {
			_, _, err := o.EraseUser(t.Context(), f.user)
			requireCode(t, errs.NotFound, err)
		},

		"Alert": func(t *testing.T, o store.Org, f foreign) {
			_, err := o.Alert(t.Context(), f.alert)
			requireCode(t, errs.NotFound, err)
		},
		"Alerts": func(t *testing.T, o store.Org, _ foreign) {
			page, err := o.Alerts(t.Context(), everything)
			requireEmptyPage(t, page, err)
		},
		"AlertsOf": func(t *testing.T, o store.Org, f foreign) {
			pages, err := o.AlertsOf(t.Context(), []ids.ID{f.skill}, everything)
			requireEmptyPage(t, pages[f.skill], err)
		},
		"IncidentsOfAlerts": func(t *testing.T, o store.Org, f foreign) {
			pages, err := o.IncidentsOfAlerts(t.Context(), []ids.ID{f.alert}, everything)
			requireEmptyPage(t, pages[f.alert], err)
		},
		"IncidentsOfSkills": func(t *testing.T, o store.Org, f foreign) {
			pages, err := o.IncidentsOfSkills(t.Context(), []ids.ID{f.skill}, everything)
			requireEmptyPage(t, pages[f.skill], err)
		},
		"NotificationsOf": func(t *testing.T, o store.Org, f foreign) {
			pages, err := o.NotificationsOf(t.Context(), []ids.ID{f.alert}, everything)
			requireEmptyPage(t, pages[f.alert], err)
		},
		"CreateAlert": func(t *testing.T, o store.Org, f foreign) {
			_, err := o.CreateAlert(t.Context(), &models.Alert{
				SkillID: &f.skill, Type: models.AlertTypeNoData, Channel: models.AlertChannelWebhook, Destination: models.JSON(`{}`), State: models.AlertStateOk,
			})
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
			days, err := o.DryRun(t.Context(), &models.Alert{SkillID: &f.skill, Type: models.AlertTypePassRateBelow, Threshold: 1}, 90)
			require.NoError(t, err)
			require.Empty(t, days)
		},
		"PendingDelivery": func(t *testing.T, o store.Org, f foreign) {
			d, err := o.PendingDelivery(t.Context(), f.notification)
			require.NoError(t, err)
			require.Nil(t, d)
		},
		"RecordAttempt": func(t *testing.T, o store.Org, f foreign) {
			_, err := o.RecordAttempt(t.Context(), &store.Delivery{Notification: models.Notification{ID: f.notification}}, 200, "", true)
			require.Error(t, err)
		},
	})
}
