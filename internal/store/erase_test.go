package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// oneOfEach is one record of each kind for a session.
func oneOfEach(session string) models.Canonical {
	return models.Canonical{
		Sessions:    []models.SessionRecord{{SessionID: session, Platform: new("cli")}},
		Prompts:     []models.PromptRecord{{PromptID: "p" + session, SessionID: session, OccurredAt: ago(time.Hour), PromptText: new("secret")}},
		Invocations: []models.InvocationRecord{invocation("i"+session, session, "pdf", true), invocation("j"+session, session, "docx", false)},
		Facts:       []models.FactRecord{{FactID: "f" + session, SessionID: session, OccurredAt: ago(time.Hour)}},
		Gradings:    []models.GradingRecord{grading("g"+session, session, "pdf", 1)},
		Signals:     []models.SignalRecord{{SignalID: "n" + session, SessionID: session, OccurredAt: ago(time.Hour), Query: new("secret")}},
	}
}

var oneOfEverything = models.PushCounts{Sessions: 1, Prompts: 1, SkillInvocations: 2, ExecutionFacts: 1, GradingResults: 1, ImprovementSignals: 1}

func TestEraseSession(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	other := s.in(s.org(t, "other"))
	for _, o := range []*telemetry{s, other} {
		o.push(t, oneOfEach("a"))
		o.push(t, oneOfEach("b"))
	}
	erased, err := s.EraseSession(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, &oneOfEverything, erased)
	for _, table := range []string{"sessions", "prompts", "execution_facts", "gradings", "improvement_signals"} {
		require.Equal(t, 1, s.count(t, table), table)
		require.Equal(t, 2, other.count(t, table), table)
	}
	s.requireCounted(t)
	other.requireCounted(t)
	require.Equal(t, map[string]int{"cli": 1}, s.breakdown(t, models.DimensionPlatform))

	erased, err = s.EraseSession(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, &models.PushCounts{}, erased, "twice is as good as once")

	type event struct{ Object, Data string }
	require.Equal(t, []event{{s.ID().String(), `{"execution_facts":1,"grading_results":1,"improvement_signals":1,"prompts":1,"sessions":1,"skill_invocations":2}`}},
		read[event](t, s, "SELECT object_id::text, data::text FROM events WHERE org_id = $1 AND kind = 'telemetry.session_erased'"), "one event, with numbers alone")
}

// What is left of the last session are zeros, and zeros read as nothing.
func TestEraseLastSession(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	s.push(t, oneOfEach("a"))
	_, err := s.EraseSession(t.Context(), "a")
	require.NoError(t, err)
	s.requireCounted(t)
	pdf, docx := s.skill(t, "pdf"), s.skill(t, "docx")
	require.Zero(t, pdf.UniqueSessions)
	require.False(t, pdf.HasEvidence())
	require.Nil(t, pdf.FirstSeenAt)
	require.Nil(t, pdf.LastSeenAt)
	require.Nil(t, pdf.PassRate)
	require.Empty(t, s.breakdown(t, models.DimensionPlatform))
	days, err := s.DaysOf(t.Context(), []ids.ID{pdf.ID}, models.DayRange{})
	require.NoError(t, err)
	require.Empty(t, days)
	confused, err := s.ConfusionsOf(t.Context(), []ids.ID{docx.ID}, 10)
	require.NoError(t, err)
	require.Empty(t, confused)
	recent, err := s.RatesOf(t.Context(), []ids.ID{pdf.ID})
	require.NoError(t, err)
	require.Equal(t, models.Sums{}, recent[pdf.ID].Sums)
	require.Nil(t, recent[pdf.ID].TriggerRate())
}

func TestEraseOrphans(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	c := oneOfEach("a")
	c.Sessions = nil
	s.push(t, c)
	erased, err := s.EraseSession(t.Context(), "a")
	require.NoError(t, err)
	want := oneOfEverything
	want.Sessions = 0
	require.Equal(t, &want, erased)
	s.push(t, models.Canonical{Sessions: []models.SessionRecord{session("a")}})
	require.Zero(t, s.skill(t, "pdf").UniqueSessions)
}

func TestEraseUser(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	_, v := dbtest.Key(t, s.db, "acme", "bob@example.com", models.PlanTeam, models.RoleMember)
	bob := s.in(s.db.Org(s.ID(), v.UserID))
	s.push(t, oneOfEach("a"))
	var c models.Canonical
	for n := range 1100 { // more than one batch
		id := fmt.Sprintf("b%04d", n)
		c.Sessions = append(c.Sessions, session(id))
		c.Invocations = append(c.Invocations, invocation(id, id, "pdf", n%2 == 0))
	}
	bob.push(t, c)
	bob.push(t, models.Canonical{Sessions: []models.SessionRecord{{SessionID: "a", Model: new("m")}}})

	who, erased, err := s.EraseUser(t.Context(), v.UserID)
	require.NoError(t, err)
	require.Equal(t, "bob@example.com", who.Email)
	require.Equal(t, &models.PushCounts{Sessions: 1100, SkillInvocations: 1100}, erased)
	require.Equal(t, 1, s.count(t, "sessions"), "a session belongs to who pushed it first")
	require.Equal(t, 1, s.skill(t, "pdf").UniqueSessions)
	s.requireCounted(t)

	_, erased, err = s.EraseUser(t.Context(), v.UserID)
	require.NoError(t, err)
	require.Equal(t, &models.PushCounts{}, erased)
	type event struct{ Object string }
	require.Equal(t, []event{{v.UserID.String()}}, read[event](t, s, "SELECT object_id::text FROM events WHERE org_id = $1 AND kind = 'telemetry.user_erased'"))

	_, stranger := dbtest.Key(t, s.db, "other", "eve@example.com", models.PlanTeam, models.RoleOwner)
	_, _, err = s.EraseUser(t.Context(), stranger.UserID)
	require.Equal(t, errs.NotFound, errs.CodeOf(err))
}

// Whatever is erased, in whatever order, the rollups are what is left of raw rows; told again, it is all there again.
func TestEraseRandom(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(randomSeed(t), 1))
	s := newTelemetry(t, store.Options{})
	_, v := dbtest.Key(t, s.db, "acme", "bob@example.com", models.PlanTeam, models.RoleMember)
	people := []*telemetry{s, s.in(s.db.Org(s.ID(), v.UserID))}
	h := newHistory(rnd)
	tell := func() {
		for _, c := range h.pushes() {
			people[rnd.IntN(2)].push(t, c)
		}
	}
	tell()
	all := s.requireCounted(t)
	for range 25 {
		_, err := s.EraseSession(t.Context(), fmt.Sprintf("s%02d", rnd.IntN(randomSessions)))
		require.NoError(t, err)
		s.requireCounted(t)
	}
	_, _, err := s.EraseUser(t.Context(), v.UserID)
	require.NoError(t, err)
	s.requireCounted(t)
	tell()
	require.Equal(t, all, s.requireCounted(t))
}
