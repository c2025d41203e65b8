package loader_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// suggested fills acme: n skills, each with a source, which has a suite with two runs, and a suggestion of telemetry and one of the runs, all of them
// reviewed by a member of their own.
func suggested(t *testing.T, n int) *apitest.Server {
	t.Helper()
	s := apitest.New(t)
	ctx, at := t.Context(), apitest.Noon.Add(-time.Hour)
	var c models.Canonical
	for i := range n {
		id := fmt.Sprintf("%03d", i)
		c.Sessions = append(c.Sessions, models.SessionRecord{SessionID: id})
		for _, text := range []string{"please fill in the form", "please fill in the forms"} {
			key := id + text
			c.Prompts = append(c.Prompts, models.PromptRecord{PromptID: key, SessionID: id, OccurredAt: &at, PromptText: &text})
			c.Invocations = append(c.Invocations, models.InvocationRecord{InvocationID: key, SessionID: id, OccurredAt: &at, SkillName: "skill " + id, Triggered: new(false), MatchedPromptID: &key})
		}
	}
	_, err := s.Org().Push(ctx, &models.Push{ID: ids.New(ids.Push, at), Canonical: c})
	require.NoError(t, err)
	dbtest.Exec(t, s.Database, "INSERT INTO cloud_sources (org_id, id, label, source_type, skill_id, created_at) SELECT org_id, gen_random_uuid(), name, 'UPLOAD', id, now() FROM skills")
	s.Suggest(t)
	skills, err := s.Org().Skills(ctx, models.SkillFilter{}, models.SkillOrderName, models.Window{Limit: n})
	require.NoError(t, err)
	for i, skill := range skills.Nodes {
		u, err := s.Org().AddMember(ctx, fmt.Sprintf("reviewer%d@example.com", i), models.RoleMember)
		require.NoError(t, err)
		org := s.Store.Org(s.Orgs["acme"], u.ID)
		found, err := org.SuggestionsOfSkills(ctx, []ids.ID{skill.ID}, models.SuggestionList{Window: models.Window{Limit: 1}, Order: models.SuggestionOrderConfidence})
		require.NoError(t, err)
		suggestion := found[skill.ID].Nodes[0]
		suite, err := org.CreateSuite(ctx, models.CreateSuiteInput{
			Name: "s", SourceID: graphql.OmittableOf(&suggestion.SourceID), SourceKind: models.SuiteSourceKindManual, VerifierKind: models.VerifierKindLLMJudge,
			CasesJSON: models.JSON(`[{"id":"a","case_kind":"trigger_query","query":"a","expectation":"should_trigger"},{"id":"b","case_kind":"trigger_query","query":"b","expectation":"should_trigger"}]`),
		})
		require.NoError(t, err)
		_, _, err = org.ApplySuggestion(ctx, suggestion.SourceID, suggestion.ID, models.ApplySuggestionInput{
			SuiteID: suite.ID, Query: suggestion.Query, ShouldTrigger: true, Source: suggestion.Source(), Provenance: suggestion.Provenance,
		})
		require.NoError(t, err)
		for n, outcomes := range []string{"passed passed", "passed failed"} {
			a, b, _ := strings.Cut(outcomes, " ")
			_, _, err = org.RecordRun(ctx, models.RecordRunInput{
				SuiteID: suite.ID, Variant: models.RunVariantSkill, RunKey: fmt.Sprint(suite.ID, n),
				Results: models.JSON(fmt.Sprintf(`[{"case_id":"a","outcome":"%s"},{"case_id":"b","outcome":"%s"}]`, a, b)),
			})
			require.NoError(t, err)
		}
	}
	return s.Counting(t)
}

