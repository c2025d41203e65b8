package models_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func TestParseSignals(t *testing.T) {
	t.Parallel()
	const one = `{"version": 1, "signal_type": "skill_session", "source_key": "k", "skill_name": "pdf", "relay_destination": 7, "skill_hash": "h", "user_cohort": "c", "confidence": 0.5,
		"signals": {"triggered": false, "invocation_type": "implicit", "execution_grade": "A", "query_bucket": "forms", "miss_detected": true}, "timestamp_bucket": "2026-11-15T10", "client_version": "1"}`
	want := &models.Signal{
		SourceKey: "k", SkillName: new("pdf"), SignalType: "skill_session", UserCohort: new("c"), Confidence: new(0.5),
		Triggered: new(false), Missed: true, QueryBucket: new("forms"), Hour: new(time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)),
	}
	for form, raw := range map[string]string{"alone": one, "listed": `[` + one + `]`, "in an envelope": `{"signals": [` + one + `]}`} {
		got, err := models.SubmitSignalsInput{Signals: models.JSON("  " + raw)}.Parse()
		require.NoError(t, err, form)
		require.Equal(t, []*models.Signal{want}, got, form)
	}
	got, err := models.SubmitSignalsInput{Signals: models.JSON(`{"signals": [{"source_key": "k", "signal_type": "missed_trigger"}, {"source_key": "l", "signal_type": "x", "signals": null, "confidence": null}]}`)}.Parse()
	require.NoError(t, err)
	require.Equal(t, []*models.Signal{{SourceKey: "k", SignalType: "missed_trigger", Missed: true}, {SourceKey: "l", SignalType: "x"}}, got)
}

func TestParseSignalsRefused(t *testing.T) {
	t.Parallel()
	many := `[` + strings.Repeat(`{"source_key": "k", "signal_type": "x"},`, 1000) + `{"source_key": "k", "signal_type": "x"}]`
	for raw, want := range map[string]string{
		`[]`:                                 "signals: must be a list of 1 to 1000 signals",
		many:                                 "signals: must be a list of 1 to 1000 signals",
		`{"signals": ` + many + `}`:          "signals: must be a list of 1 to 1000 signals",
		`"x"`:                                "signals: must be a list of 1 to 1000 signals",
		`{"signals": {}}`:                    "signals: must be a list of 1 to 1000 signals, unless the body is one signal",
		`{"signals": []}`:                    "signals: must be a list of 1 to 1000 signals",
		`{"signal_type": "x"}`:               "source_key: is required",
		`{"source_key": "k"}`:                "signal_type: is required",
		`{"source_key": 7}`:                  "source_key: must be a string",
		`{"source_key": ""}`:                 "source_key: must not be empty",
		`[7]`:                                "signals.0: must be an object",
		`[{"source_key": "k"}]`:              "signals.0.signal_type: is required",
		`{"signals": [{"source_key": "k"}]}`: "signals.0.signal_type: is required",
		`{"source_key": "k", "signal_type": "` + strings.Repeat("x", 65) + `"}`:                                              "signal_type: must be at most 64 characters long",
		`{"source_key": "` + strings.Repeat("x", 201) + `", "signal_type": "x"}`:                                             "source_key: must be at most 200 characters long",
		`{"source_key": "k", "signal_type": "x", "version": 2}`:                                                              "version: must be 1",
		`{"source_key": "k", "signal_type": "x", "skill_name": ""}`:                                                          "skill_name: must not be empty",
		`{"source_key": "k", "signal_type": "x", "skill_name": "a\u0000b"}`:                                                  "skill_name: must not contain control characters",
		`{"source_key": "k", "signal_type": "x", "user_cohort": 7}`:                                                          "user_cohort: must be a string",
		`{"source_key": "k", "signal_type": "x", "confidence": 1.1}`:                                                         "confidence: must be between 0 and 1",
		`{"source_key": "k", "signal_type": "x", "timestamp_bucket": 7}`:                                                     "timestamp_bucket: must be a string",
		`{"source_key": "k", "signal_type": "x", "signals": "x"}`:                                                            "signals: must be an object",
		`{"source_key": "k", "signal_type": "x", "signals": {"triggered": 1}}`:                                               "signals.triggered: must be true or false",
		`{"source_key": "k", "signal_type": "x", "signals": {"miss_detected": "no"}}`:                                        "signals.miss_detected: must be true or false",
		`[{"source_key": "k", "signal_type": "x"}, {"source_key": "l", "signal_type": "x", "signals": {"query_bucket": 7}}]`: "signals.1.signals.query_bucket: must be a string",
	} {
		_, err := models.SubmitSignalsInput{Signals: models.JSON(raw)}.Parse()
		var e *errs.Error
		require.ErrorAs(t, err, &e, "%.80s", raw)
		require.Equal(t, want, strings.Join(e.Path, ".")+": "+e.Message, "%.80s", raw)
	}
}

