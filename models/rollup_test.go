package models_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

var (
	noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	day  = noon.Truncate(24 * time.Hour)
	pdf  = ids.New(ids.Skill, noon)
	docx = ids.New(ids.Skill, noon)
	seen = models.Sight{FirstAt: &noon, LastAt: &noon}
)

func row(session string, skill ids.ID, change func(*models.SessionSkill)) *models.SessionSkill {
	s := &models.SessionSkill{SessionID: session, SkillID: skill, Day: day, Seen: true, FirstAt: noon, LastAt: noon, Platform: "cli", Model: "m", VersionHash: "h"}
	if change != nil {
		change(s)
	}
	return s
}

func fired(s *models.SessionSkill) { s.Triggers, s.Scored, s.Confidence = 2, 1, 900_000_000 }

func TestDifferenceOfNothing(t *testing.T) {
	t.Parallel()
	same := func() []*models.SessionSkill {
		return []*models.SessionSkill{row("a", pdf, fired), row("a", docx, nil), row("b", pdf, func(s *models.SessionSkill) { s.Rate, s.GradingID = new(0.5), new("g") })}
	}
	r := models.Difference(same(), same())
	require.Empty(t, r.Put)
	require.Empty(t, r.Drop)
	require.Empty(t, r.Days)
	require.Empty(t, r.Breakdowns)
	require.Empty(t, r.Confusions)
	require.Empty(t, r.Skills)
}

func TestDifference(t *testing.T) {
	t.Parallel()
	graded := func(rate float64) func(*models.SessionSkill) {
		return func(s *models.SessionSkill) { s.Rate, s.GradingID, s.GradedAt = &rate, new("g"), &noon }
	}
	for name, c := range map[string]struct {
		before, now []*models.SessionSkill
		days        map[models.DayKey]models.Sums
		confusions  map[models.ConfusionKey]int
		skills      map[ids.ID]*models.SkillChange
	}{
		"a session that fired": {
			now:    []*models.SessionSkill{row("a", pdf, fired)},
			days:   map[models.DayKey]models.Sums{{pdf, day}: {Sessions: 1, TriggeredSessions: 1, Triggers: 2, Scored: 1, Confidence: 900_000_000}},
			skills: map[ids.ID]*models.SkillChange{pdf: {Sessions: 1, Sight: seen}},
		},
		"one that is gone": {
			before: []*models.SessionSkill{row("a", pdf, fired)},
			days:   map[models.DayKey]models.Sums{{pdf, day}: {Sessions: -1, TriggeredSessions: -1, Triggers: -2, Scored: -1, Confidence: -900_000_000}},
			skills: map[ids.ID]*models.SkillChange{pdf: {Sessions: -1, Lost: seen}},
		},
		"a grade alone": {
			now:    []*models.SessionSkill{row("a", pdf, func(s *models.SessionSkill) { s.Seen = false; graded(0.5)(s) })},
			days:   map[models.DayKey]models.Sums{{pdf, day}: {Graded: 1, Passed: 1, Rate: 500_000_000}},
			skills: map[ids.ID]*models.SkillChange{pdf: {Graded: 1, Regraded: true}},
		},
		"a grade that fell": {
			before: []*models.SessionSkill{row("a", pdf, graded(0.5))},
			now:    []*models.SessionSkill{row("a", pdf, graded(0.25))},
			days:   map[models.DayKey]models.Sums{{pdf, day}: {Passed: -1, Rate: -250_000_000}},
			skills: map[ids.ID]*models.SkillChange{pdf: {Regraded: true, Sight: seen}},
		},
		"a skill that stayed quiet": {
			now: []*models.SessionSkill{row("a", pdf, fired), row("a", docx, nil), row("b", docx, nil)},
			days: map[models.DayKey]models.Sums{
				{pdf, day}: {Sessions: 1, TriggeredSessions: 1, Triggers: 2, Scored: 1, Confidence: 900_000_000}, {docx, day}: {Sessions: 2},
			},
			confusions: map[models.ConfusionKey]int{{docx, pdf}: 1},
			skills:     map[ids.ID]*models.SkillChange{pdf: {Sessions: 1, Sight: seen}, docx: {Sessions: 2, Sight: seen}},
		},
		"a quiet skill that fires after all": {
			before:     []*models.SessionSkill{row("a", pdf, fired), row("a", docx, nil)},
			now:        []*models.SessionSkill{row("a", pdf, fired), row("a", docx, fired)},
			days:       map[models.DayKey]models.Sums{{docx, day}: {TriggeredSessions: 1, Triggers: 2, Scored: 1, Confidence: 900_000_000}},
			confusions: map[models.ConfusionKey]int{{docx, pdf}: -1},
			skills:     map[ids.ID]*models.SkillChange{docx: {Sight: seen}},
		},
		"another day": {
			before: []*models.SessionSkill{row("a", pdf, nil)},
			now:    []*models.SessionSkill{row("a", pdf, func(s *models.SessionSkill) { s.Day = day.AddDate(0, 0, -1) })},
			days:   map[models.DayKey]models.Sums{{pdf, day}: {Sessions: -1}, {pdf, day.AddDate(0, 0, -1)}: {Sessions: 1}},
			skills: map[ids.ID]*models.SkillChange{pdf: {Sight: seen}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := models.Difference(c.before, c.now)
			require.Equal(t, c.days, r.Days)
			if c.confusions == nil {
				c.confusions = map[models.ConfusionKey]int{}
			}
			require.Equal(t, c.confusions, r.Confusions)
			require.Equal(t, c.skills, r.Skills)
		})
	}
}