var runCosts = []cost{
	{"Skill.suggestions", `skills(first: $n) { nodes { suggestions(first: 3) { nodes { query rationale } } } }`, 2, 100},
	{"with totals", `skills(first: $n) { nodes { suggestions(first: 3) { totalCount nodes { query } } } }`, 3, 100},
	{"two filters", `skills(first: $n) { nodes { a: suggestions(first: 1, filter: {status: PENDING}) { nodes { id } } b: suggestions(first: 1, orderBy: CONFIDENCE) { nodes { id } } } }`, 3, 100},
	{"the same filter twice", `skills(first: $n) { nodes { a: suggestions(first: 1, filter: {status: PENDING, minObserved: 1}) { nodes { id } } b: suggestions(first: 1, filter: {minObserved: 1, status: PENDING}) { nodes { query } } } }`, 2, 100},
	{"EvalSuggestion.review and status", `skills(first: $n) { nodes { suggestions(first: 3) { nodes { status review { reviewStatus } } } } }`, 3, 100},
	{"status of what was reached through its review", `skills(first: $n) { nodes { suggestions(first: 3) { nodes { review { id suggestion { status } } } } } }`, 5, 100}, // the review once to be shown, once to compute with
	{"SuggestionReview.reviewedBy, appliedSuite and suggestion", `skills(first: $n) { nodes { suggestions(first: 3) { nodes { review { reviewedBy { email } appliedSuite { name } suggestion { query } } } } } }`, 6, 100},
	{"EvalSuggestion.similar", `skills(first: $n) { nodes { suggestions(first: 1, filter: {provenance: MISSED_QUERY}) { nodes { similar(first: 2) { similarity suggestion { query } } } } } }`, 4, 40},
	{"EvalSuggestion.evidence", `skills(first: $n) { nodes { suggestions(first: 3) { nodes { evidence(first: 1) { nodes { sessionKey promptKey run { runKey } } } } } } }`, 4, 100},
	{"EvalSuite.runs", `suites(first: $n) { nodes { runs(first: 2) { totalCount nodes { status passRate { value low } } } } }`, 3, 100},
	{"EvalRun.suite, suiteRevision, createdBy and previous", `runs(first: $n) { nodes { suite { name } suiteRevision { number } createdBy { email } previous { runKey } } }`, 5, 100},
	{"EvalRun.results", `runs(first: $n) { nodes { results(first: 2) { totalCount nodes { outcome } } } }`, 3, 100},
	{"EvalResult.case and run", `runs(first: $n) { nodes { results(first: 2) { nodes { case { id ... on TriggerQueryCase { query } } run { runKey } } } } }`, 4, 100},
	{"EvalRun.version and suggestions", `runs(first: $n) { nodes { version { version } suggestions(first: 1, filter: {status: PENDING}) { nodes { query } } } }`, 2, 100},
	{"EvalResult.suggestion and its skill", `runs(first: $n) { nodes { results(first: 2) { nodes { suggestion { query skill { name } } } } } }`, 4, 100},
	{"runs and reviews from both ends", `suites(first: $n) { nodes { skill { name runs(first: 1) { nodes { id } } } reviews(first: 1) { nodes { query } } source { runs(first: 1) { nodes { id } } reviews(first: 1, filter: {reviewStatus: ACCEPTED}) { nodes { id } } } } }`, 7, 100},
	{"events of runs", `events(first: $n, filter: {kinds: ["run.recorded"]}) { nodes { object { ... on EvalRun { suite { name } } } } }`, 3, 100},
	{"CloudSource.suggestions", `sources(first: $n) { nodes { suggestions(first: 2) { nodes { query cloudSource { label } } } } }`, 3, 100},
	{"CloudSource.reviews", `sources(first: $n) { nodes { reviews(first: 2) { nodes { reviewStatus cloudSource { label } } } } }`, 3, 100},
	{"events of suggestions", `events(first: $n, filter: {kinds: ["suggestion.applied"]}) { nodes { object { ... on EvalSuggestion { query } } } }`, 2, 100},
}

const comparison = `compareRuns(baseId: "%s", headId: "%s") { pValue base { runKey } head { runKey } broken { caseKey base { outcome } head { outcome } } fixed { base { outcome } head { outcome } } }`

// Suggestions, reviews and runs with everything that hangs on them take the same number of statements for 1, 10 and 100 of them.
func TestRunStatements(t *testing.T) {
	t.Parallel()
	s := suggested(t, 100)
	for _, row := range runCosts {
		for _, n := range []int{1, 10, row.most} {
			requireStatements(t, s, row.want, strings.ReplaceAll(row.query, "$n", fmt.Sprint(n)), fmt.Sprintf("%s of %d parents", row.name, n))
		}
	}

	runs, err := s.Org().Runs(t.Context(), models.RunFilter{}, models.Window{Limit: 2})
	require.NoError(t, err)
	requireStatements(t, s, 7, fmt.Sprintf(comparison, runs.Nodes[1].ID, runs.Nodes[0].ID), "a comparison")
}

// A client may call anything by the id of a suggestion on another source: that is no review of the suggestion.
func TestReviewOnAnotherSource(t *testing.T) {
	t.Parallel()
	s := suggested(t, 2)
	ctx, org := t.Context(), s.Org()
	sources, err := org.Sources(ctx, models.SourceFilter{}, models.Window{Limit: 2})
	require.NoError(t, err)
	source, other := sources.Nodes[0].ID, sources.Nodes[1].ID
	found, err := org.SuggestionsOf(ctx, []ids.ID{source}, models.SuggestionList{Window: models.Window{Limit: 10}, Order: models.SuggestionOrderConfidence})
	require.NoError(t, err)
	const query = `{ sources { nodes { suggestions { nodes { id status review { reviewStatus cloudSource { id } } } } } } }`
	before := s.Query(t, "owner", query, nil)
	for _, status := range []string{"ACCEPTED", "PENDING"} {
		require.Contains(t, fmt.Sprint(before), "status:"+status)
	}
	for _, suggestion := range found[source].Nodes {
		_, err = org.ReviewSuggestion(ctx, other, models.ReviewSuggestionInput{
			SuggestionID: suggestion.ID, Query: "something else", ShouldTrigger: true, ReviewStatus: models.ReviewStatusRejected,
			Source: suggestion.Source(), Provenance: suggestion.Provenance,
		})
		require.NoError(t, err)
	}
	require.Equal(t, before, s.Query(t, "owner", query, nil))
}
