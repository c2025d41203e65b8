package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

func session(id string) models.SessionRecord { return models.SessionRecord{SessionID: id} }

func invocation(id, session, skill string, fired bool) models.InvocationRecord {
	return models.InvocationRecord{InvocationID: id, SessionID: session, SkillName: skill, OccurredAt: ago(time.Hour), Triggered: &fired}
}

func grading(id, session, skill string, rate float64) models.GradingRecord {
	return models.GradingRecord{GradingID: id, SessionID: session, SkillName: skill, GradedAt: ago(time.Hour), PassRate: &rate}
}

func TestPushReceipt(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	got := s.push(t, models.Canonical{
		Sessions:    []models.SessionRecord{session("a"), session("a"), {SessionID: "old", StartedAt: ago(401 * 24 * time.Hour)}},
		Prompts:     []models.PromptRecord{{PromptID: "p", SessionID: "a", OccurredAt: ago(time.Hour)}},
		Invocations: []models.InvocationRecord{invocation("i", "a", "pdf", true), invocation("j", "a", "pdf", true), invocation("i", "a", "pdf", true)},
		Facts:       []models.FactRecord{{FactID: "f", SessionID: "a", OccurredAt: ago(time.Hour)}},
		Gradings:    []models.GradingRecord{grading("g", "a", "pdf", 1)},
		Signals:     []models.SignalRecord{{SignalID: "n", SessionID: "a", OccurredAt: ago(time.Hour), MentionedSkill: new("docx")}},
	})
	require.Equal(t, &models.PushCounts{Sessions: 1, Prompts: 1, SkillInvocations: 2, ExecutionFacts: 1, GradingResults: 1, ImprovementSignals: 1}, got.Accepted)
	require.Equal(t, 2, got.Duplicates)
	require.Equal(t, 1, got.Ignored)
	s.requireCounted(t)

	// The same again, and one that says more.
	got = s.push(t, models.Canonical{
		Sessions:    []models.SessionRecord{{SessionID: "a", EndedAt: ago(0)}},
		Invocations: []models.InvocationRecord{invocation("i", "a", "pdf", true)},
	})
	require.Equal(t, &models.PushCounts{Sessions: 1}, got.Accepted)
	require.Equal(t, 1, got.Duplicates)
	s.requireCounted(t)
}

func TestPushTwiceAtOnce(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	id := ids.New(ids.Push, noon)
	var wg sync.WaitGroup
	got := make([]*models.PushTelemetryPayload, 8)
	for i := range got {
		wg.Go(func() {
			c := models.Canonical{Sessions: []models.SessionRecord{session("a")}, Invocations: []models.InvocationRecord{invocation("i", "a", "pdf", true)}}
			r, err := s.Push(t.Context(), &models.Push{ID: id, Canonical: c})
			if err == nil {
				got[i] = r
			}
		})
	}
	wg.Wait()
	fresh := 0
	for _, r := range got {
		require.NotNil(t, r)
		if n := r; n.IsNew {
			fresh++
			require.Equal(t, &models.PushCounts{Sessions: 1, SkillInvocations: 1}, n.Accepted)
			continue
		}
		require.Equal(t, models.RepeatedPush(id), r)
	}
	require.Equal(t, 1, fresh)
	require.Equal(t, 1, s.skill(t, "pdf").UniqueSessions)
}

