package models

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

func TestThresholds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind    AlertType
		given   *float64
		want    float64
		message string
	}{
		{AlertTypePassRateBelow, nil, 0.6, ""},
		{AlertTypePassRateBelow, new(0.0), 0, ""},
		{AlertTypePassRateBelow, new(1.0), 1, ""},
		{AlertTypePassRateBelow, new(75.0), 0, "threshold must be between 0 and 1"},
		{AlertTypePassRateBelow, new(-0.1), 0, "threshold must be between 0 and 1"},
		{AlertTypePassRateBelow, new(math.NaN()), 0, "threshold must be between 0 and 1"},
		{AlertTypeNoData, nil, 7, ""},
		{AlertTypeNoData, new(0.5), 0.5, ""},
		{AlertTypeNoData, new(90.0), 90, ""},
		{AlertTypeNoData, new(90.1), 0, "threshold must be between 0 and 90 days"},
	} {
		got, err := c.kind.Limit(c.given)
		if c.message == "" {
			require.NoError(t, err)
			require.InDelta(t, c.want, got, 0)
			continue
		}
		var e *errs.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, []string{"threshold"}, e.Path)
		require.Equal(t, c.message, e.Message)
	}
}

func TestConfigHoldsExactlyItsChannelsField(t *testing.T) {
	t.Parallel()
	reach := Reach{CanMail: true, CheckURL: func(s string) error {
		if s == "http://10.0.0.1/" {
			return errors.New("must not be a private address")
		}
		return nil
	}}
	for _, c := range []struct {
		channel AlertChannel
		config  string
		path    []string // nil: fine
	}{
		{AlertChannelChatA, `{"chat_a_webhook_url": "https://x.example/a"}`, nil},
		{AlertChannelChatB, `{"chat_b_webhook_url": "https://x.example/a"}`, nil},
		{AlertChannelWebhook, `{"webhook_url": "https://x.example/a"}`, nil},
		{AlertChannelEmail, `{"email": "a@example.com"}`, nil},
		{AlertChannelEmail, `{"email": "nobody"}`, []string{"config", "email"}},
		{AlertChannelWebhook, `{}`, []string{"config", "webhook_url"}},
		{AlertChannelWebhook, `{"webhook_url": 7}`, []string{"config", "webhook_url"}},
		{AlertChannelWebhook, `{"webhook_url": "http://10.0.0.1/"}`, []string{"config", "webhook_url"}},
		{AlertChannelWebhook, `{"webhook_url": "https://x.example/a", "email": "a@example.com"}`, []string{"config", "email"}},
		{AlertChannelChatA, `{"chat_b_webhook_url": "https://x.example/a"}`, []string{"config", "chat_b_webhook_url"}},
		{AlertChannelChatA, `[]`, []string{"config"}},
		{AlertChannelChatA, `null`, []string{"config"}},
	} {
		_, err := CreateAlertInput{Type: AlertTypeNoData, Channel: c.channel, Config: JSON(c.config)}.Alert(reach)
		if c.path == nil {
			require.NoError(t, err, c.config)
			continue
		}
		var e *errs.Error
		require.ErrorAs(t, err, &e, c.config)
		require.Equal(t, c.path, e.Path, c.config)
	}
	_, err := CreateAlertInput{Type: AlertTypeNoData, Channel: AlertChannelEmail, Config: JSON(`{"email": "a@example.com"}`)}.Alert(Reach{})
	require.ErrorContains(t, err, "SKILLGRAPH_SMTP_URL")
}

func TestConfigShowsOnlyTheHost(t *testing.T) {
	t.Parallel()
	a := Alert{Channel: AlertChannelWebhook, Destination: JSON(`{"webhook_url": "https://hooks.example.com/very/secret?token=1"}`)}
	require.JSONEq(t, `{"webhook_url": "https://hooks.example.com/…"}`, string(a.Config()))
	require.Equal(t, "https://hooks.example.com/very/secret?token=1", a.Address())
	mail := Alert{Channel: AlertChannelEmail, Destination: JSON(`{"email": "a@example.com"}`)}
	require.JSONEq(t, `{"email": "a@example.com"}`, string(mail.Config()))
}

func TestUpdateAlert(t *testing.T) {
	t.Parallel()
	reason := "it failed"
	a := Alert{Type: AlertTypeNoData, Channel: AlertChannelWebhook, Threshold: 7, State: AlertStateDisabled, DisabledReason: &reason, FailedIncidents: 5}
	require.NoError(t, UpdateAlertInput{Threshold: graphql.OmittableOf(new(3.0))}.Apply(&a, Reach{}))
	require.InDelta(t, 3, a.Threshold, 0)
	require.Equal(t, AlertStateDisabled, a.State, "a change of something else leaves it off")
	require.NoError(t, UpdateAlertInput{Enabled: graphql.OmittableOf(new(true))}.Apply(&a, Reach{}))
	require.Equal(t, AlertStateOk, a.State)
	require.Nil(t, a.DisabledReason)
	require.Zero(t, a.FailedIncidents)
	require.Error(t, UpdateAlertInput{Enabled: graphql.OmittableOf[*bool](nil)}.Apply(&a, Reach{}))
	require.Error(t, UpdateAlertInput{Threshold: graphql.OmittableOf(new(91.0))}.Apply(&a, Reach{}))
}

