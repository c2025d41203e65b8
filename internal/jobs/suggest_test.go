package jobs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// source makes a cloud source that is linked to the skill pdf.
func (w *world) source(t *testing.T, org store.Org) ids.ID {
	t.Helper()
	id := ids.New(ids.Source, w.now())
	_, err := w.pool.Exec(t.Context(), `INSERT INTO cloud_sources (org_id, id, label, source_type, skill_id, created_at)
		SELECT org_id, $2, 'folder', 'UPLOAD', id, now() FROM skills WHERE org_id = $1 AND name = $3`, org.ID(), id, "pdf")
	require.NoError(t, err)
	return id
}

// miss makes sessions in which the skill pdf did not fire on a query of their own.
func (w *world) miss(t *testing.T, org store.Org, n int) {
	t.Helper()
	at := w.now()
	var c models.Canonical
	for range n {
		id := fmt.Sprint("session ", w.made.Add(1))
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
		c.Prompts = append(c.Prompts, models.PromptRecord{PromptID: id, SessionID: id, OccurredAt: &at, PromptText: &id})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: id, SessionID: id, SkillName: "pdf", OccurredAt: &at, Triggered: new(false), MatchedPromptID: &id})
	}
	_, err := org.Push(t.Context(), &models.Push{ID: ids.New(ids.Push, at), Canonical: c})
	require.NoError(t, err)
}

func (w *world) suggestions(t *testing.T, org store.Org, source ids.ID) int {
	t.Helper()
	pages, err := org.SuggestionsOf(t.Context(), []ids.ID{source}, models.SuggestionList{Window: models.Window{Limit: 1}, Order: models.SuggestionOrderLastObserved})
	require.NoError(t, err)
	n, err := pages[source].TotalCount(t.Context())
	require.NoError(t, err)
	return n
}

const suggestJobs = "SELECT count(*) FROM river_job WHERE kind = 'suggest'"

// From a delivery to suggestions, of every organization for itself, and no faster than there is one job at a time.
func TestSuggest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.organization(t, "other")
	w.miss(t, w.org, 3)
	w.miss(t, other, 1)
	require.Zero(t, w.count(t, suggestJobs), "no source, no job")
	mine, theirs := w.source(t, w.org), w.source(t, other)
	for range 5 {
		w.miss(t, w.org, 200)
	}
	require.Equal(t, 1, w.count(t, suggestJobs), "one job, however much there is to do")
	w.start(t, w.Store)
	require.Eventually(t, func() bool { return w.suggestions(t, w.org, mine) == 1003 }, limit, poll, "what was, before the link, too")
	require.Eventually(t, func() bool { return w.suggestions(t, other, theirs) == 1 }, limit, poll, "a link alone is noticed")
	begun := time.Now()
	w.miss(t, w.org, 1)
	require.Eventually(t, func() bool { return w.suggestions(t, w.org, mine) == 1004 }, limit, poll)
	t.Logf("a suggestion came %s after its delivery", time.Since(begun))
	require.Equal(t, 1, w.suggestions(t, other, theirs))
}

// What no job is there for is found by the sweep, be it because one was at work when it was noted, or because its server was killed.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.organization(t, "other")
	w.miss(t, w.org, 1)
	w.miss(t, other, 1)
	mine, theirs := w.source(t, w.org), w.source(t, other)
	w.miss(t, w.org, 1)
	require.Equal(t, 1, w.count(t, suggestJobs))
	_, err := w.pool.Exec(t.Context(), "UPDATE river_job SET state = 'running', attempted_at = now(), attempted_by = '{killed}', attempt = 1 WHERE kind = 'suggest'")
	require.NoError(t, err)
	w.miss(t, w.org, 1)
	require.Equal(t, 1, w.count(t, suggestJobs), "it keeps others out")
	todo, err := w.Unsuggested(t.Context())
	require.NoError(t, err)
	require.ElementsMatch(t, []ids.ID{w.org.ID(), other.ID()}, todo)
	w.start(t, w.Store)
	require.Eventually(t, func() bool { return w.suggestions(t, w.org, mine) == 3 && w.suggestions(t, other, theirs) == 1 }, limit, poll)
	require.Equal(t, 1, w.count(t, suggestJobs))
	todo, err = w.Unsuggested(t.Context())
	require.NoError(t, err)
	require.Empty(t, todo)
}
