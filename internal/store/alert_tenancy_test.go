package store_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

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
		_, err := o.Skill(t.Context(), models.SkillKey{ID: f.skill})
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
