package store_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// decision is what somebody says about a suggestion.
func decision(suggestion ids.ID, status models.ReviewStatus) models.ReviewSuggestionInput {
	return models.ReviewSuggestionInput{
		SuggestionID: suggestion, Query: "Fill in the form", ShouldTrigger: true, ReviewStatus: status,
		Source: models.EvidenceSourceLinkedTelemetry, Provenance: models.ProvenanceMissedQuery,
	}
}

// forSuite accepts a suggestion for a suite.
func forSuite(suggestion, suite ids.ID) models.ReviewSuggestionInput {
	in := decision(suggestion, models.ReviewStatusAccepted)
	in.AcceptTarget, in.AppliedSuiteID = set(new(models.AcceptTargetSavedSuite)), set(&suite)
	return in
}

func application(suite ids.ID) models.ApplySuggestionInput {
	return models.ApplySuggestionInput{
		SuiteID: suite, Query: "Fill in the form", ShouldTrigger: true, Source: models.EvidenceSourceHostedRun, Provenance: models.ProvenanceRunFailure, InvocationType: set(new("implicit")),
	}
}

// newSuggestion is the id of a suggestion that only a client knows.
func newSuggestion() ids.ID { return ids.New(ids.Suggestion, time.Now()) }

// suiteOf makes a suite of a source with one case.
func suiteOf(t testing.TB, org store.Org, source ids.ID, changes ...func(*models.CreateSuiteInput)) *models.EvalSuite {
	t.Helper()
	in := newSuite("of a source")
	in.SourceID = set(&source)
	for _, change := range changes {
		change(&in)
	}
	s, err := org.CreateSuite(t.Context(), in)
	require.NoError(t, err)
	return s
}

// caseList are the present cases of a suite.
func caseList(t testing.TB, org store.Org, suite ids.ID) (out []map[string]any) {
	t.Helper()
	raw, err := org.CasesOfSuites(t.Context(), []ids.ID{suite})
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw[suite], &out))
	return out
}

func TestReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, id := w.source(t, w.acme), newSuggestion()
	in := decision(id, models.ReviewStatusAccepted)
	in.Rationale, in.ObservedCount, in.Confidence, in.InvocationType = set(new("why\nnot")), set(new(2.5)), set(new(1.0)), set(new("implicit"))
	in.LastObservedAt = set(new(noon))
	first, err := w.acme.ReviewSuggestion(t.Context(), source, in)
	require.NoError(t, err)
	require.Equal(t, models.AcceptTargetDraft, *first.AcceptTarget)
	require.Nil(t, first.AppliedSuiteID)
	require.Nil(t, first.AppliedToSuiteAt)
	require.Equal(t, w.owner.UserID, *first.ReviewedByID)
	require.Equal(t, ids.Review, first.ID.Kind())
	found, err := w.acme.ReviewsByID(t.Context(), []ids.ID{first.ID})
	require.NoError(t, err)
	require.Equal(t, first, found[first.ID])

	again := decision(id, models.ReviewStatusAccepted)
	again.Query = "other words"
	same, err := w.acme.ReviewSuggestion(t.Context(), source, again)
	require.NoError(t, err)
	require.Equal(t, first, same, "the same decision answers the same record")
	_, err = w.acme.ReviewSuggestion(t.Context(), source, decision(id, models.ReviewStatusRejected))
	requireCode(t, errs.Conflict, err)
	require.EqualError(t, err, "The suggestion is accepted already: clear its review first")

	gone, err := w.acme.ClearReview(t.Context(), source, id)
	require.NoError(t, err)
	require.Equal(t, first.ID, gone)
	_, err = w.acme.ClearReview(t.Context(), source, id)
	requireCode(t, errs.NotFound, err)
	require.EqualError(t, err, "Review not found")

	no := decision(id, models.ReviewStatusRejected)
	no.AcceptTarget, no.AppliedSuiteID = set(new(models.AcceptTargetSavedSuite)), set(new(newSuggestion()))
	rejected, err := w.acme.ReviewSuggestion(t.Context(), source, no)
	require.NoError(t, err, "what is only for accepted ones is left alone")
	require.Nil(t, rejected.AcceptTarget)
	require.Nil(t, rejected.AppliedSuiteID)
	_, err = w.acme.ReviewSuggestion(t.Context(), source, decision(id, models.ReviewStatusAccepted))
	requireCode(t, errs.Conflict, err)
	_, _, err = w.acme.ApplySuggestion(t.Context(), source, id, application(suiteOf(t, w.acme, source).ID))
	requireCode(t, errs.Conflict, err)
	require.EqualError(t, err, "The suggestion is rejected already: clear its review first")

	other := w.source(t, w.acme)
	_, err = w.acme.ReviewSuggestion(t.Context(), other, decision(id, models.ReviewStatusAccepted))
	require.NoError(t, err, "another source, another review")
	_, err = w.acme.ClearReview(t.Context(), other, newSuggestion())
	require.EqualError(t, err, "Review not found")

	list, err := w.acme.ReviewsOf(t.Context(), []ids.ID{source, other}, models.ReviewList{Window: everything})
	require.NoError(t, err)
	require.Len(t, list[source].Nodes, 1)
	require.Len(t, list[other].Nodes, 1)
	kinds := slices.DeleteFunc(happened(t, w.acme), func(k string) bool { return !strings.HasPrefix(k, "suggestion.") })
	require.Equal(t, []string{"suggestion.reviewed", "suggestion.cleared", "suggestion.reviewed", "suggestion.reviewed"}, kinds)
}

func TestReviewInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.source(t, w.acme)
	for name, row := range map[string]struct {
		field string
		spoil func(*models.ReviewSuggestionInput)
	}{
		"no query":            {"query", func(in *models.ReviewSuggestionInput) { in.Query = " \n" }},
		"a book":              {"query", func(in *models.ReviewSuggestionInput) { in.Query = strings.Repeat("x", 8001) }},
		"NUL":                 {"query", func(in *models.ReviewSuggestionInput) { in.Query = "a\x00b" }},
		"no suite":            {"appliedSuiteId", func(in *models.ReviewSuggestionInput) { in.AcceptTarget = set(new(models.AcceptTargetSavedSuite)) }},
		"negative count":      {"observedCount", func(in *models.ReviewSuggestionInput) { in.ObservedCount = set(new(-1.0)) }},
		"too confident":       {"confidence", func(in *models.ReviewSuggestionInput) { in.Confidence = set(new(1.01)) }},
		"negative confidence": {"confidence", func(in *models.ReviewSuggestionInput) { in.Confidence = set(new(-0.01)) }},
		"long rationale":      {"rationale", func(in *models.ReviewSuggestionInput) { in.Rationale = set(new(strings.Repeat("x", 2001))) }},
		"long type":           {"invocationType", func(in *models.ReviewSuggestionInput) { in.InvocationType = set(new(strings.Repeat("x", 101))) }},
	} {
		in := decision(newSuggestion(), models.ReviewStatusAccepted)
		row.spoil(&in)
		_, err := w.acme.ReviewSuggestion(t.Context(), source, in)
		requireField(t, row.field, err, name)
	}
	for name, row := range map[string]struct {
		field string
		spoil func(*models.ApplySuggestionInput)
	}{
		"no query":       {"query", func(in *models.ApplySuggestionInput) { in.Query = "" }},
		"negative count": {"observedCount", func(in *models.ApplySuggestionInput) { in.ObservedCount = set(new(-1.0)) }},
		"too confident":  {"confidence", func(in *models.ApplySuggestionInput) { in.Confidence = set(new(2.0)) }},
	} {
		in := application(suiteOf(t, w.acme, source).ID)
		row.spoil(&in)
		_, _, err := w.acme.ApplySuggestion(t.Context(), source, newSuggestion(), in)
		requireField(t, row.field, err, name)
	}
	require.Zero(t, w.count(t, "SELECT count(*) FROM suggestion_reviews"))
}

// requireField is for an error that names the field at fault.
func requireField(t *testing.T, path string, err error, name string) {
	t.Helper()
	var e *errs.Error
	require.ErrorAs(t, err, &e, name)
	require.Equal(t, errs.Invalid, e.Code, name)
	require.Equal(t, path, strings.Join(e.Path, "."), "%s: %s", name, e.Message)
}

