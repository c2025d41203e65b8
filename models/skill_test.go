package models_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

func TestNewRate(t *testing.T) {
	t.Parallel()
	// Published values of the Wilson score interval at 95%.
	for _, c := range []struct {
		part, whole int
		low, high   float64
	}{
		{0, 10, 0, 0.2775},
		{10, 10, 0.7225, 1},
		{2, 3, 0.2077, 0.9385},
		{1, 1, 0.2065, 1},
		{0, 1, 0, 0.7935},
		{5, 10, 0.2366, 0.7634},
		{81, 263, 0.2553, 0.3662},
		{15, 148, 0.0624, 0.1605},
		{500, 1000, 0.4691, 0.5309},
	} {
		r := models.NewRate(new(float64(c.part)/float64(c.whole)), c.whole)
		require.InDelta(t, c.low, r.Low, 5e-5, "%d of %d", c.part, c.whole)
		require.InDelta(t, c.high, r.High, 5e-5, "%d of %d", c.part, c.whole)
		require.Equal(t, c.whole, r.Count)
		require.LessOrEqual(t, r.Low, r.Value)
		require.GreaterOrEqual(t, r.High, r.Value)
		require.GreaterOrEqual(t, r.Low, 0.0)
		require.LessOrEqual(t, r.High, 1.0)
	}
	require.Nil(t, models.NewRate(nil, 3))
	require.Nil(t, models.NewRate(new(0.5), 0))
}

func TestStatusOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate     *float64
		graded   int
		baseline *float64
		want     models.SkillStatus
	}{
		{nil, 0, nil, models.SkillStatusUnknown},
		{nil, 20, nil, models.SkillStatusUnknown},
		{new(0.0), 2, nil, models.SkillStatusUnknown},
		{new(1.0), 2, new(1.0), models.SkillStatusUnknown},
		{new(0.0), 3, nil, models.SkillStatusCritical},
		{new(0.399), 3, nil, models.SkillStatusCritical},
		{new(0.4), 3, nil, models.SkillStatusWarning},
		{new(0.699), 3, nil, models.SkillStatusWarning},
		{new(0.7), 3, nil, models.SkillStatusHealthy},
		{new(1.0), 20, nil, models.SkillStatusHealthy},
		{new(0.8), 3, new(0.9), models.SkillStatusHealthy},
		{new(0.79), 3, new(0.9), models.SkillStatusCritical},
		{new(0.45), 3, new(0.5), models.SkillStatusWarning},
		{new(0.9), 3, new(0.2), models.SkillStatusHealthy},
	} {
		require.Equal(t, c.want, models.StatusOf(c.rate, c.graded, c.baseline), "%v of %d, baseline %v", c.rate, c.graded, c.baseline)
	}
}

// Falling by exactly a tenth is not yet too much, wherever it falls from; by a billionth more it is.
func TestStatusAtTheBaseline(t *testing.T) {
	t.Parallel()
	for n := 400; n <= 900; n++ {
		rate, baseline := float64(n)/1000, float64(n+100)/1000
		require.NotEqual(t, models.SkillStatusCritical, models.StatusOf(&rate, 3, &baseline), "%v after %v", rate, baseline)
		more := float64(n)/1000 - 1e-9
		require.Equal(t, models.SkillStatusCritical, models.StatusOf(&more, 3, &baseline), "%v after %v", more, baseline)
	}
}

func TestSumsHaveNothingToDivideBy(t *testing.T) {
	t.Parallel()
	var none models.Sums
	require.Nil(t, none.TriggerRate())
	require.Nil(t, none.AvgConfidence())
	require.Nil(t, none.ConfidenceCoverage())
	require.Nil(t, none.PassRate())
	quiet := models.Sums{Sessions: 2}
	require.Equal(t, new(0.0), quiet.TriggerRate())
	require.Nil(t, quiet.AvgConfidence())
	require.Nil(t, quiet.ConfidenceCoverage())
	loud := models.Sums{Sessions: 2, TriggeredSessions: 1, Triggers: 4, Scored: 2, Confidence: 1_500_000_000, Graded: 2, Rate: 500_000_000}
	require.Equal(t, new(0.5), loud.TriggerRate())
	require.Equal(t, new(0.75), loud.AvgConfidence())
	require.Equal(t, new(0.5), loud.ConfidenceCoverage())
	require.Equal(t, new(0.25), loud.PassRate())
}

func TestDayRangeBounds(t *testing.T) {
	t.Parallel()
	day := func(s string) models.Date {
		d, err := time.Parse(time.DateOnly, s)
		require.NoError(t, err)
		return models.Date(d)
	}
	today := time.Time(day("2026-11-15"))
	for _, c := range []struct {
		in           models.DayRange
		since, until string // "" for a stretch that is refused
	}{
		{models.DayRange{}, "2026-08-18", "2026-11-15"},
		{models.DayRange{Until: day("2026-01-31")}, "2025-11-03", "2026-01-31"},
		{models.DayRange{Since: day("2026-11-01")}, "2026-11-01", "2026-11-15"},
		{models.DayRange{Since: day("2026-11-15"), Until: day("2026-11-15")}, "2026-11-15", "2026-11-15"},
		{models.DayRange{Since: day("2025-01-01"), Until: day("2026-02-05")}, "2025-01-01", "2026-02-05"},
		{models.DayRange{Since: day("2025-01-01"), Until: day("2026-02-06")}, "", ""},
		{models.DayRange{Since: day("2026-11-15"), Until: day("2026-11-14")}, "", ""},
		{models.DayRange{Since: day("2020-01-01")}, "", ""},
		{models.DayRange{Since: day("2026-11-16")}, "", ""},
	} {
		since, until, err := c.in.Bounds(today)
		if c.since == "" {
			path, message := refusal(t, err)
			require.Equal(t, "until", path)
			require.Equal(t, "must be at most 400 days after since", message)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []string{c.since, c.until}, []string{since.Format(time.DateOnly), until.Format(time.DateOnly)})
	}
}

func TestNewSkillKey(t *testing.T) {
	t.Parallel()
	id := ids.New(ids.Skill, time.Now())
	for _, c := range []struct {
		id             *ids.ID
		name, idOrName *string
		want           *models.SkillKey
	}{
		{&id, nil, nil, &models.SkillKey{ID: id}},
		{nil, new("pdf"), nil, &models.SkillKey{Name: "pdf"}},
		{nil, new(id.String()), nil, &models.SkillKey{Name: id.String()}},
		{nil, nil, new("pdf"), &models.SkillKey{Name: "pdf"}},
		{nil, nil, new(id.String()), &models.SkillKey{ID: id, Name: id.String()}},
		{nil, nil, nil, nil},
		{&id, new("pdf"), nil, nil},
		{nil, new("pdf"), new("pdf"), nil},
	} {
		key, err := models.NewSkillKey(c.id, c.name, c.idOrName)
		if c.want == nil {
			path, _ := refusal(t, err)
			require.Equal(t, "id", path)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, *c.want, key)
	}
}
