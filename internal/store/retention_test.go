package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/store"
	"skillgraph/models"
)

const day = 24 * time.Hour

// sessionOf is a session with a record of every kind, some time ago.
func sessionOf(id string, at time.Time) models.Canonical {
	n := int64(1)
	return models.Canonical{
		Sessions:    []models.SessionRecord{{SessionID: id, StartedAt: &at, EndedAt: &at, Platform: new("cli")}},
		Prompts:     []models.PromptRecord{{PromptID: id, SessionID: id, OccurredAt: &at, PromptText: new("secret")}},
		Invocations: []models.InvocationRecord{{InvocationID: id, SessionID: id, OccurredAt: &at, SkillName: "pdf", Triggered: new(true), Confidence: new(0.5)}},
		Facts:       []models.FactRecord{{FactID: id, SessionID: id, OccurredAt: &at, TotalToolCalls: &n}},
		Gradings:    []models.GradingRecord{{GradingID: id, SessionID: id, GradedAt: &at, SkillName: "pdf", PassRate: new(0.75)}},
		Signals:     []models.SignalRecord{{SignalID: id, SessionID: id, OccurredAt: &at, Query: new("q"), SignalType: new("missed")}},
	}
}

var rawTables = []string{"sessions", "prompts", "invocations", "execution_facts", "gradings", "improvement_signals", "session_skills"}

// old opens the same database with another retention, at another time.
func (w *watch) old(t *testing.T, retention time.Duration) *store.Store {
	t.Helper()
	return dbtest.Open(t, w.url, store.Options{MaxConns: 10, Clock: w.now, Retention: retention})
}

// What waits for a session that never came does not wait for ever.
func TestPruneOrphans(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	for _, at := range []time.Time{w.now(), w.now().Add(20 * day)} {
		c := sessionOf(at.String(), at)
		c.Sessions = nil
		w.pass(at.Sub(w.now()))
		w.push(t, c)
	}
	_, _, err := w.old(t, 10*day).Prune(t.Context())
	require.NoError(t, err)
	for _, table := range rawTables[1:6] {
		require.Equal(t, 1, w.count(t, table), table)
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	other := w.in(w.org(t, "other"))
	// Forty days, a session each; what was received then is what counts, too.
	for n := range 40 {
		for _, o := range []*telemetry{w.telemetry, other} {
			o.push(t, sessionOf(fmt.Sprint("day ", n), w.now()))
		}
		w.pass(day)
	}
	figures := w.requireCounted(t)
	pruner := w.old(t, 10*day)
	sessions, events, err := pruner.Prune(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2*30, sessions, "10 days ago to the moment is not too old")
	require.Zero(t, events)
	for _, table := range rawTables {
		require.Equal(t, 10, w.count(t, table), table)
		require.Equal(t, 10, other.count(t, table), table)
	}
	require.Equal(t, 10, w.count(t, "pushes"))
	after := w.stored(t)
	require.Equal(t, figures.Days, after.Days, "rollups stay")
	require.Equal(t, figures.Breakdowns, after.Breakdowns)
	require.Equal(t, figures.Skills, after.Skills)

	again, _, err := pruner.Prune(t.Context())
	require.NoError(t, err)
	require.Zero(t, again)

	// A session that comes once more is too old to be counted twice; a new one is counted.
	o := &telemetry{pruner.Org(w.ID(), w.ID()), pruner, w.conn}
	receipt := o.push(t, sessionOf("day 3", noon.Add(3*day)))
	require.Equal(t, 6, receipt.Ignored)
	require.Equal(t, after, w.stored(t))
	o.push(t, sessionOf("new", w.now()))
	last := w.stored(t)
	require.Equal(t, 41, last.Skills["pdf"].Sessions)
	require.Equal(t, figures.Skills["pdf"].First, last.Skills["pdf"].First)
	require.Equal(t, 41, last.Breakdowns[[3]string{"pdf", "PLATFORM", "cli"}].Sessions)
	require.Len(t, last.Days, 41)
}

// A session goes when everything of it is old, and not before: a record that arrived since keeps it whole.
func TestPruneWholeSessions(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"prompt", "invocation", "fact", "grading", "signal", "end"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := newWatch(t)
			w.push(t, sessionOf("long", w.now()))
			w.push(t, sessionOf("short", w.now()))
			w.pass(20 * day)
			more := sessionOf("more", w.now())
			var c models.Canonical
			switch kind {
			case "prompt":
				c.Prompts = more.Prompts
				c.Prompts[0].SessionID = "long"
			case "invocation":
				c.Invocations = more.Invocations
				c.Invocations[0].SessionID = "long"
			case "fact":
				c.Facts = more.Facts
				c.Facts[0].SessionID = "long"
			case "grading":
				c.Gradings = more.Gradings
				c.Gradings[0].SessionID = "long"
			case "signal":
				c.Signals = more.Signals
				c.Signals[0].SessionID = "long"
			case "end":
				c.Sessions = []models.SessionRecord{{SessionID: "long", EndedAt: new(w.now())}}
			}
			w.push(t, c)
			figures := w.requireCounted(t)
			pruner := w.old(t, 10*day)
			sessions, _, err := pruner.Prune(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, sessions)
			require.Equal(t, 1, w.count(t, "sessions"))
			// The same push again changes no figure.
			o := &telemetry{pruner.Org(w.ID(), w.ID()), pruner, w.conn}
			o.push(t, c)
			after := w.stored(t)
			require.Equal(t, figures.Days, after.Days)
			require.Equal(t, figures.Skills["pdf"].Sessions, after.Skills["pdf"].Sessions)

			w.pass(11 * day)
			sessions, _, err = pruner.Prune(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, sessions)
			for _, table := range rawTables {
				require.Zero(t, w.count(t, table), table)
			}
		})
	}
}

func TestPruneInBatches(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	var c models.Canonical
	at := w.now()
	for n := range 1203 {
		id := fmt.Sprint(n)
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, OccurredAt: &at, SkillName: "pdf", Triggered: new(true)})
	}
	w.push(t, c)
	dbtest.Exec(t, w.url, "INSERT INTO pushes SELECT org_id, gen_random_uuid(), received_at FROM pushes, generate_series(1, 1100)")
	dbtest.Exec(t, w.url, `INSERT INTO events (org_id, id, kind, object_id, data, created_at)
		SELECT $1, gen_random_uuid(), 'suite.created', gen_random_uuid(), '{}', $2::timestamptz - n * interval '1 hour' FROM generate_series(0, 1500) AS n`, w.ID(), w.now())
	before := w.count(t, "events")
	w.pass(365 * day)
	sessions, events, err := w.old(t, 30*day).Prune(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1203, sessions)
	require.Equal(t, 1500, events, "a year to the moment is not too old")
	require.Equal(t, before-1500, w.count(t, "events"))
	require.Zero(t, w.count(t, "pushes"))
	for _, table := range rawTables {
		require.Zero(t, w.count(t, table), table)
	}
	require.Equal(t, 1203, w.skill(t, "pdf").UniqueSessions)
}

// Prompt text that is not to be kept never reaches the database.
func TestDropPromptText(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{DropPromptText: true})
	s.push(t, sessionOf("a", noon))
	type row struct{ Text *string }
	require.Equal(t, []row{{nil}}, read[row](t, s, "SELECT prompt_text FROM prompts WHERE org_id = $1"))
}