func TestApply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, id := w.source(t, w.acme), newSuggestion()
	suite, second := suiteOf(t, w.acme, source), suiteOf(t, w.acme, source)
	got, review, err := w.acme.ApplySuggestion(t.Context(), source, id, application(suite.ID))
	require.NoError(t, err)
	require.Equal(t, 2, got.CaseCount)
	require.Equal(t, 2, got.Revision)
	require.Equal(t, models.SuiteKindTriggerQuery, got.SuiteKind)
	require.Equal(t, models.ReviewStatusAccepted, review.ReviewStatus)
	require.Equal(t, models.AcceptTargetSavedSuite, *review.AcceptTarget)
	require.Equal(t, suite.ID, *review.AppliedSuiteID)
	require.NotNil(t, review.AppliedToSuiteAt)
	found, err := w.acme.ReviewsByID(t.Context(), []ids.ID{review.ID})
	require.NoError(t, err)
	require.Equal(t, review, found[review.ID])
	cases := caseList(t, w.acme, suite.ID)
	require.Len(t, cases, 2)
	require.NotEmpty(t, cases[1]["id"])
	delete(cases[1], "id")
	require.Equal(t, map[string]any{"case_kind": "trigger_query", "query": "Fill in the form", "expectation": "should_trigger", "invocation_type": "implicit", "suggestion_id": id.String()}, cases[1])

	got, again, err := w.acme.ApplySuggestion(t.Context(), source, id, application(suite.ID))
	require.NoError(t, err)
	require.Equal(t, review, again)
	require.Equal(t, 2, got.CaseCount, "one case")
	_, _, err = w.acme.ApplySuggestion(t.Context(), source, id, application(second.ID))
	requireCode(t, errs.Conflict, err)
	_, err = w.acme.ReviewSuggestion(t.Context(), source, forSuite(id, second.ID))
	requireCode(t, errs.Conflict, err)
	same, err := w.acme.ReviewSuggestion(t.Context(), source, decision(id, models.ReviewStatusAccepted))
	require.NoError(t, err)
	require.Equal(t, review, same, "what is in a suite is not made a draft")

	_, err = w.acme.ClearReview(t.Context(), source, id)
	require.NoError(t, err)
	require.Len(t, caseList(t, w.acme, suite.ID), 2, "the case stays")
	got, fresh, err := w.acme.ApplySuggestion(t.Context(), source, id, application(suite.ID))
	require.NoError(t, err)
	require.Equal(t, 2, got.CaseCount, "the suite remembers")
	require.NotEqual(t, review.ID, fresh.ID)
	require.NotNil(t, fresh.AppliedToSuiteAt)
	require.Equal(t, 2, got.Revision)
}

// A draft that is accepted for a suite, by review or by apply-to-suite, is upgraded.
func TestUpgradeDraft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.source(t, w.acme)
	suite := suiteOf(t, w.acme, source, func(in *models.CreateSuiteInput) {
		in.CasesJSON = models.JSON(`[{"case_kind":"llm_rubric","prompt":"p","rubric":"r"}]`)
	})
	byReview, byApply := newSuggestion(), newSuggestion()
	for _, id := range []ids.ID{byReview, byApply} {
		in := decision(id, models.ReviewStatusAccepted)
		in.Rationale, in.Confidence = set(new("why")), set(new(0.5))
		_, err := w.acme.ReviewSuggestion(t.Context(), source, in)
		require.NoError(t, err)
	}
	draft, err := w.acme.ReviewSuggestion(t.Context(), source, decision(byReview, models.ReviewStatusAccepted))
	require.NoError(t, err)
	in := forSuite(byReview, suite.ID)
	in.Query, in.ShouldTrigger, in.InvocationType = `what <b>they</b> "really" said`, false, set(new("implicit"))
	review, err := w.acme.ReviewSuggestion(t.Context(), source, in)
	require.NoError(t, err)
	require.Equal(t, draft.ID, review.ID)
	require.Equal(t, models.AcceptTargetSavedSuite, *review.AcceptTarget)
	require.Equal(t, in.Query, review.Query, "the record says what is in the suite")
	require.Equal(t, draft.ReviewedAt, review.ReviewedAt)
	require.Equal(t, "why", *review.Rationale, "what is not said again stays")
	require.InDelta(t, 0.5, *review.Confidence, 0)
	_, _, err = w.acme.ApplySuggestion(t.Context(), source, byApply, application(suite.ID))
	require.NoError(t, err)

	raw, err := w.acme.CasesOfSuites(t.Context(), []ids.ID{suite.ID})
	require.NoError(t, err)
	require.Contains(t, string(raw[suite.ID]), `"query":"what <b>they</b> \"really\" said","expectation":"should_not_trigger","suggestion_id"`)
	got, err := w.acme.Suite(t.Context(), suite.ID)
	require.NoError(t, err)
	require.Equal(t, models.SuiteKindMixed, got.SuiteKind)
	require.Equal(t, 3, got.CaseCount)
	typed, err := models.ReadCases(raw[suite.ID])
	require.NoError(t, err)
	require.Len(t, typed, 3)
	revisions, err := w.acme.RevisionsOf(t.Context(), []ids.ID{suite.ID}, everything)
	require.NoError(t, err)
	require.Len(t, revisions[suite.ID].Nodes, 3, "every append is a revision")
	kinds := slices.DeleteFunc(happened(t, w.acme), func(k string) bool { return !strings.HasPrefix(k, "suggestion.") })
	require.Equal(t, []string{"suggestion.reviewed", "suggestion.reviewed", "suggestion.applied", "suggestion.applied"}, kinds)
}

