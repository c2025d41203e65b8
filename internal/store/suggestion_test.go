package store_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// source makes a cloud source that is linked to a skill, which is made where it is missing.
func (s *telemetry) source(t testing.TB, skill string) ids.ID {
	t.Helper()
	id := ids.New(ids.Source, noon)
	s.exec(t, "INSERT INTO skills (org_id, id, name, created_at) VALUES ($1, $2, $3, now()) ON CONFLICT (org_id, name) DO NOTHING", s.ID(), ids.New(ids.Skill, noon), skill)
	s.exec(t, `INSERT INTO cloud_sources (org_id, id, label, source_type, skill_id, created_at)
		SELECT org_id, $2, 'folder', 'UPLOAD', id, now() FROM skills WHERE org_id = $1 AND name = $3`, s.ID(), id, skill)
	return id
}

func (s *telemetry) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	_, err := s.conn.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// suggest does what the job does, until there is nothing left.
func (s *telemetry) suggest(t testing.TB) {
	t.Helper()
	for {
		n, err := s.Suggest(t.Context())
		require.NoError(t, err)
		if n == 0 {
			return
		}
	}
}

// suggestions lists those of a source, most observed first.
func (s *telemetry) suggestions(t testing.TB, source ids.ID) []*models.EvalSuggestion {
	t.Helper()
	pages, err := s.SuggestionsOf(t.Context(), []ids.ID{source}, models.SuggestionList{Window: everything, Order: models.SuggestionOrderObservedCount})
	require.NoError(t, err)
	return pages[source].Nodes
}

// said shows suggestions in a line each.
func (s *telemetry) said(t testing.TB, source ids.ID) (out []string) {
	t.Helper()
	for _, x := range s.suggestions(t, source) {
		out = append(out, fmt.Sprintf("%s %d/%d %s", strings.ToLower(string(x.Provenance)), x.ObservedCount, x.ObservedCount+x.Good, x.Query))
	}
	slices.Sort(out)
	return out
}

func prompt(id, session, text string) models.PromptRecord {
	return models.PromptRecord{PromptID: id, SessionID: session, OccurredAt: ago(time.Hour), PromptText: &text, IsActionable: new(true)}
}

func matched(id, session, prompt string, fired bool) models.InvocationRecord {
	r := invocation(id, session, "pdf", fired)
	r.MatchedPromptID, r.InvocationMode = &prompt, new("implicit")
	return r
}