func TestPushOverlappingAtOnce(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	var all models.Canonical
	for n := range 50 {
		all.Sessions = append(all.Sessions, session(fmt.Sprintf("s%02d", n)))
		for k := range 4 {
			id := fmt.Sprintf("%02d-%d", n, k)
			all.Invocations = append(all.Invocations, invocation("i"+id, all.Sessions[n].SessionID, fmt.Sprint("skill ", k), k%2 == 0))
			all.Gradings = append(all.Gradings, grading("g"+id, all.Sessions[n].SessionID, fmt.Sprint("skill ", k), 0.5))
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			// Each leaves another tenth out, and every other one says it backwards.
			c := models.Canonical{Sessions: slices.Clone(all.Sessions), Invocations: slices.Clone(all.Invocations), Gradings: slices.Clone(all.Gradings)}
			c.Invocations = slices.Delete(c.Invocations, i*10, i*10+10)
			if i%2 == 1 {
				slices.Reverse(c.Sessions)
				slices.Reverse(c.Invocations)
				slices.Reverse(c.Gradings)
			}
			_, errs[i] = s.Push(t.Context(), &models.Push{ID: ids.New(ids.Push, noon), Canonical: c})
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	s.requireCounted(t)
	require.Equal(t, 200, s.count(t, "invocations"))
	require.Equal(t, 50, s.skill(t, "skill 1").UniqueSessions)
}

// A push costs the same number of statements, whatever its size.
func TestPushStatements(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	cost := func(prefix string, records, skills int) int64 {
		var c models.Canonical
		for n := range records / 10 {
			id, skill := fmt.Sprint(prefix, n), fmt.Sprint(prefix, n%skills)
			c.Sessions = append(c.Sessions, session(id))
			c.Prompts = append(c.Prompts, models.PromptRecord{PromptID: id, SessionID: id, OccurredAt: ago(time.Hour), PromptText: new("x")})
			c.Facts = append(c.Facts, models.FactRecord{FactID: id, SessionID: id, OccurredAt: ago(time.Hour)})
			c.Signals = append(c.Signals, models.SignalRecord{SignalID: id, SessionID: id, OccurredAt: ago(time.Hour), MentionedSkill: &skill})
			c.Gradings = append(c.Gradings, grading(id, id, skill, 0.1))
			for k := range 5 {
				c.Invocations = append(c.Invocations, invocation(fmt.Sprint(id, " ", k), id, fmt.Sprint(prefix, (n+k)%skills), k%2 == 0))
			}
		}
		before := s.db.Statements()
		s.push(t, c)
		return s.db.Statements() - before
	}
	small := cost("a", 60, 2) // three graded sessions for each skill, so that the status changes in both
	large := cost("b", 10_000, 50)
	require.Equal(t, 1006, s.count(t, "sessions"))
	require.Equal(t, small, large)
	require.Less(t, large, int64(25))
	s.requireCounted(t)
}

func TestPushRefusedStoresNothing(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	push := func(text string) error {
		canonical := fmt.Sprintf(`{"sessions": [{"session_id": "a"}], "prompts": [{"prompt_id": "p", "session_id": "a", "occurred_at": "2026-11-15T11:00:00Z", "prompt_text": %q}]}`, text)
		p, err := models.PushTelemetryInput{SchemaVersion: "2.0", PushID: ids.New(ids.Push, noon), Canonical: models.JSON(canonical)}.ParsePush()
		if err != nil {
			return err
		}
		_, err = s.Push(t.Context(), p)
		return err
	}
	require.ErrorContains(t, push(strings.Repeat("x", 64<<10+1)), "must be at most 64 KiB long")
	for _, table := range []string{"pushes", "sessions", "prompts"} {
		require.Zero(t, s.count(t, table), table)
	}
	require.NoError(t, push(strings.Repeat("x", 64<<10)))
	require.Equal(t, 1, s.count(t, "prompts"))
}

// A failure in the middle takes everything back, the push id too.
func TestPushFailsAsOne(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	_, err := s.conn.Exec(t.Context(), "ALTER TABLE skill_confusions ADD CONSTRAINT none CHECK (sessions < 1)")
	require.NoError(t, err)
	p := &models.Push{ID: ids.New(ids.Push, noon), Canonical: models.Canonical{
		Sessions:    []models.SessionRecord{session("a")},
		Invocations: []models.InvocationRecord{invocation("i", "a", "pdf", true), invocation("j", "a", "docx", false)},
	}}
	_, err = s.Push(t.Context(), p)
	require.Error(t, err)
	for _, table := range []string{"pushes", "sessions", "invocations", "skills", "session_skills", "skill_days"} {
		require.Zero(t, s.count(t, table), table)
	}
	_, err = s.conn.Exec(t.Context(), "ALTER TABLE skill_confusions DROP CONSTRAINT none")
	require.NoError(t, err)
	got, err := s.Push(t.Context(), p)
	require.NoError(t, err)
	require.True(t, got.IsNew)
	s.requireCounted(t)
}

func TestPushClockFarOff(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	const decade = 10 * 365 * 24 * time.Hour
	var c models.Canonical
	for _, off := range []time.Duration{decade, -decade} {
		id := fmt.Sprint(off)
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id, StartedAt: ago(off)}, models.SessionRecord{SessionID: id + " ended", EndedAt: ago(off)})
		c.Prompts = append(c.Prompts, models.PromptRecord{PromptID: id, SessionID: id, OccurredAt: ago(off)})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, OccurredAt: ago(off), SkillName: "pdf", Triggered: new(true)})
		c.Facts = append(c.Facts, models.FactRecord{FactID: id, SessionID: id, OccurredAt: ago(off)})
		c.Gradings = append(c.Gradings, models.GradingRecord{GradingID: id, SessionID: id, SkillName: "pdf", GradedAt: ago(off)})
		c.Signals = append(c.Signals, models.SignalRecord{SignalID: id, SessionID: id, OccurredAt: ago(off), MentionedSkill: new("pdf")})
	}
	got := s.push(t, c)
	require.Equal(t, &models.PushCounts{}, got.Accepted)
	require.Equal(t, 14, got.Ignored)
	require.Zero(t, got.Duplicates)
	require.Zero(t, s.count(t, "skills"), "what is ignored names nothing")
}