func TestTimestampBuckets(t *testing.T) {
	t.Parallel()
	for bucket, want := range map[string]string{
		"2026-11-15T10:30:00Z":          "2026-11-15T10",
		"2026-11-15T10:30:00.123+02:00": "2026-11-15T08",
		"2026-11-15T10:30:00":           "2026-11-15T10",
		"2026-11-15 10:30":              "2026-11-15T10",
		"2026-11-15T10Z":                "2026-11-15T10",
		"2026-11-15T10":                 "2026-11-15T10",
		"2026-11-15":                    "2026-11-15T00",
		"2026-11":                       "2026-11-01T00",
		"2026-W46":                      "2026-11-09T00",
		"2026W01":                       "2025-12-29T00",
		"2020-W53":                      "2020-12-28T00",
		"2026-W53":                      "2026-12-28T00",
		"2026-W54":                      "",
		"2025-W53":                      "",
		"2026-W00":                      "",
		"morning":                       "",
		"":                              "",
	} {
		got, err := models.SubmitSignalsInput{Signals: models.JSON(fmt.Sprintf(`{"source_key": "k", "signal_type": "x", "timestamp_bucket": %q}`, bucket))}.Parse()
		require.NoError(t, err, bucket)
		if want == "" {
			require.Nil(t, got[0].Hour, bucket)
			continue
		}
		require.NotNil(t, got[0].Hour, bucket)
		require.Equal(t, want, got[0].Hour.Format("2006-01-02T15"), bucket)
	}
	now := time.Date(2026, 11, 15, 12, 34, 56, 0, time.UTC)
	h := models.NewHorizon(now, 400*24*time.Hour)
	for _, hour := range []*time.Time{nil, new(now.AddDate(-2, 0, 0)), new(now.AddDate(0, 0, 2))} {
		s := models.Signal{Hour: hour}
		s.Settle(now, h)
		require.Equal(t, now.Truncate(time.Hour), *s.Hour)
	}
	s := models.Signal{Hour: new(now.AddDate(-1, 0, 0).Truncate(time.Hour))}
	s.Settle(now, h)
	require.Equal(t, "2025-11-15T12", s.Hour.Format("2006-01-02T15"))
}

// detail is what can be shown of a skill, with weeks of so many signals, triggers and misses; a week of none is hidden.
func detail(weeks ...[3]int) *models.SignalDetail {
	all := models.SignalFigure{SkillName: "pdf", Level: "SKILL", TotalSignals: new(0), TriggeredCount: new(0), MissedCount: new(0)}
	rows := []*models.SignalFigure{&all}
	for i, w := range weeks {
		r := &models.SignalFigure{SkillName: "pdf", Level: "WEEK", Label: time.Date(2026, 9, 7+7*i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)}
		if w[0] > 0 {
			r.TotalSignals, r.TriggeredCount, r.MissedCount, r.TriggerRate = &w[0], &w[1], &w[2], new(float64(w[1])/float64(w[0]))
		}
		*all.TotalSignals, *all.TriggeredCount, *all.MissedCount = *all.TotalSignals+w[0], *all.TriggeredCount+w[1], *all.MissedCount+w[2]
		rows = append(rows, r)
	}
	all.TriggerRate = new(float64(*all.TriggeredCount) / float64(*all.TotalSignals))
	return models.Details(rows)[0]
}