// Every rule of what makes a suggestion, each in a session of its own.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	source := s.source(t, "pdf")
	late := prompt("late", "first", "Later")
	late.OccurredAt = ago(time.Minute)
	talk := prompt("talk", "first", "Hello")
	talk.IsActionable, talk.OccurredAt = new(false), ago(2*time.Hour)
	newer := prompt("miss 2", "miss 2", "  fill IN the\n form")
	newer.OccurredAt = ago(30 * time.Minute)
	c := models.Canonical{
		Prompts: []models.PromptRecord{
			prompt("miss 1", "miss 1", "Fill in the form!"), newer, prompt("hit", "hit", "fill in: the form?"),
			prompt("failed", "failed", "Merge the invoices"), prompt("other", "failed", "Something else"),
			talk, prompt("first", "first", "Rotate the scan"), late,
			prompt("lost", "lost", "Nobody has heard of this session"),
			prompt("dots", "dots", "... !?"), prompt("long", "long", strings.Repeat("word ", 1601)), prompt("fits", "fits", strings.Repeat("word ", 1600)),
			prompt("elsewhere", "hit", "The prompt of another session"),
			prompt("passed", "passed", "Went well"), prompt("unmatched", "unmatched", "No invocation names it"),
		},
		Invocations: []models.InvocationRecord{
			matched("1", "miss 1", "miss 1", false), matched("2", "miss 2", "miss 2", false), matched("3", "hit", "hit", true),
			matched("4", "failed", "failed", true), invocation("5", "first", "pdf", true), matched("6", "lost", "lost", false),
			matched("7", "dots", "dots", false), matched("8", "long", "long", false), matched("9", "fits", "fits", false),
			matched("10", "stray", "elsewhere", false), matched("11", "passed", "passed", true), invocation("12", "unmatched", "pdf", false),
			{InvocationID: "13", SessionID: "hit", OccurredAt: ago(time.Hour), SkillName: "docx", Triggered: new(false), MatchedPromptID: new("elsewhere")},
		},
		Gradings: []models.GradingRecord{
			grading("1", "failed", "pdf", 0.49), grading("2", "first", "pdf", 0), grading("3", "passed", "pdf", 0.5), grading("4", "stray", "pdf", 0), grading("5", "hit", "docx", 0),
		},
		Signals: []models.SignalRecord{
			{SignalID: "1", SessionID: "miss 1", OccurredAt: ago(time.Hour), Query: new("Sign it"), MentionedSkill: new("pdf")},
			{SignalID: "2", SessionID: "miss 1", OccurredAt: ago(time.Hour), Query: new("Not ours"), MentionedSkill: new("docx")},
			{SignalID: "3", SessionID: "miss 1", OccurredAt: ago(time.Hour), Query: new("Nobody's")},
			{SignalID: "4", SessionID: "lost", OccurredAt: ago(time.Hour), Query: new("Not yet"), MentionedSkill: new("pdf")},
		},
	}
	for _, name := range []string{"miss 1", "miss 2", "hit", "failed", "first", "dots", "long", "fits", "stray", "passed", "unmatched"} {
		c.Sessions = append(c.Sessions, session(name))
	}
	s.push(t, c)
	require.Empty(t, s.suggestions(t, source), "nothing before the job")
	s.suggest(t)
	want := []string{
		"failed_evaluation 1/1 Merge the invoices",
		"failed_evaluation 1/1 Rotate the scan",
		"missed_query 1/1 Sign it",
		"missed_query 1/1 word",
		"missed_query 2/3   fill IN the\n form",
	}
	got := s.said(t, source)
	got[3] = strings.TrimSuffix(got[3], strings.Repeat(" word", 1599)+" ")
	require.Equal(t, want, got)

	top := s.suggestions(t, source)[0]
	require.True(t, top.ShouldTrigger)
	require.Equal(t, "implicit", *top.InvocationType)
	require.Equal(t, "Observed 3 times: twice the skill did not fire and once all went well.", top.Rationale())
	require.InDelta(t, models.NewRate(new(2.0/3), 3).Low, top.Confidence, 1e-12)
	require.InDelta(t, 0.2077, top.Confidence, 1e-4, "the lower end of the Wilson interval of 2 of 3")
	require.Equal(t, *newer.OccurredAt, *top.LastObservedAt)
	require.Equal(t, ids.Suggestion, top.ID.Kind())

	s.push(t, models.Canonical{Sessions: []models.SessionRecord{session("lost")}})
	s.suggest(t)
	require.Contains(t, s.said(t, source), "missed_query 1/1 Nobody has heard of this session", "a record is counted when its session comes")
	require.Contains(t, s.said(t, source), "missed_query 1/1 Not yet")
	require.Zero(t, s.count(t, "suggestion_queue"))
}

// Suggestions follow what changes.
func TestSuggestionsFollow(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	source := s.source(t, "pdf")
	newer := prompt("b", "b", "one!")
	newer.OccurredAt = ago(time.Minute)
	s.push(t, models.Canonical{
		Sessions: []models.SessionRecord{session("a"), session("b")}, Prompts: []models.PromptRecord{prompt("a", "a", "One"), newer},
		Invocations: []models.InvocationRecord{matched("a", "a", "a", false), matched("b", "b", "b", true)}, Gradings: []models.GradingRecord{grading("b", "b", "pdf", 0.2)},
	})
	s.suggest(t)
	require.Equal(t, []string{"failed_evaluation 2/2 one!"}, s.said(t, source), "a tie goes to what is graver; the newest spelling")
	first := s.suggestions(t, source)[0].ID

	// A later grading is the one that counts.
	again := grading("b2", "b", "pdf", 0.9)
	again.GradedAt = ago(0)
	s.push(t, models.Canonical{Gradings: []models.GradingRecord{again}})
	s.suggest(t)
	require.Equal(t, []string{"missed_query 1/2 One"}, s.said(t, source))
	require.Equal(t, first, s.suggestions(t, source)[0].ID, "the id stays")

	// The miss is taken back: the session says that it fired after all.
	s.push(t, models.Canonical{Invocations: []models.InvocationRecord{matched("a", "a", "a", true)}})
	s.suggest(t)
	require.Empty(t, s.said(t, source))
	require.Equal(t, 1, s.count(t, "eval_suggestions"))
	require.Equal(t, 1, s.count(t, "(SELECT * FROM eval_suggestions WHERE query = '' AND good = 2) s"), "nothing of what was said is kept there")

	// The prompt is told in other words.
	s.push(t, models.Canonical{Prompts: []models.PromptRecord{prompt("a", "a", "Two")}, Invocations: []models.InvocationRecord{matched("a", "a", "a", false)}})
	s.suggest(t)
	require.Equal(t, []string{"missed_query 1/1 Two"}, s.said(t, source))
	s.requireSuggestions(t)
}

