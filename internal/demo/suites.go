package demo

import (
	"github.com/99designs/gqlgen/graphql"

	"skillgraph/models"
)

// demoSuites has a suite of every kind; the last one is put away after it is made.
var demoSuites = []models.CreateSuiteInput{
	{
		Name: "PDF forms: when to fire", SourceKind: models.SuiteSourceKindManual, VerifierKind: models.VerifierKindLLMJudge,
		SupportsNoSkill: graphql.OmittableOf(new(true)),
		CasesJSON: models.JSON(`[
			{"case_kind": "trigger_query", "id": "fill", "query": "Fill in the tax form in ~/forms/1040.pdf", "expectation": "should_trigger"},
			{"case_kind": "trigger_query", "id": "merge", "query": "Merge these two invoices into one PDF", "expectation": "should_trigger"},
			{"case_kind": "trigger_query", "id": "recipe", "query": "Find me a recipe for sourdough", "expectation": "should_not_trigger"}]`),
	},
	{
		Name: "Changelog tone", SourceKind: models.SuiteSourceKindManual, VerifierKind: models.VerifierKindLLMJudge,
		CasesJSON: models.JSON(`[
			{"case_kind": "llm_rubric", "name": "fix", "prompt": "Write the changelog line for: null pointer in the importer", "rubric": ["names the effect, not the code", "one sentence"], "threshold": 0.7},
			{"case_kind": "llm_rubric", "name": "feature", "prompt": "Write the changelog line for: CSV export", "rubric": "says what a user can do now", "threshold": 0.7}]`),
	},
	{
		Name: "Unit conversion", SourceKind: models.SuiteSourceKindManual, VerifierKind: models.VerifierKindDeterministic,
		ResourceLimitsJSON: graphql.OmittableOf(models.JSON(`{"timeout_ms": 20000}`)),
		CasesJSON: models.JSON(`[
			{"case_kind": "exact_match", "input": "12 inches in cm, number only", "expected": "30.48", "trim": true},
			{"case_kind": "json_schema", "input": "5 miles as JSON", "schema": {"type": "object", "required": ["value", "unit"], "properties": {"value": {"type": "number"}, "unit": {"type": "string"}}}},
			{"case_kind": "boolean_assertion", "input": "convert 3 bananas to metres", "assertion": {"type": "contains", "value": "cannot"}}]`),
	},
	{
		Name: "Repository chores", SourceKind: models.SuiteSourceKindImported, VerifierKind: models.VerifierKindDeterministic,
		CasesJSON: models.JSON(`[{"case_kind": "task_package", "name": "bump a dependency", "environment_ref": "s3://skill-evals/chores/bump.tar.gz", "instruction": "Bump left-pad to 2.0 and keep the tests green", "resource_hints": {"timeout_ms": 600000, "working_dir": "app"}}]`),
	},
	{
		Name: "Best sessions of the spring", SourceKind: models.SuiteSourceKindOrgExemplars, VerifierKind: models.VerifierKindStructuredRubric,
		CasesJSON: models.JSON(`[{"case_kind": "llm_rubric", "prompt": "Explain the outage to a customer", "rubric": ["honest", "no blame", "what happens next"]}]`),
	},
}

// demoChanges are what became of the first suite.
var demoChanges = []models.UpdateSuiteInput{
	{Name: graphql.OmittableOf(new("PDF: when to fire"))},
	{CasesJSON: graphql.OmittableOf(models.JSON(`[
		{"case_kind": "trigger_query", "id": "fill", "query": "Fill in the tax form in ~/forms/1040.pdf", "expectation": "should_trigger", "invocation_type": "implicit"},
		{"case_kind": "trigger_query", "id": "merge", "query": "Merge these two invoices into one PDF", "expectation": "should_trigger"},
		{"case_kind": "trigger_query", "id": "recipe", "query": "Find me a recipe for sourdough", "expectation": "should_not_trigger"},
		{"case_kind": "trigger_query", "id": "word", "query": "Fix the typos in this Word document", "expectation": "should_not_trigger"}]`))},
}
