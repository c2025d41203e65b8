package models_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

func set[T any](v T) graphql.Omittable[T] { return graphql.OmittableOf(v) }

func TestSettings(t *testing.T) {
	t.Parallel()
	object := func(size int) models.JSON {
		return models.JSON(`{"a":"` + strings.Repeat("x", size-len(`{"a":""}`)) + `"}`)
	}
	good := []models.SuiteSettings{
		{Name: "n"},
		{Name: strings.Repeat("é", 200)},
		{Name: "n", ResourceLimitsJSON: models.JSON(`{}`)},
		{Name: "n", ResourceLimitsJSON: object(16 << 10)},
	}
	for _, s := range good {
		require.NoError(t, s.Validate(), s.Name)
	}
	bad := []struct {
		settings      models.SuiteSettings
		path, message string
	}{
		{models.SuiteSettings{}, "name", "must not be empty"},
		{models.SuiteSettings{Name: " \t"}, "name", "must not be empty"},
		{models.SuiteSettings{Name: strings.Repeat("é", 201)}, "name", "must be at most 200 characters long"},
		{models.SuiteSettings{Name: "a\xffb"}, "name", "must be UTF-8"},
		{models.SuiteSettings{Name: "a\x00b"}, "name", "must not contain control characters"},
		{models.SuiteSettings{Name: "n", ResourceLimitsJSON: object(16<<10 + 1)}, "resourceLimitsJson", "must be at most 16 KiB"},
		{models.SuiteSettings{Name: "n", ResourceLimitsJSON: models.JSON(`[]`)}, "resourceLimitsJson", "must be an object"},
		{models.SuiteSettings{Name: "n", ResourceLimitsJSON: models.JSON(`"x"`)}, "resourceLimitsJson", "must be an object"},
		{models.SuiteSettings{Name: "n", ResourceLimitsJSON: models.JSON(`null`)}, "resourceLimitsJson", "must be an object"},
	}
	for _, row := range bad {
		requireRefused(t, row.settings.Validate(), row.message, row.path)
	}
}

// The table of interface.md: manual suites with llm_judge or deterministic are runnable, imported ones only when every
// case is task_package, nothing else is; structured_rubric never.
func TestRunnable(t *testing.T) {
	t.Parallel()
	judged := map[models.VerifierKind]bool{models.VerifierKindLLMJudge: true, models.VerifierKindDeterministic: true}
	for _, source := range models.AllSuiteSourceKind {
		for _, verifier := range models.AllVerifierKind {
			for _, kind := range models.AllSuiteKind {
				want := false
				switch source {
				case models.SuiteSourceKindManual:
					want = judged[verifier]
				case models.SuiteSourceKindImported:
					want = judged[verifier] && kind == models.SuiteKindTaskPackage
				case models.SuiteSourceKindContributorAggregate, models.SuiteSourceKindOrgExemplars:
				}
				s := &models.EvalSuite{SourceKind: source, SuiteSettings: models.SuiteSettings{VerifierKind: verifier, SuiteKind: kind}}
				require.Equal(t, want, s.Runnable(), "%s %s %s", source, verifier, kind)
				require.Equal(t, want, s.NotRunnableReason() == nil, "%s %s %s", source, verifier, kind)
			}
		}
	}
}

func TestNotRunnableReason(t *testing.T) {
	t.Parallel()
	reason := func(source models.SuiteSourceKind, verifier models.VerifierKind) string {
		s := &models.EvalSuite{SourceKind: source, SuiteSettings: models.SuiteSettings{VerifierKind: verifier, SuiteKind: models.SuiteKindMixed}}
		return *s.NotRunnableReason()
	}
	require.Equal(t, "structured_rubric suites cannot be run: use llm_judge or deterministic", reason(models.SuiteSourceKindManual, models.VerifierKindStructuredRubric))
	require.Equal(t, "imported suites can be run only when every case is a task_package", reason(models.SuiteSourceKindImported, models.VerifierKindDeterministic))
	require.Equal(t, "contributor_aggregate suites cannot be run", reason(models.SuiteSourceKindContributorAggregate, models.VerifierKindLLMJudge))
	require.Equal(t, "org_exemplars suites cannot be run", reason(models.SuiteSourceKindOrgExemplars, models.VerifierKindLLMJudge))
}