// A source that is linked later has the suggestions of all that was, and of another skill when it is linked to that one.
func TestSuggestionsOfALink(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	var c models.Canonical
	for n := range 1300 { // several batches
		id := fmt.Sprint(n)
		c.Sessions = append(c.Sessions, session(id))
		c.Prompts = append(c.Prompts, prompt(id, id, fmt.Sprint("Question ", n%100)))
		c.Invocations = append(c.Invocations, matched(id, id, id, n%2 == 0))
	}
	c.Signals = []models.SignalRecord{{SignalID: "1", SessionID: "0", OccurredAt: ago(time.Hour), Query: new("Only a signal"), MentionedSkill: new("docx")}}
	s.push(t, c)
	require.Zero(t, s.count(t, "suggestion_queue"), "no source, no work")
	a, b := s.source(t, "pdf"), s.source(t, "pdf")
	s.suggest(t)
	require.Len(t, s.suggestions(t, a), 50)
	require.Len(t, s.suggestions(t, b), 50, "each source has its own")
	require.NotEqual(t, s.suggestions(t, a)[0].ID, s.suggestions(t, b)[0].ID)
	s.requireSuggestions(t)

	s.exec(t, "UPDATE cloud_sources SET skill_id = (SELECT id FROM skills WHERE org_id = $1 AND name = 'docx') WHERE id = $2", s.ID(), a)
	s.exec(t, "UPDATE cloud_sources SET skill_id = NULL WHERE id = $1", b)
	s.suggest(t)
	require.Equal(t, []string{"missed_query 1/1 Only a signal"}, s.said(t, a))
	require.Empty(t, s.said(t, b))
	require.Equal(t, 1, s.count(t, "suggestion_evidence"))
	s.requireSuggestions(t)
}

// What is erased is gone from suggestions that nobody has reviewed, in the same transaction.
func TestSuggestionsOfErased(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	source := s.source(t, "pdf")
	var c models.Canonical
	for id, text := range map[string]string{"a": "My secret", "b": "my SECRET", "c": "Another", "d": "Reviewed", "e": "Noted"} {
		c.Sessions = append(c.Sessions, session(id))
		c.Prompts = append(c.Prompts, prompt(id, id, text))
		c.Invocations = append(c.Invocations, matched(id, id, id, false))
	}
	c.Prompts[slices.IndexFunc(c.Prompts, func(p models.PromptRecord) bool { return p.PromptID == "b" })].OccurredAt = ago(time.Minute)
	s.push(t, c)
	s.suggest(t)
	require.Equal(t, []string{"missed_query 1/1 Another", "missed_query 1/1 Noted", "missed_query 1/1 Reviewed", "missed_query 2/2 my SECRET"}, s.said(t, source))
	for _, x := range s.suggestions(t, source) {
		if x.Query == "Reviewed" {
			_, err := s.ReviewSuggestion(t.Context(), source, decision(x.ID, models.ReviewStatusRejected))
			require.NoError(t, err)
		}
	}
	// Noted again, and erased before the job comes.
	s.push(t, models.Canonical{Prompts: []models.PromptRecord{prompt("e2", "e", "more")}})
	for _, id := range []string{"b", "c", "d", "e"} {
		_, err := s.EraseSession(t.Context(), id)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"missed_query 0/0 Reviewed", "missed_query 1/1 My secret"}, s.said(t, source))
	require.Zero(t, s.count(t, "suggestion_queue"))
	s.suggest(t)
	require.Equal(t, []string{"missed_query 0/0 Reviewed", "missed_query 1/1 My secret"}, s.said(t, source))
	type text struct{ Text string }
	for _, words := range []string{"SECRET", "Another", "Noted"} {
		for _, row := range read[text](t, s, "SELECT t::text FROM eval_suggestions t WHERE org_id = $1 UNION ALL SELECT t::text FROM suggestion_evidence t WHERE org_id = $1") {
			require.NotContains(t, row.Text, words)
		}
	}
	s.requireSuggestions(t)

	for _, x := range s.suggestions(t, source) {
		if x.Query == "Reviewed" {
			_, err := s.ClearReview(t.Context(), source, x.ID)
			require.NoError(t, err)
		}
	}
	require.Equal(t, []string{"missed_query 1/1 My secret"}, s.said(t, source), "without a review there is nothing to keep it for")
}

