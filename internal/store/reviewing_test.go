package store_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// reviewing is the part of the table of tenancy that is about suggestions, reviews and runs: here the other organization has one of each, and acme
// knows all of their ids.
var reviewing = map[string]func(t *testing.T, o store.Org, f foreign){
	"SuggestionsByID":      func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.SuggestionsByID, f.suggestion) },
	"ReviewsByID":          func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.ReviewsByID, f.review) },
	"ReviewsOfSuggestions": func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.ReviewsOfSuggestions, f.suggestion) },
	"RunsByID":             func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.RunsByID, f.run) },
	"ResultsByID":          func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.ResultsByID, f.result) },
	"PreviousRuns":         func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.PreviousRuns, f.run) },
	"RevisionsOfRuns":      func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.RevisionsOfRuns, f.run) },
	"CasesOfRuns":          func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.CasesOfRuns, f.run) },

	"Suggest": func(t *testing.T, o store.Org, _ foreign) {
		n, err := o.Suggest(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
	},
	"SuggestionsOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.SuggestionsOf(t.Context(), []ids.ID{f.source}, models.SuggestionList{Window: everything, Order: models.SuggestionOrderConfidence})
		requireEmptyPage(t, pages[f.source], err)
	},
	"SuggestionsOfSkills": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.SuggestionsOfSkills(t.Context(), []ids.ID{f.skill}, models.SuggestionList{Window: everything, Order: models.SuggestionOrderConfidence})
		requireEmptyPage(t, pages[f.skill], err)
	},
	"EvidenceOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.EvidenceOf(t.Context(), []ids.ID{f.suggestion}, everything)
		requireEmptyPage(t, pages[f.suggestion], err)
	},
	"SimilarTo": func(t *testing.T, o store.Org, f foreign) {
		found, err := o.SimilarTo(t.Context(), []ids.ID{f.suggestion}, 20)
		require.NoError(t, err)
		require.Empty(t, found)
	},
	"ReviewSuggestion": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.ReviewSuggestion(t.Context(), f.source, decision(f.suggestion, models.ReviewStatusRejected))
		requireCode(t, errs.Forbidden, err)
		_, err = o.ReviewSuggestion(t.Context(), ids.New(ids.Source, time.Now()), decision(f.suggestion, models.ReviewStatusRejected))
		requireCode(t, errs.NotFound, err)
	},
	"ApplySuggestion": func(t *testing.T, o store.Org, f foreign) {
		_, _, err := o.ApplySuggestion(t.Context(), f.source, f.suggestion, application(f.suite))
		requireCode(t, errs.Forbidden, err)
	},
	"ClearReview": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.ClearReview(t.Context(), f.source, f.suggestion)
		requireCode(t, errs.Forbidden, err)
	},
	"ReviewsOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.ReviewsOf(t.Context(), []ids.ID{f.source}, models.ReviewList{Window: everything})
		requireEmptyPage(t, pages[f.source], err)
	},
	"Run": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.Run(t.Context(), f.run)
		requireCode(t, errs.NotFound, err)
	},
	"RecordRun": func(t *testing.T, o store.Org, f foreign) {
		_, _, err := o.RecordRun(t.Context(), report(f.suite, "secret", "pp"))
		requireCode(t, errs.NotFound, err)
	},
	"Runs": func(t *testing.T, o store.Org, f foreign) {
		for _, filter := range []models.RunFilter{{}, {SuiteID: set(&f.suite)}} {
			page, err := o.Runs(t.Context(), filter, everything)
			requireEmptyPage(t, page, err)
		}
	},
	"RunsOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.RunsOf(t.Context(), []ids.ID{f.suite}, models.RunList{Window: everything})
		requireEmptyPage(t, pages[f.suite], err)
	},
	"RunsOfSnapshots": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.RunsOfSnapshots(t.Context(), []ids.ID{f.snapshot}, models.RunList{Window: everything})
		requireEmptyPage(t, pages[f.snapshot], err)
	},
	"ResultsOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.ResultsOf(t.Context(), []ids.ID{f.run}, models.ResultList{Window: everything})
		requireEmptyPage(t, pages[f.run], err)
	},
	"CompareRuns": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.CompareRuns(t.Context(), f.run, f.run)
		requireCode(t, errs.NotFound, err)
	},
}

func init() { maps.Copy(tenancy, reviewing) }