func TestCreateSuiteInput(t *testing.T) {
	t.Parallel()
	cases := models.JSON("[" + minimalCases[models.CaseKindTriggerQuery] + "," + minimalCases[models.CaseKindLLMRubric] + "]")
	in := models.CreateSuiteInput{Name: "n", SourceKind: models.SuiteSourceKindManual, VerifierKind: models.VerifierKindLLMJudge, CasesJSON: cases}
	s, raw, err := in.Suite(numbered())
	require.NoError(t, err)
	require.Equal(t, &models.EvalSuite{
		SourceKind:    models.SuiteSourceKindManual,
		SuiteSettings: models.SuiteSettings{Name: "n", VerifierKind: models.VerifierKindLLMJudge, CaseCount: 2, SuiteKind: models.SuiteKindMixed},
	}, s)
	require.Contains(t, string(raw), `"id":"2"`)

	source := ids.New(ids.Source, time.Now())
	in.SourceID, in.SupportsNoSkill, in.ResourceLimitsJSON = set(&source), set(new(true)), set(models.JSON(`{"a":1.0}`))
	s, _, err = in.Suite(numbered())
	require.NoError(t, err)
	require.Equal(t, &source, s.SourceID)
	require.True(t, s.SupportsNoSkill)
	require.Equal(t, models.JSON(`{"a":1.0}`), s.ResourceLimitsJSON)

	in.SourceID, in.SupportsNoSkill, in.ResourceLimitsJSON = set[*ids.ID](nil), set[*bool](nil), set(models.JSON(" null "))
	s, _, err = in.Suite(numbered())
	require.NoError(t, err)
	require.Nil(t, s.SourceID)
	require.False(t, s.SupportsNoSkill)
	require.Nil(t, s.ResourceLimitsJSON, "null is the same as none")

	in.Name = ""
	_, _, err = in.Suite(numbered())
	requireRefused(t, err, "must not be empty", "name")
	in.Name, in.VerifierKind = "n", models.VerifierKindDeterministic
	_, _, err = in.Suite(numbered())
	requireRefused(t, err, "trigger_query is not allowed with verifier_kind deterministic, which takes boolean_assertion, exact_match, json_schema, task_package", "casesJson", "0", "case_kind")
}

// saved is a suite with one trigger query, and its cases.
func saved() (*models.EvalSuite, models.JSON) {
	source := ids.ID{1}
	return &models.EvalSuite{
		SourceID: &source, SourceKind: models.SuiteSourceKindManual, SuiteSettings: models.SuiteSettings{
			Name: "before", VerifierKind: models.VerifierKindLLMJudge, ResourceLimitsJSON: models.JSON(`{"a":1}`),
			CaseCount: 1, SuiteKind: models.SuiteKindTriggerQuery,
		},
	}, models.JSON("[" + fullCases[models.CaseKindTriggerQuery] + "]")
}