func TestSuggestionsOfPruned(t *testing.T) {
	t.Parallel()
	w := newWatch(t)
	source := w.source(t, "pdf")
	ask := func(id, text string) {
		c := sessionOf(id, w.now())
		c.Prompts[0].PromptText, c.Invocations[0].Triggered, c.Invocations[0].MatchedPromptID = &text, new(false), &id
		w.push(t, c)
	}
	ask("old", "Old")
	ask("both 1", "Both")
	w.pass(20 * day)
	ask("both 2", "both")
	w.suggest(t)
	require.Equal(t, []string{"missed_query 1/1 Old", "missed_query 2/2 both"}, w.said(t, source))
	_, _, err := w.old(t, 10*day).Prune(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"missed_query 1/1 both"}, w.said(t, source))
	w.requireSuggestions(t)
}

// Where no text of prompts is kept, none is suggested, be it from before.
func TestSuggestionsWithoutPromptText(t *testing.T) {
	t.Parallel()
	url := dbtest.Database(t)
	open := func(drop bool) *telemetry {
		return &telemetry{db: dbtest.Open(t, url, store.Options{MaxConns: 5, Clock: func() time.Time { return noon }, DropPromptText: drop}), conn: connect(t, url)}
	}
	keeps, drops := open(false), open(true)
	keeps.Org = keeps.org(t, "acme")
	drops.Org = drops.org(t, "acme")
	source := drops.source(t, "pdf")
	c := models.Canonical{
		Sessions: []models.SessionRecord{session("a")}, Prompts: []models.PromptRecord{prompt("a", "a", "One")}, Invocations: []models.InvocationRecord{matched("a", "a", "a", false)},
		Signals: []models.SignalRecord{{SignalID: "1", SessionID: "a", OccurredAt: ago(time.Hour), Query: new("Two"), MentionedSkill: new("pdf")}},
	}
	drops.push(t, c)
	drops.suggest(t)
	require.Empty(t, drops.said(t, source))
	keeps.push(t, c)
	keeps.suggest(t)
	require.Equal(t, []string{"missed_query 1/1 One", "missed_query 1/1 Two"}, keeps.said(t, source))
	drops.push(t, models.Canonical{Sessions: []models.SessionRecord{{SessionID: "a", Platform: new("cli")}}})
	drops.suggest(t)
	require.Empty(t, drops.said(t, source))
}