func TestPushRetention(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{Retention: 24 * time.Hour})
	got := s.push(t, models.Canonical{Sessions: []models.SessionRecord{
		{SessionID: "a", StartedAt: ago(24 * time.Hour)},
		{SessionID: "b", StartedAt: ago(24*time.Hour + time.Millisecond)},
		{SessionID: "c", StartedAt: ago(-24 * time.Hour)},
		{SessionID: "d", StartedAt: ago(-24*time.Hour - time.Millisecond)},
	}})
	require.Equal(t, 2, got.Accepted.Sessions)
	require.Equal(t, 2, got.Ignored)
}

func TestPushPromptText(t *testing.T) {
	t.Parallel()
	type texts struct{ Prompt, Query *string }
	for drop, want := range map[bool]texts{false: {new("a\uFFFDb"), new("q")}, true: {}} {
		s := newTelemetry(t, store.Options{DropPromptText: drop})
		p, err := models.PushTelemetryInput{SchemaVersion: "2.0", PushID: ids.New(ids.Push, noon), Canonical: models.JSON(`{
			"prompts": [{"prompt_id": "p", "session_id": "a", "occurred_at": "2026-11-15T11:00:00Z", "prompt_text": "a\u0000b", "prompt_kind": "user"}],
			"improvement_signals": [{"signal_id": "n", "session_id": "a", "timestamp": "2026-11-15T11:00:00Z", "query": "q"}]}`)}.ParsePush()
		require.NoError(t, err)
		_, err = s.Push(t.Context(), p)
		require.NoError(t, err)
		got := read[texts](t, s, "SELECT p.prompt_text, n.query FROM prompts p, improvement_signals n WHERE p.org_id = $1")
		require.Equal(t, []texts{want}, got)
	}
}

func TestPushOrganizationsAreApart(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	other := s.in(s.org(t, "other"))
	id := ids.New(ids.Push, noon)
	for _, o := range []*telemetry{s, other} {
		got, err := o.Push(t.Context(), &models.Push{ID: id, Canonical: models.Canonical{
			Sessions:    []models.SessionRecord{session("a")},
			Invocations: []models.InvocationRecord{invocation("i", "a", "pdf", true)},
		}})
		require.NoError(t, err)
		require.True(t, got.IsNew, "the same push id, and yet another push")
	}
	other.push(t, models.Canonical{Sessions: []models.SessionRecord{{SessionID: "a", Platform: new("cli")}, session("b")}, Invocations: []models.InvocationRecord{invocation("j", "b", "pdf", false)}})
	require.NotEqual(t, s.skill(t, "pdf").ID, other.skill(t, "pdf").ID)
	require.Equal(t, 1, s.skill(t, "pdf").UniqueSessions)
	require.Equal(t, 2, other.skill(t, "pdf").UniqueSessions)
	require.Equal(t, map[string]int{"": 1}, s.breakdown(t, models.DimensionPlatform))
	require.Equal(t, map[string]int{"": 1, "cli": 1}, other.breakdown(t, models.DimensionPlatform))
	_, err := s.Skill(t.Context(), models.SkillKey{ID: other.skill(t, "pdf").ID})
	require.ErrorContains(t, err, "There is no skill")
}

func TestPushLateParent(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	got := s.push(t, models.Canonical{
		Invocations: []models.InvocationRecord{invocation("i", "a", "pdf", true)},
		Gradings:    []models.GradingRecord{grading("g", "a", "pdf", 1)},
	})
	require.Equal(t, &models.PushCounts{SkillInvocations: 1, GradingResults: 1}, got.Accepted)
	require.Zero(t, s.skill(t, "pdf").UniqueSessions)
	require.Nil(t, s.skill(t, "pdf").LastSeenAt)
	s.requireCounted(t)
	s.push(t, models.Canonical{Sessions: []models.SessionRecord{session("a")}})
	pdf := s.skill(t, "pdf")
	require.Equal(t, 1, pdf.UniqueSessions)
	require.Equal(t, new(1.0), pdf.PassRate)
	require.True(t, pdf.LastSeenAt.Equal(*ago(time.Hour)))
	s.requireCounted(t)
}