func TestApplyChanges(t *testing.T) {
	t.Parallel()
	other := models.JSON("[" + fullCases[models.CaseKindLLMRubric] + "]")
	for name, row := range map[string]struct {
		in      models.UpdateSuiteInput
		want    func(*models.SuiteSettings)
		cases   models.JSON
		changed []models.SuiteField
	}{
		"nothing": {},
		"the same again": {in: models.UpdateSuiteInput{
			Name: set(new("before")), SourceID: set(&ids.ID{1}), SourceKind: set(new(models.SuiteSourceKindManual)),
			VerifierKind: set(new(models.VerifierKindLLMJudge)), SupportsNoSkill: set(new(false)), ResourceLimitsJSON: set(models.JSON(`{"a":1}`)),
			CasesJSON: set(models.JSON("[ " + fullCases[models.CaseKindTriggerQuery] + " ]")),
		}},
		"name": {
			in:   models.UpdateSuiteInput{Name: set(new("after"))},
			want: func(s *models.SuiteSettings) { s.Name = "after" }, changed: []models.SuiteField{models.SuiteFieldName},
		},
		"verifier": {
			in:   models.UpdateSuiteInput{VerifierKind: set(new(models.VerifierKindStructuredRubric))},
			want: func(s *models.SuiteSettings) { s.VerifierKind = models.VerifierKindStructuredRubric }, changed: []models.SuiteField{models.SuiteFieldVerifierKind},
		},
		"baseline": {
			in:   models.UpdateSuiteInput{SupportsNoSkill: set(new(true))},
			want: func(s *models.SuiteSettings) { s.SupportsNoSkill = true }, changed: []models.SuiteField{models.SuiteFieldSupportsNoSkill},
		},
		"limits": {
			in:   models.UpdateSuiteInput{ResourceLimitsJSON: set(models.JSON(`{"a":1.0}`))},
			want: func(s *models.SuiteSettings) { s.ResourceLimitsJSON = models.JSON(`{"a":1.0}`) }, changed: []models.SuiteField{models.SuiteFieldResourceLimitsJSON},
		},
		"limits cleared by null": {
			in:   models.UpdateSuiteInput{ResourceLimitsJSON: set[models.JSON](nil)},
			want: func(s *models.SuiteSettings) { s.ResourceLimitsJSON = nil }, changed: []models.SuiteField{models.SuiteFieldResourceLimitsJSON},
		},
		"limits cleared by the text null": {
			in:   models.UpdateSuiteInput{ResourceLimitsJSON: set(models.JSON("null"))},
			want: func(s *models.SuiteSettings) { s.ResourceLimitsJSON = nil }, changed: []models.SuiteField{models.SuiteFieldResourceLimitsJSON},
		},
		"cases": {
			in:   models.UpdateSuiteInput{CasesJSON: set(other)},
			want: func(s *models.SuiteSettings) { s.SuiteKind = models.SuiteKindLLMRubric }, cases: other, changed: []models.SuiteField{models.SuiteFieldCasesJSON},
		},
		"everything": {
			in: models.UpdateSuiteInput{
				Name: set(new("after")), VerifierKind: set(new(models.VerifierKindDeterministic)), SupportsNoSkill: set(new(true)), ResourceLimitsJSON: set(models.JSON(`{}`)),
				CasesJSON: set(models.JSON("[" + fullCases[models.CaseKindExactMatch] + "," + fullCases[models.CaseKindTaskPackage] + "]")),
			},
			want: func(s *models.SuiteSettings) {
				*s = models.SuiteSettings{
					Name: "after", VerifierKind: models.VerifierKindDeterministic, SupportsNoSkill: true, ResourceLimitsJSON: models.JSON(`{}`),
					CaseCount: 2, SuiteKind: models.SuiteKindMixed,
				}
			},
			cases:   models.JSON("[" + fullCases[models.CaseKindExactMatch] + "," + fullCases[models.CaseKindTaskPackage] + "]"),
			changed: models.AllSuiteField,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, before := saved()
			want, wantCases := s.SuiteSettings, before
			if row.want != nil {
				row.want(&want)
			}
			if row.cases != nil {
				wantCases = row.cases
			}
			next, cases, err := row.in.Apply(s, before, numbered())
			require.NoError(t, err)
			require.Equal(t, want, next)
			require.Equal(t, string(wantCases), string(cases))
			unchanged, _ := saved()
			require.Equal(t, unchanged, s, "the suite itself is left alone")
			require.ElementsMatch(t, row.changed, s.Changes(next, string(cases) != string(before)))
		})
	}
}