func TestBreaks(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { return new(now.Add(-d)) }
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		alert Alert
		skill Watched
		fires bool
	}{
		"strictly below":         {Alert{Type: AlertTypePassRateBelow, Threshold: .75}, Watched{PassRate: new(.75), RecentGraded: 20}, false},
		"below":                  {Alert{Type: AlertTypePassRateBelow, Threshold: .75}, Watched{PassRate: new(.749), RecentGraded: 20}, true},
		"silent under 3 graded":  {Alert{Type: AlertTypePassRateBelow, Threshold: .75}, Watched{PassRate: new(.1), RecentGraded: 2}, false},
		"3 graded":               {Alert{Type: AlertTypePassRateBelow, Threshold: .75}, Watched{PassRate: new(.1), RecentGraded: 3}, true},
		"never graded":           {Alert{Type: AlertTypePassRateBelow, Threshold: .75}, Watched{}, false},
		"exactly the days":       {Alert{Type: AlertTypeNoData, Threshold: 7}, Watched{LastSeenAt: ago(7 * day)}, true},
		"a moment less":          {Alert{Type: AlertTypeNoData, Threshold: 7}, Watched{LastSeenAt: ago(7*day - time.Second)}, false},
		"fractions of a day":     {Alert{Type: AlertTypeNoData, Threshold: .5}, Watched{LastSeenAt: ago(12 * time.Hour)}, true},
		"0 counts as 1":          {Alert{Type: AlertTypeNoData}, Watched{LastSeenAt: ago(23 * time.Hour)}, false},
		"0 counts as 1, a day":   {Alert{Type: AlertTypeNoData}, Watched{LastSeenAt: ago(day)}, true},
		"telemetry never saw it": {Alert{Type: AlertTypeNoData, Threshold: 1}, Watched{}, false},
	} {
		_, fires := c.alert.Breaks(&c.skill, now)
		require.Equal(t, c.fires, fires, name)
	}
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	low, fine, gone := ids.New(ids.Skill, now), ids.New(ids.Skill, now), ids.New(ids.Skill, now)
	skills := []*Watched{{SkillID: low, PassRate: new(.2), RecentGraded: 9}, {SkillID: fine, PassRate: new(.9), RecentGraded: 9}}
	incident := func(skill ids.ID, told time.Duration) *Incident {
		return &Incident{SkillID: skill, RemindedAt: now.Add(-told)}
	}
	kinds := func(steps []Step) map[ids.ID]NotificationKind {
		out := map[ids.ID]NotificationKind{}
		for _, s := range steps {
			out[s.SkillID] = s.Kind
		}
		return out
	}
	alert := func(state AlertState) *Alert {
		return &Alert{Type: AlertTypePassRateBelow, Threshold: .6, State: state}
	}

	steps, state := alert(AlertStateOk).Evaluate(skills, nil, now)
	require.Equal(t, AlertStateFiring, state)
	require.Equal(t, map[ids.ID]NotificationKind{low: NotificationKindOpened}, kinds(steps))

	steps, state = alert(AlertStateFiring).Evaluate(skills, []*Incident{incident(low, 23*time.Hour)}, now)
	require.Empty(t, steps, "it lasts, and somebody knows")
	require.Equal(t, AlertStateFiring, state)

	steps, _ = alert(AlertStateFiring).Evaluate(skills, []*Incident{incident(low, 24*time.Hour)}, now)
	require.Equal(t, map[ids.ID]NotificationKind{low: NotificationKindReminder}, kinds(steps))

	steps, state = alert(AlertStateFiring).Evaluate(skills[1:], []*Incident{incident(fine, 0), incident(gone, 0)}, now)
	require.Equal(t, map[ids.ID]NotificationKind{fine: NotificationKindResolved, gone: NotificationKindResolved}, kinds(steps))
	require.Equal(t, AlertStateResolved, state)

	muted := alert(AlertStateOk)
	muted.MutedUntil = new(now.Add(time.Hour))
	steps, state = muted.Evaluate(skills, nil, now)
	require.Empty(t, steps)
	require.Equal(t, AlertStateOk, state)
	steps, _ = muted.Evaluate(skills, []*Incident{incident(fine, 0)}, now)
	require.Equal(t, map[ids.ID]NotificationKind{fine: NotificationKindResolved}, kinds(steps), "good news is told all the same")
}

func TestRetriesCoverThreeDays(t *testing.T) {
	t.Parallel()
	total := time.Duration(0)
	for n := 1; n < MaxAttempts; n++ {
		require.Greater(t, RetryAfter(n+1), time.Duration(0))
		total += RetryAfter(n)
	}
	require.InDelta(t, 72, total.Hours(), 3)
}

func TestConfigIsJSON(t *testing.T) {
	t.Parallel()
	a := Alert{Channel: AlertChannelChatA, Destination: JSON(`{"chat_a_webhook_url": "https://x.example/\"<>"}`)}
	require.True(t, json.Valid(a.Config()))
}