func TestPropose(t *testing.T) {
	t.Parallel()
	org := ids.New(ids.Organization, time.Now())
	propose := func(weeks ...[3]int) (kinds []models.ProposalType) {
		for _, p := range detail(weeks...).Propose(org) {
			kinds = append(kinds, p.ProposalType)
		}
		return kinds
	}
	const wording, regression = models.ProposalTypeWordingChange, models.ProposalTypeInvestigateRegression
	require.Empty(t, propose([3]int{10, 10, 0}))
	require.Empty(t, propose([3]int{10, 6, 4}), "4 of 10 may be chance: the lower end is 0.17")
	require.Equal(t, []models.ProposalType{wording}, propose([3]int{10, 5, 5}))
	require.Equal(t, []models.ProposalType{wording}, propose([3]int{1000, 700, 300}))
	require.Empty(t, propose([3]int{1000, 790, 210}), "the lower end is 0.19")
	require.Equal(t, []models.ProposalType{regression}, propose([3]int{20, 20, 0}, [3]int{20, 10, 0}))
	require.Equal(t, []models.ProposalType{regression}, propose([3]int{20, 20, 0}, [3]int{0, 0, 0}, [3]int{20, 10, 0}), "a hidden week is not looked at")
	require.Empty(t, propose([3]int{20, 10, 0}, [3]int{20, 20, 0}), "rising")
	require.Empty(t, propose([3]int{20, 18, 0}, [3]int{20, 16, 0}), "by chance")
	require.Empty(t, propose([3]int{20, 20, 0}, [3]int{20, 10, 0}, [3]int{20, 10, 0}), "the week before last does not count")
	require.Equal(t, []models.ProposalType{wording, regression}, propose([3]int{20, 20, 0}, [3]int{20, 5, 15}))
	require.Empty(t, (&models.SignalDetail{}).Propose(org), "below the threshold")

	got := detail([3]int{20, 20, 0}, [3]int{20, 5, 15}).Propose(org)
	e, err := got[0].Evidence()
	require.NoError(t, err)
	require.Equal(t, []int{40, 25, 15}, []int{e.TotalSignals, e.TriggeredCount, e.MissedCount})
	require.InDelta(t, 0.375, e.Rate.Value, 1e-9)
	require.InDelta(t, 0.2422, e.Rate.Low, 1e-4)
	require.Len(t, e.Weeks, 2)
	require.InDelta(t, 0.9972, got[0].Confidence, 1e-4)
	require.Equal(t, "15 of 40 signals tell that the skill should have fired and did not: 24% of all at least. Say in other words what it is for.", got[0].Reason)
	e, err = got[1].Evidence()
	require.NoError(t, err)
	require.Equal(t, []int{20, 5, 15}, []int{e.TotalSignals, e.TriggeredCount, e.MissedCount})
	require.InDelta(t, 0.25, e.Rate.Value, 1e-9)
	require.Equal(t, "2026-09-14", e.Weeks[1].Week().Time().Format(time.DateOnly))
	require.Equal(t, "The skill fired in 25% of the signals of the week of 2026-09-14, and in 100% of those of the week of 2026-09-07. Find out what changed.", got[1].Reason)
	require.Greater(t, got[1].Confidence, 0.99)

	// Ids are stable while evidence grows, and a regression belongs to its week.
	later := detail([3]int{20, 20, 0}, [3]int{24, 6, 18}).Propose(org)
	require.Equal(t, []ids.ID{got[0].ID, got[1].ID}, []ids.ID{later[0].ID, later[1].ID})
	next := detail([3]int{20, 20, 0}, [3]int{20, 5, 15}, [3]int{20, 0, 20}).Propose(org)
	require.Equal(t, got[0].ID, next[0].ID)
	require.NotEqual(t, got[1].ID, next[1].ID)
	require.Equal(t, ids.Proposal, got[0].ID.Kind())
	other := detail([3]int{20, 20, 0}, [3]int{20, 5, 15}).Propose(ids.New(ids.Organization, time.Now()))
	require.NotEqual(t, got[0].ID, other[0].ID)
}

func TestDetailsAreBounded(t *testing.T) {
	t.Parallel()
	rows := []*models.SignalFigure{{SkillName: "pdf", Level: "SKILL", TotalSignals: new(7)}}
	for i := range 150 {
		label := fmt.Sprintf("%03d", i)
		for _, level := range []string{"TYPE", "WEEK", "BUCKET"} {
			rows = append(rows, &models.SignalFigure{SkillName: "pdf", Level: level, Label: label})
		}
	}
	d := models.Details(rows)[0]
	require.Len(t, d.ByType, 100)
	require.Len(t, d.ByWeek, 52)
	require.Equal(t, "149", d.ByWeek[51].Label, "the last ones")
	require.Len(t, d.QueryBuckets, 100)

	var many []*models.SignalFigure
	for i := range 1001 {
		many = append(many, &models.SignalFigure{SkillName: fmt.Sprint(i), TotalSignals: new(10), MissedCount: new(10), TriggerRate: new(0.0), Cohorts: new(3 + i%4)})
	}
	o := models.NewSignalOverview(many, time.Now())
	require.True(t, o.Truncated)
	require.Len(t, o.Skills, 1000)
	require.Equal(t, []int{10010, 1001, 6, 1001}, []int{*o.TotalSignals, *o.TotalSkills, *o.TotalCohorts, *o.ActionableSkills}, "of all, shown or not")
	a := models.NewSignalAggregates(many)
	require.True(t, a.Truncated)
	require.Len(t, a.Aggregates, 1000)
}