func TestDifferenceMovesBreakdowns(t *testing.T) {
	t.Parallel()
	before := []*models.SessionSkill{row("a", pdf, func(s *models.SessionSkill) { s.Platform = "" })}
	r := models.Difference(before, []*models.SessionSkill{row("a", pdf, nil)})
	require.Equal(t, map[models.BreakdownKey]models.Sums{
		{pdf, models.DimensionPlatform, ""}:    {Sessions: -1},
		{pdf, models.DimensionPlatform, "cli"}: {Sessions: 1},
	}, r.Breakdowns)
	require.Empty(t, r.Days)
}

// naive counts rows one by one, from the definitions.
func naive(rows []*models.SessionSkill) (days map[models.DayKey]models.Sums, parts map[models.BreakdownKey]models.Sums, confusions map[models.ConfusionKey]int, sessions, graded map[ids.ID]int) {
	days, parts, confusions = map[models.DayKey]models.Sums{}, map[models.BreakdownKey]models.Sums{}, map[models.ConfusionKey]int{}
	sessions, graded = map[ids.ID]int{}, map[ids.ID]int{}
	for _, s := range rows {
		one := models.Sums{Triggers: s.Triggers, Scored: s.Scored, Confidence: s.Confidence}
		if s.Seen {
			one.Sessions = 1
			sessions[s.SkillID]++
		}
		if s.Triggers > 0 {
			one.TriggeredSessions = 1
		}
		if s.Rate != nil {
			one.Graded, one.Rate = 1, int(*s.Rate*1e9)
			graded[s.SkillID]++
			if *s.Rate >= 0.5 {
				one.Passed = 1
			}
		}
		plus(days, models.DayKey{Skill: s.SkillID, Day: s.Day}, one)
		plus(parts, models.BreakdownKey{Skill: s.SkillID, Dimension: models.DimensionVersion, Value: s.VersionHash}, one)
		plus(parts, models.BreakdownKey{Skill: s.SkillID, Dimension: models.DimensionPlatform, Value: s.Platform}, one)
		plus(parts, models.BreakdownKey{Skill: s.SkillID, Dimension: models.DimensionModel, Value: s.Model}, one)
		for _, other := range rows {
			if other.SessionID == s.SessionID && s.Seen && s.Triggers == 0 && other.Triggers > 0 {
				confusions[models.ConfusionKey{Skill: s.SkillID, Other: other.SkillID}]++
			}
		}
	}
	return days, parts, confusions, sessions, graded
}

func plus[K comparable](m map[K]models.Sums, k K, s models.Sums) {
	v := m[k]
	v.Add(s, 1)
	m[k] = v
}

// add applies a difference to what was counted before and drops what became nothing.
func add[K comparable](m, diff map[K]models.Sums) {
	for k, s := range diff {
		plus(m, k, s)
	}
	for k, s := range m {
		if s == (models.Sums{}) {
			delete(m, k)
		}
	}
}

func TestDifferenceEqualsRecount(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	skills := []ids.ID{pdf, docx, ids.New(ids.Skill, noon), ids.New(ids.Skill, noon)}
	pick := func() []*models.SessionSkill {
		var out []*models.SessionSkill
		for n := range 5 {
			for _, skill := range skills {
				if rnd.IntN(3) == 0 {
					continue
				}
				out = append(out, row(fmt.Sprint(n), skill, func(s *models.SessionSkill) {
					s.Day = day.AddDate(0, 0, -rnd.IntN(3))
					s.Platform, s.Model, s.VersionHash = string(rune('a'+rnd.IntN(2))), "", string(rune('a'+rnd.IntN(2)))
					s.Seen = rnd.IntN(4) > 0
					if s.Seen && rnd.IntN(2) == 0 {
						s.Triggers = 1 + rnd.IntN(3)
						s.Scored = rnd.IntN(s.Triggers + 1)
						s.Confidence = s.Scored * 500_000_000
					}
					if !s.Seen || rnd.IntN(2) == 0 {
						s.Rate, s.GradingID = new(float64(rnd.IntN(5))/4), new("g")
					}
				}))
			}
		}
		return out
	}
	before := pick()
	for range 500 {
		now := pick()
		r := models.Difference(before, now)
		days, parts, confusions, sessions, graded := naive(before)
		wantDays, wantParts, wantConfusions, wantSessions, wantGraded := naive(now)
		add(days, r.Days)
		add(parts, r.Breakdowns)
		require.Equal(t, wantDays, days)
		require.Equal(t, wantParts, parts)
		for k, n := range r.Confusions {
			if confusions[k] += n; confusions[k] == 0 {
				delete(confusions, k)
			}
		}
		require.Equal(t, wantConfusions, confusions)
		for id, c := range r.Skills {
			require.Equal(t, wantSessions[id], sessions[id]+c.Sessions)
			require.Equal(t, wantGraded[id], graded[id]+c.Graded)
		}
		require.Subset(t, now, r.Put)
		require.Subset(t, before, r.Drop)
		before = now
	}
}