// What a suite must be to take a suggestion.
func TestApplyTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, other := w.source(t, w.acme), w.source(t, w.acme)
	full := make([]string, 500)
	for i := range full {
		full[i] = `{"case_kind":"trigger_query","query":"q","expectation":"should_trigger"}`
	}
	archived := suiteOf(t, w.acme, source)
	_, err := w.acme.ArchiveSuite(t.Context(), archived.ID, true)
	require.NoError(t, err)
	theirs := suiteOf(t, w.other, w.source(t, w.other))
	for name, row := range map[string]struct {
		suite   ids.ID
		code    errs.Code
		message string
	}{
		"of another source": {suiteOf(t, w.acme, other).ID, errs.Invalid, "must be a suite of the same cloud source"},
		"of no source":      {suite(t, w.acme, "free").ID, errs.Invalid, "must be a suite of the same cloud source"},
		"deterministic": {suiteOf(t, w.acme, source, func(in *models.CreateSuiteInput) {
			in.VerifierKind, in.CasesJSON = models.VerifierKindDeterministic, models.JSON(`[{"case_kind":"exact_match","input":"i","expected":"e"}]`)
		}).ID, errs.Invalid, "must be a suite with verifier_kind llm_judge, not deterministic"},
		"full": {
			suiteOf(t, w.acme, source, func(in *models.CreateSuiteInput) { in.CasesJSON = models.JSON("[" + strings.Join(full, ",") + "]") }).ID,
			errs.Conflict, "The suite has 500 cases, and no room for another",
		},
		"archived": {archived.ID, errs.Conflict, "The suite is archived: restore it before changing it"},
		"unknown":  {ids.New(ids.Suite, time.Now()), errs.NotFound, ""},
		"foreign":  {theirs.ID, errs.NotFound, ""},
	} {
		id := newSuggestion()
		_, _, err := w.acme.ApplySuggestion(t.Context(), source, id, application(row.suite))
		requireCode(t, row.code, err)
		_, again := w.acme.ReviewSuggestion(t.Context(), source, forSuite(id, row.suite))
		requireCode(t, row.code, again)
		if row.message != "" {
			require.EqualError(t, err, row.message, name)
		}
		if row.code == errs.Invalid {
			requireField(t, "suiteId", err, name)
			requireField(t, "appliedSuiteId", again, name)
		}
	}
	require.Zero(t, w.count(t, "SELECT count(*) FROM suggestion_reviews"), "all or nothing")

	// What is there already needs no room, and no open door.
	id := newSuggestion()
	s := suiteOf(t, w.acme, source)
	_, _, err = w.acme.ApplySuggestion(t.Context(), source, id, application(s.ID))
	require.NoError(t, err)
	_, err = w.acme.ArchiveSuite(t.Context(), s.ID, true)
	require.NoError(t, err)
	_, _, err = w.acme.ApplySuggestion(t.Context(), source, id, application(s.ID))
	require.NoError(t, err)
	_, err = w.acme.ClearReview(t.Context(), source, id)
	require.NoError(t, err)
	_, _, err = w.acme.ApplySuggestion(t.Context(), source, id, application(s.ID))
	require.NoError(t, err)
}

// A review whose suite is deleted is a draft again, that can go elsewhere.
func TestDeleteAppliedSuite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source, id := w.source(t, w.acme), newSuggestion()
	s := suiteOf(t, w.acme, source)
	_, review, err := w.acme.ApplySuggestion(t.Context(), source, id, application(s.ID))
	require.NoError(t, err)
	require.NoError(t, w.acme.DeleteSuite(t.Context(), s.ID))
	found, err := w.acme.ReviewsByID(t.Context(), []ids.ID{review.ID})
	require.NoError(t, err)
	require.Equal(t, models.AcceptTargetDraft, *found[review.ID].AcceptTarget)
	require.Nil(t, found[review.ID].AppliedSuiteID)
	require.Nil(t, found[review.ID].AppliedToSuiteAt)
	_, _, err = w.acme.ApplySuggestion(t.Context(), source, id, application(suiteOf(t, w.acme, source).ID))
	require.NoError(t, err)
}
