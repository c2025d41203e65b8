package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// hostedCases are those of a suite that belongs to the uploaded source.
const hostedCases = `[
	{"case_kind": "trigger_query", "id": "w9", "query": "Put my details into this W-9", "expectation": "should_trigger", "invocation_type": "implicit"},
	{"case_kind": "trigger_query", "id": "lease", "query": "Complete the lease application with what I told you", "expectation": "should_trigger"},
	{"case_kind": "trigger_query", "id": "checkboxes", "query": "Tick the right boxes on page 3 of the form", "expectation": "should_trigger"},
	{"case_kind": "trigger_query", "id": "signature", "query": "Where do I have to sign?", "expectation": "should_trigger"},
	{"case_kind": "trigger_query", "id": "summary", "query": "Summarize this PDF in three sentences", "expectation": "should_not_trigger"},
	{"case_kind": "llm_rubric", "id": "asks", "prompt": "Fill in the form, I am Ada", "rubric": "asks for what is missing, all at once"}]`

// hostedRuns are runs of it, oldest first, by outcomes in the order of the cases: p(assed), f(ailed), s(kipped). The last release broke something.
var hostedRuns = []struct {
	key, outcomes string
	daysAgo       int
}{
	{"release-1.1", "ppfpps", 21},
	{"release-1.2", "pppppp", 9},
	{"release-1.3", "fppfpp", 1},
}

// runs makes suggestions from the telemetry, records runs of a suite, and has people decide about some of what was suggested.
func runs(ctx context.Context, ada, grace actor, now time.Time) error {
	found, err := ada.Sources(ctx, models.SourceFilter{Type: graphql.OmittableOf(new(models.SourceTypeUpload))}, models.Window{Limit: 1})
	if err != nil {
		return err
	}
	source := found.Nodes[0].ID
	if err := wishes(ctx, ada, now); err != nil {
		return err
	}
	for n := 1; n > 0; {
		if n, err = ada.Suggest(ctx); err != nil {
			return err
		}
	}
	suite, err := grace.CreateSuite(ctx, models.CreateSuiteInput{
		Name: "PDF forms: release checks", SourceID: graphql.OmittableOf(&source), SourceKind: models.SuiteSourceKindManual,
		VerifierKind: models.VerifierKindLLMJudge, SupportsNoSkill: graphql.OmittableOf(new(true)), CasesJSON: models.JSON(hostedCases),
	})
	if err != nil {
		return err
	}
	for _, r := range hostedRuns {
		if err := hostedRun(ctx, grace, suite.ID, r.key, r.outcomes, now.AddDate(0, 0, -r.daysAgo)); err != nil {
			return err
		}
	}
	return decide(ctx, ada, grace, source, suite.ID)
}

func hostedRun(ctx context.Context, by actor, suite ids.ID, key, outcomes string, at time.Time) error {
	names := map[rune]string{'p': "passed", 'f': "failed", 's': "skipped"}
	var results []string
	for i, id := range []string{"w9", "lease", "checkboxes", "signature", "summary", "asks"} {
		results = append(results, fmt.Sprintf(`{"case_id": %q, "outcome": %q, "duration_ms": %d}`, id, names[rune(outcomes[i])], 900+370*i))
	}
	_, _, err := by.RecordRun(ctx, models.RecordRunInput{
		SuiteID: suite, Variant: models.RunVariantSkill, RunKey: key, Results: models.JSON("[" + strings.Join(results, ",") + "]"),
		StartedAt: graphql.OmittableOf(new(at.Add(-10 * time.Minute))), FinishedAt: graphql.OmittableOf(&at),
	})
	return err
}

// wishes is a session in which the skill did badly, and somebody said what it should have been used for.
func wishes(ctx context.Context, by actor, now time.Time) error {
	at, skill, id := now.Add(-3*time.Hour), "pdf-forms", by.ID().String()[:8]+"-wishes"
	c := models.Canonical{Sessions: []models.SessionRecord{{SessionID: id, StartedAt: &at}}}
	for i, q := range []string{"Please fill in the tax form ~/forms/1040.pdf for me", "Merge the two invoices into one PDF file", "Copy the answers from last year's form"} {
		c.Signals = append(c.Signals, models.SignalRecord{SignalID: fmt.Sprint(id, "-", i), SessionID: id, OccurredAt: &at, Query: &q, SignalType: new("missed_skill"), MentionedSkill: &skill})
	}
	c.Prompts = []models.PromptRecord{{PromptID: id, SessionID: id, OccurredAt: &at, PromptText: new("Translate this form into Spanish and keep its fields"), IsActionable: new(true)}}
	c.Invocations = []models.InvocationRecord{{InvocationID: id, SessionID: id, OccurredAt: &at, SkillName: skill, Triggered: new(true), Confidence: new(.61), InvocationMode: new("implicit"), MatchedPromptID: &id}}
	c.Gradings = []models.GradingRecord{{GradingID: id, SessionID: id, SkillName: skill, GradedAt: &at, PassedCount: new(int64(1)), TotalCount: new(int64(5))}}
	_, err := by.Push(ctx, &models.Push{ID: ids.New(ids.Push, now), Canonical: c})
	return err
}

// decide applies the first suggestion to the suite and rejects the last one of telemetry.
func decide(ctx context.Context, ada, grace actor, source, suite ids.ID) error {
	pages, err := ada.SuggestionsOf(ctx, []ids.ID{source}, models.SuggestionList{
		Window: models.Window{Limit: 100}, Order: models.SuggestionOrderObservedCount, Source: models.EvidenceSourceLinkedTelemetry,
	})
	if err != nil {
		return err
	}
	list := pages[source].Nodes
	if len(list) < 2 {
		return errors.New("demo: there are no suggestions to decide about")
	}
	first, last := list[0], list[len(list)-1]
	if _, _, err := grace.ApplySuggestion(ctx, source, first.ID, models.ApplySuggestionInput{
		SuiteID: suite, Query: first.Query, ShouldTrigger: first.ShouldTrigger, Source: first.Source(), Provenance: first.Provenance, Rationale: graphql.OmittableOf(new(first.Rationale())),
		ObservedCount: graphql.OmittableOf(new(float64(first.ObservedCount))), Confidence: graphql.OmittableOf(&first.Confidence), LastObservedAt: graphql.OmittableOf(first.LastObservedAt),
	}); err != nil {
		return err
	}
	_, err = ada.ReviewSuggestion(ctx, source, models.ReviewSuggestionInput{
		SuggestionID: last.ID, Query: last.Query, ShouldTrigger: last.ShouldTrigger, ReviewStatus: models.ReviewStatusRejected, Source: last.Source(), Provenance: last.Provenance,
	})
	return err
}