// reviewed adds suggestions, a review and runs to an organization's objects.
func (w world) reviewed(t *testing.T, org store.Org, f *foreign) {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	c := models.Canonical{Sessions: []models.SessionRecord{session("secret")}}
	for _, text := range []string{"the secret question", "the secret questions"} {
		c.Prompts = append(c.Prompts, models.PromptRecord{PromptID: text, SessionID: "secret", OccurredAt: &at, PromptText: &text})
		c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: text, SessionID: "secret", OccurredAt: &at, SkillName: "secret", Triggered: new(false), MatchedPromptID: &text})
	}
	_, err := org.Push(t.Context(), &models.Push{ID: ids.New(ids.Push, at), Canonical: c})
	require.NoError(t, err)
	skill, err := org.Skill(t.Context(), models.SkillKey{Name: "secret"})
	require.NoError(t, err)
	f.skill = skill.ID
	dbtest.Exec(t, w.url, "UPDATE cloud_sources SET skill_id = $2 WHERE id = $1", f.source, f.skill)
	_, err = org.Suggest(t.Context())
	require.NoError(t, err)
	found, err := org.SuggestionsOf(t.Context(), []ids.ID{f.source}, models.SuggestionList{Window: everything, Order: models.SuggestionOrderConfidence})
	require.NoError(t, err)
	require.Len(t, found[f.source].Nodes, 2)
	f.suggestion = found[f.source].Nodes[0].ID
	review, err := org.ReviewSuggestion(t.Context(), f.source, decision(f.suggestion, models.ReviewStatusAccepted))
	require.NoError(t, err)
	f.review = review.ID
	s := triggerSuite(t, org, f.source)
	f.suite = s.ID
	record(t, org, report(s.ID, "secret", "pp"))
	f.run = record(t, org, report(s.ID, "secret 2", "fp")).ID
	f.result = results(t, org, f.run)[0].ID
}

// The same verbs find what is the organization's own.
func TestOwnReviews(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.objects(t, w.acme, w.owner)
	w.reviewed(t, w.acme, &f)
	o := w.acme
	requireOne(t, o.SuggestionsByID, f.suggestion)
	requireOne(t, o.ReviewsByID, f.review)
	requireOne(t, o.ReviewsOfSuggestions, f.suggestion)
	requireOne(t, o.RunsByID, f.run)
	requireOne(t, o.ResultsByID, f.result)
	requireOne(t, o.PreviousRuns, f.run)
	requireOne(t, o.RevisionsOfRuns, f.run)
	requireOne(t, o.CasesOfRuns, f.run)
	similar, err := o.SimilarTo(t.Context(), []ids.ID{f.suggestion}, 20)
	require.NoError(t, err)
	require.Len(t, similar[f.suggestion], 1)
}

// The database refuses a link across organizations.
func TestForeignKeysOfRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine, theirs := w.objects(t, w.acme, w.owner), w.objects(t, w.other, w.stranger)
	w.reviewed(t, w.acme, &mine)
	w.reviewed(t, w.other, &theirs)
	conn := w.conn(t)
	for name, row := range map[string]struct {
		sql      string
		own, bad ids.ID
	}{
		"run to suite":           {"UPDATE eval_runs SET suite_id = $2 WHERE org_id = $1", mine.suite, theirs.suite},
		"run to author":          {"UPDATE eval_runs SET created_by = $2 WHERE org_id = $1", mine.user, theirs.user},
		"result to run":          {"UPDATE eval_results SET run_id = $2 WHERE org_id = $1 AND case_id = 'b' AND run_id = (SELECT max(id::text)::uuid FROM eval_runs WHERE org_id = $1)", mine.run, theirs.run},
		"suggestion to source":   {"UPDATE eval_suggestions SET source_id = $2 WHERE org_id = $1", mine.source, theirs.source},
		"evidence to suggestion": {"UPDATE suggestion_evidence SET suggestion_id = $2 WHERE org_id = $1", mine.suggestion, theirs.suggestion},
		"review to source":       {"UPDATE suggestion_reviews SET source_id = $2 WHERE org_id = $1", mine.source, theirs.source},
		"review to suite":        {"UPDATE suggestion_reviews SET applied_suite_id = $2 WHERE org_id = $1", mine.suite, theirs.suite},
		"review to author":       {"UPDATE suggestion_reviews SET reviewed_by = $2 WHERE org_id = $1", mine.user, theirs.user},
	} {
		_, err := conn.Exec(t.Context(), row.sql, mine.org, row.own)
		require.NoError(t, err, name)
		_, err = conn.Exec(t.Context(), row.sql, mine.org, row.bad)
		require.ErrorContains(t, err, "foreign key", name)
	}
}