// The lists: filters, orders, pages.
func TestSuggestionLists(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	source := s.source(t, "pdf")
	var c models.Canonical
	n := 0
	ask := func(text string, times, good int, at time.Duration) {
		for i := range times + good {
			n++
			id := fmt.Sprint(n)
			p := prompt(id, id, text)
			p.OccurredAt = ago(at)
			c.Sessions, c.Prompts = append(c.Sessions, session(id)), append(c.Prompts, p)
			c.Invocations = append(c.Invocations, matched(id, id, id, i >= times))
		}
	}
	ask("three", 3, 9, time.Hour)
	ask("two", 2, 0, 3*time.Hour)
	ask("two too", 2, 1, 2*time.Hour)
	ask("one", 1, 0, time.Minute)
	s.push(t, c)
	s.suggest(t)
	list := func(in models.SuggestionList) (out []string) {
		if in.Limit == 0 {
			in.Window = everything
		}
		in.Order = cmp.Or(in.Order, models.SuggestionOrderObservedCount)
		pages, err := s.SuggestionsOf(t.Context(), []ids.ID{source}, in)
		require.NoError(t, err)
		for _, x := range pages[source].Nodes {
			out = append(out, x.Query)
		}
		total, err := pages[source].TotalCount(t.Context())
		require.NoError(t, err)
		if in.Limit == everything.Limit {
			require.Equal(t, len(out), total)
		}
		bySkill, err := s.SuggestionsOfSkills(t.Context(), []ids.ID{s.skill(t, "pdf").ID}, in)
		require.NoError(t, err)
		require.Equal(t, pages[source].Nodes, bySkill[s.skill(t, "pdf").ID].Nodes)
		return out
	}
	require.Equal(t, []string{"three", "two too", "two", "one"}, list(models.SuggestionList{}))
	require.Equal(t, []string{"one", "three", "two too", "two"}, list(models.SuggestionList{Order: models.SuggestionOrderLastObserved}))
	require.Equal(t, []string{"two", "two too", "one", "three"}, list(models.SuggestionList{Order: models.SuggestionOrderConfidence}))
	require.Equal(t, []string{"two too", "two"}, list(models.SuggestionList{Contains: "TWO"}))
	require.Equal(t, []string{"three"}, list(models.SuggestionList{MinObserved: 3}))
	require.Empty(t, list(models.SuggestionList{Provenance: models.ProvenanceRunFailure}))
	require.Empty(t, list(models.SuggestionList{Source: models.EvidenceSourceHostedRun}))
	require.Len(t, list(models.SuggestionList{Source: models.EvidenceSourceLinkedTelemetry, Provenance: models.ProvenanceMissedQuery, ShouldTrigger: "true"}), 4)
	require.Empty(t, list(models.SuggestionList{ShouldTrigger: "false"}))

	all := s.suggestions(t, source)
	_, err := s.ReviewSuggestion(t.Context(), source, decision(all[0].ID, models.ReviewStatusRejected))
	require.NoError(t, err)
	_, err = s.ReviewSuggestion(t.Context(), source, decision(all[1].ID, models.ReviewStatusAccepted))
	require.NoError(t, err)
	require.Equal(t, []string{"two", "one"}, list(models.SuggestionList{Status: models.SuggestionStatusPending}))
	require.Equal(t, []string{"two too"}, list(models.SuggestionList{Status: models.SuggestionStatusAccepted}))
	require.Equal(t, []string{"three"}, list(models.SuggestionList{Status: models.SuggestionStatusRejected}))

	for order := range map[models.SuggestionOrder]bool{models.SuggestionOrderObservedCount: true, models.SuggestionOrderLastObserved: true, models.SuggestionOrderConfidence: true} {
		want, got, in := list(models.SuggestionList{Order: order}), []string{}, models.SuggestionList{Order: order, Window: models.Window{Limit: 1}}
		for {
			pages, err := s.SuggestionsOf(t.Context(), []ids.ID{source}, in)
			require.NoError(t, err)
			got = append(got, pages[source].Nodes[0].Query)
			if !pages[source].PageInfo.HasNextPage {
				break
			}
			in.Window, err = models.PageArgs{First: new(1), After: pages[source].PageInfo.EndCursor()}.Window()
			require.NoError(t, err)
		}
		require.Equal(t, want, got, order)
	}

	// Evidence, newest first, with what the client called it and nothing of what went well.
	evidence, err := s.EvidenceOf(t.Context(), []ids.ID{all[0].ID}, models.Window{Limit: 2})
	require.NoError(t, err)
	page := evidence[all[0].ID]
	require.Len(t, page.Nodes, 2)
	total, err := page.TotalCount(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, total)
	require.Equal(t, *page.Nodes[0].SessionKey(), *page.Nodes[0].PromptKey())
	require.Nil(t, page.Nodes[0].SignalKey())
	require.Equal(t, models.ProvenanceMissedQuery, page.Nodes[0].Provenance())
}

func TestSimilarSuggestions(t *testing.T) {
	t.Parallel()
	s := newTelemetry(t, store.Options{})
	source, other := s.source(t, "pdf"), s.source(t, "pdf")
	var c models.Canonical
	for i, text := range []string{"Fill in the tax form", "fill in the tax forms please", "Could you fill in the tax form?", "What is the weather in Oslo", "Fill in the tax form 2"} {
		id := fmt.Sprint(i)
		c.Sessions, c.Prompts = append(c.Sessions, session(id)), append(c.Prompts, prompt(id, id, text))
		c.Invocations = append(c.Invocations, matched(id, id, id, i == 4)) // the last one went well
	}
	s.push(t, c)
	s.suggest(t)
	byQuery := map[string]*models.EvalSuggestion{}
	for _, x := range s.suggestions(t, source) {
		byQuery[x.Query] = x
	}
	form, weather := byQuery["Fill in the tax form"], byQuery["What is the weather in Oslo"]
	got, err := s.SimilarTo(t.Context(), []ids.ID{form.ID, weather.ID}, 5)
	require.NoError(t, err)
	require.Len(t, got[form.ID], 2)
	require.Equal(t, byQuery["Could you fill in the tax form?"].ID, got[form.ID][0].SuggestionID)
	require.Equal(t, byQuery["fill in the tax forms please"].ID, got[form.ID][1].SuggestionID)
	require.Greater(t, got[form.ID][0].Similarity, got[form.ID][1].Similarity)
	require.Empty(t, got[weather.ID])
	got, err = s.SimilarTo(t.Context(), []ids.ID{form.ID}, 1)
	require.NoError(t, err)
	require.Len(t, got[form.ID], 1)
	require.Len(t, s.suggestions(t, other), 4)
}