func TestApplyRefusals(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		in      models.UpdateSuiteInput
		message string
		path    []string
	}{
		{models.UpdateSuiteInput{Name: set[*string](nil)}, "must not be null", []string{"name"}},
		{models.UpdateSuiteInput{Name: set(new(""))}, "must not be empty", []string{"name"}},
		{models.UpdateSuiteInput{SourceID: set(&ids.ID{2})}, "cannot be changed after creation", []string{"sourceId"}},
		{models.UpdateSuiteInput{SourceID: set[*ids.ID](nil)}, "cannot be changed after creation", []string{"sourceId"}},
		{models.UpdateSuiteInput{SourceKind: set(new(models.SuiteSourceKindImported))}, "cannot be changed after creation", []string{"sourceKind"}},
		{models.UpdateSuiteInput{SourceKind: set[*models.SuiteSourceKind](nil)}, "cannot be changed after creation", []string{"sourceKind"}},
		{models.UpdateSuiteInput{VerifierKind: set[*models.VerifierKind](nil)}, "must not be null", []string{"verifierKind"}},
		{models.UpdateSuiteInput{SupportsNoSkill: set[*bool](nil)}, "must not be null", []string{"supportsNoSkill"}},
		{models.UpdateSuiteInput{ResourceLimitsJSON: set(models.JSON("[]"))}, "must be an object", []string{"resourceLimitsJson"}},
		{models.UpdateSuiteInput{CasesJSON: set[models.JSON](nil)}, "must be a list of cases", []string{"casesJson"}},
		{models.UpdateSuiteInput{CasesJSON: set(models.JSON("null"))}, "must be a list of cases", []string{"casesJson"}},
		{models.UpdateSuiteInput{CasesJSON: set(models.JSON("[]"))}, "must have between 1 and 500 cases", []string{"casesJson"}},
		{
			models.UpdateSuiteInput{VerifierKind: set(new(models.VerifierKindDeterministic))},
			"trigger_query is not allowed with verifier_kind deterministic, which takes boolean_assertion, exact_match, json_schema, task_package",
			[]string{"casesJson", "0", "case_kind"},
		},
	} {
		s, cases := saved()
		_, _, err := row.in.Apply(s, cases, numbered())
		require.Error(t, err, fmt.Sprint(row.path, row.message))
		requireRefused(t, err, row.message, row.path...)
	}
	s, cases := saved()
	s.SourceID = nil
	_, _, err := models.UpdateSuiteInput{SourceID: set[*ids.ID](nil)}.Apply(s, cases, numbered())
	require.NoError(t, err, "null is what it is already")
	_, _, err = models.UpdateSuiteInput{SourceID: set(&ids.ID{1})}.Apply(s, cases, numbered())
	requireRefused(t, err, "cannot be changed after creation", "sourceId")
}

// Two things wrong at once: the first is told, with its path.
func TestApplyTellsOneProblem(t *testing.T) {
	t.Parallel()
	s, cases := saved()
	_, _, err := models.UpdateSuiteInput{Name: set[*string](nil), SupportsNoSkill: set[*bool](nil)}.Apply(s, cases, numbered())
	requireRefused(t, err, "must not be null", "name")
}

func TestFilters(t *testing.T) {
	t.Parallel()
	require.NoError(t, models.SuiteFilter{}.Validate())
	require.NoError(t, models.SuiteFilter{NameContains: set[*string](nil)}.Validate())
	require.NoError(t, models.SuiteFilter{NameContains: set(new("%"))}.Validate())
	requireRefused(t, models.SuiteFilter{NameContains: set(new(""))}.Validate(), "must not be empty", "filter", "nameContains")
	requireRefused(t, models.SuiteFilter{NameContains: set(new(strings.Repeat("x", 201)))}.Validate(), "must be at most 200 characters long", "filter", "nameContains")
	require.NoError(t, models.EventFilter{}.Validate())
	require.NoError(t, models.EventFilter{Kinds: set(make([]string, 50))}.Validate())
	requireRefused(t, models.EventFilter{Kinds: set(make([]string, 51))}.Validate(), "must have at most 50 items", "filter", "kinds")
}