func TestPushMovesBreakdowns(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	s.push(t, models.Canonical{Sessions: []models.SessionRecord{session("a")}, Invocations: []models.InvocationRecord{invocation("i", "a", "pdf", true)}})
	require.Equal(t, map[string]int{"": 1}, s.breakdown(t, models.DimensionPlatform))
	s.push(t, models.Canonical{Sessions: []models.SessionRecord{{SessionID: "a", Platform: new("cli"), Model: new("m")}}})
	require.Equal(t, map[string]int{"cli": 1}, s.breakdown(t, models.DimensionPlatform), "the zero that is left reads as absent")
	require.Equal(t, map[string]int{"m": 1}, s.breakdown(t, models.DimensionModel))
	s.requireCounted(t)
}

// An earlier invocation moves the session to an earlier day; nothing of the later day is left to see.
func TestPushMovesDays(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	s.push(t, models.Canonical{Sessions: []models.SessionRecord{session("a")}, Invocations: []models.InvocationRecord{invocation("i", "a", "pdf", false), invocation("j", "a", "docx", true)}})
	earlier := invocation("k", "a", "pdf", true)
	earlier.OccurredAt = ago(48 * time.Hour)
	s.push(t, models.Canonical{Invocations: []models.InvocationRecord{earlier}})
	id := s.skill(t, "pdf").ID
	days, err := s.DaysOf(t.Context(), []ids.ID{id}, models.DayRange{})
	require.NoError(t, err)
	require.Len(t, days[id], 1)
	require.Equal(t, "2026-11-13", time.Time(days[id][0].Date).Format(time.DateOnly))
	confused, err := s.ConfusionsOf(t.Context(), []ids.ID{id}, 10)
	require.NoError(t, err)
	require.Empty(t, confused[id], "it fired after all")
	s.requireCounted(t)
}

func TestPushStatusChangeIsAnEvent(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	grade := func(n int, rate float64) {
		id := fmt.Sprint(n)
		s.push(t, models.Canonical{Sessions: []models.SessionRecord{session(id)}, Gradings: []models.GradingRecord{grading(id, id, "pdf", rate)}})
	}
	type event struct{ Kind, Name, From, To string }
	events := func() []event {
		return read[event](t, s, "SELECT kind, data->>'name', data->>'from', data->>'to' FROM events WHERE org_id = $1 AND kind LIKE 'skill.%' ORDER BY seq")
	}
	grade(1, 0.7)
	grade(2, 0.7)
	require.Empty(t, events())
	grade(3, 0.7)
	require.Equal(t, models.SkillStatusHealthy, s.skill(t, "pdf").Status, "three times 0.7 is 0.7, and no less")
	want := []event{{"skill.status_changed", "pdf", "unknown", "healthy"}}
	require.Equal(t, want, events())
	grade(4, 1)
	require.Equal(t, want, events())
	grade(5, 0)
	grade(6, 0)
	grade(7, 0)
	grade(8, 0)
	require.Equal(t, append(want, event{"skill.status_changed", "pdf", "healthy", "warning"}, event{"skill.status_changed", "pdf", "warning", "critical"}), events())
	s.requireCounted(t)
}

// The pass rate is that of the last 20 graded sessions, by the time of grading, ties by grading id.
func TestPushLastTwentyGradings(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	var c models.Canonical
	for n := range 40 {
		id := fmt.Sprintf("%02d", n)
		g := grading(id, id, "pdf", float64(n%2))
		if n < 20 {
			g.PassRate = new(1.0) // older by its id alone
		}
		c.Sessions, c.Gradings = append(c.Sessions, session(id)), append(c.Gradings, g)
	}
	slices.Reverse(c.Gradings)
	s.push(t, c)
	pdf := s.skill(t, "pdf")
	require.Equal(t, new(0.5), pdf.PassRate)
	require.Equal(t, 20, pdf.RecentGraded)
	require.Equal(t, 40, pdf.GradedSessions)
	require.Zero(t, pdf.UniqueSessions, "it was graded, and never seen")
	s.requireCounted(t)
}
