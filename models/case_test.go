package models_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/models"
)

// minimalCases have nothing that may be left out, fullCases everything that we know.
var (
	minimalCases = map[models.CaseKind]string{
		models.CaseKindTriggerQuery:     `{"case_kind":"trigger_query","query":"q","expectation":"should_trigger"}`,
		models.CaseKindLLMRubric:        `{"case_kind":"llm_rubric","prompt":"p","rubric":"r"}`,
		models.CaseKindExactMatch:       `{"case_kind":"exact_match","input":"i","expected":""}`,
		models.CaseKindJSONSchema:       `{"case_kind":"json_schema","input":"i","schema":true}`,
		models.CaseKindBooleanAssertion: `{"case_kind":"boolean_assertion","input":"i","assertion":"is polite"}`,
		models.CaseKindTaskPackage:      `{"case_kind":"task_package","environment_ref":"https://example.com/env.tgz"}`,
	}
	fullCases = map[models.CaseKind]string{
		models.CaseKindTriggerQuery:     `{"id":"t","name":"n","case_kind":"trigger_query","query":"q","expectation":"should_not_trigger","invocation_type":"implicit"}`,
		models.CaseKindLLMRubric:        `{"id":"l","name":"n","case_kind":"llm_rubric","prompt":"p","rubric":["a","b"],"threshold":0.75}`,
		models.CaseKindExactMatch:       `{"id":"e","name":"n","case_kind":"exact_match","input":"i","expected":"x","case_sensitive":false,"trim":true}`,
		models.CaseKindJSONSchema:       `{"id":"j","name":"n","case_kind":"json_schema","input":"i","schema":{"type":"object"}}`,
		models.CaseKindBooleanAssertion: `{"id":"b","name":"n","case_kind":"boolean_assertion","input":"i","assertion":{"type":"contains","value":"v"},"expected":false}`,
		models.CaseKindTaskPackage: `{"id":"p","name":"n","case_kind":"task_package","environment_ref":"s3://bucket/env.tgz","instruction":"do",` +
			`"verifier_ref":"a/test.sh","skill_bundle_ref":"skill","oracle_ref":"o.sh","resource_hints":{"working_dir":"/w","timeout_ms":1000,"env":{"A":"b"}}}`,
	}
)

// numbered gives the ids 1, 2, 3, …
func numbered() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint(n) }
}

func parse(verifier models.VerifierKind, cases ...string) (models.Cases, string, error) {
	got, raw, err := models.ParseCases(models.JSON("["+strings.Join(cases, ",")+"]"), verifier, numbered())
	return got, string(raw), err
}

// requireRefused is for an error that names the field at fault.
func requireRefused(t *testing.T, err error, message string, path ...string) {
	t.Helper()
	var e *errs.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, errs.Invalid, e.Code)
	require.Equal(t, path, e.Path, e.Message)
	require.Equal(t, message, e.Message)
}

func TestMinimalCases(t *testing.T) {
	t.Parallel()
	head := func(k models.CaseKind) models.CaseHead { return models.CaseHead{ID: "1", CaseKind: k} }
	want := map[models.CaseKind]models.EvalCase{
		models.CaseKindTriggerQuery: &models.TriggerQueryCase{CaseHead: head(models.CaseKindTriggerQuery), Query: "q", Expectation: models.ExpectationShouldTrigger},
		models.CaseKindLLMRubric:    &models.LLMRubricCase{CaseHead: head(models.CaseKindLLMRubric), Prompt: "p", Rubric: []string{"r"}},
		models.CaseKindExactMatch:   &models.ExactMatchCase{CaseHead: head(models.CaseKindExactMatch), Input: "i", CaseSensitive: true},
		models.CaseKindJSONSchema:   &models.JSONSchemaCase{CaseHead: head(models.CaseKindJSONSchema), Input: "i", Schema: models.JSON("true")},
		models.CaseKindBooleanAssertion: &models.BooleanAssertionCase{
			CaseHead: head(models.CaseKindBooleanAssertion), Input: "i", ShouldHold: true,
			Assertion: &models.CaseAssertion{Type: models.AssertionTypeSentence, Value: "is polite"},
		},
		models.CaseKindTaskPackage: &models.TaskPackageCase{
			CaseHead:       head(models.CaseKindTaskPackage),
			EnvironmentRef: "https://example.com/env.tgz", VerifierRef: "tests/test.sh", SkillBundleRef: "skill-under-test",
		},
	}
	for _, kind := range models.AllCaseKind {
		t.Run(kind.Wire(), func(t *testing.T) {
			t.Parallel()
			cases, raw, err := parse(models.VerifierKindStructuredRubric, minimalCases[kind])
			require.NoError(t, err)
			require.Equal(t, models.Cases{want[kind]}, cases)
			require.Equal(t, models.SuiteKind(kind), cases.Kind())
			require.Equal(t, `[{"id":"1",`+minimalCases[kind][1:]+`]`, raw, "an id was given, the rest is as it was sent")
		})
	}
}

func TestFullCases(t *testing.T) {
	t.Parallel()
	head := func(id string, k models.CaseKind) models.CaseHead {
		return models.CaseHead{ID: id, Name: new("n"), CaseKind: k}
	}
	want := map[models.CaseKind]models.EvalCase{
		models.CaseKindTriggerQuery: &models.TriggerQueryCase{
			CaseHead: head("t", models.CaseKindTriggerQuery), Query: "q", Expectation: models.ExpectationShouldNotTrigger, InvocationType: new("implicit"),
		},
		models.CaseKindLLMRubric:  &models.LLMRubricCase{CaseHead: head("l", models.CaseKindLLMRubric), Prompt: "p", Rubric: []string{"a", "b"}, Threshold: new(0.75)},
		models.CaseKindExactMatch: &models.ExactMatchCase{CaseHead: head("e", models.CaseKindExactMatch), Input: "i", Expected: "x", Trim: true},
		models.CaseKindJSONSchema: &models.JSONSchemaCase{CaseHead: head("j", models.CaseKindJSONSchema), Input: "i", Schema: models.JSON(`{"type":"object"}`)},
		models.CaseKindBooleanAssertion: &models.BooleanAssertionCase{
			CaseHead: head("b", models.CaseKindBooleanAssertion), Input: "i", Assertion: &models.CaseAssertion{Type: models.AssertionTypeContains, Value: "v"},
		},
		models.CaseKindTaskPackage: &models.TaskPackageCase{
			CaseHead: head("p", models.CaseKindTaskPackage), EnvironmentRef: "s3://bucket/env.tgz", Instruction: new("do"),
			VerifierRef: "a/test.sh", SkillBundleRef: "skill", OracleRef: new("o.sh"),
			ResourceHints: models.JSON(`{"working_dir":"/w","timeout_ms":1000,"env":{"A":"b"}}`),
		},
	}
	var all []string
	for _, kind := range models.AllCaseKind {
		cases, raw, err := parse(models.VerifierKindStructuredRubric, fullCases[kind])
		require.NoError(t, err, kind)
		require.Equal(t, models.Cases{want[kind]}, cases)
		require.Equal(t, "["+fullCases[kind]+"]", raw)
		read, err := models.ReadCases(models.JSON(raw))
		require.NoError(t, err)
		require.Equal(t, []models.EvalCase{want[kind]}, read, "what was saved reads the same")
		all = append(all, fullCases[kind])
	}
	cases, _, err := parse(models.VerifierKindStructuredRubric, all...)
	require.NoError(t, err)
	require.Equal(t, models.SuiteKindMixed, cases.Kind())
}

func TestCaseKindsOfVerifiers(t *testing.T) {
	t.Parallel()
	allowed := map[models.VerifierKind]map[models.CaseKind]bool{
		models.VerifierKindLLMJudge: {models.CaseKindTriggerQuery: true, models.CaseKindLLMRubric: true},
		models.VerifierKindDeterministic: {
			models.CaseKindExactMatch: true, models.CaseKindJSONSchema: true, models.CaseKindBooleanAssertion: true, models.CaseKindTaskPackage: true,
		},
		models.VerifierKindStructuredRubric: {
			models.CaseKindTriggerQuery: true, models.CaseKindLLMRubric: true, models.CaseKindExactMatch: true,
			models.CaseKindJSONSchema: true, models.CaseKindBooleanAssertion: true, models.CaseKindTaskPackage: true,
		},
	}
	takes := map[models.VerifierKind]string{
		models.VerifierKindLLMJudge:      "llm_rubric, trigger_query",
		models.VerifierKindDeterministic: "boolean_assertion, exact_match, json_schema, task_package",
	}
	require.Len(t, models.AllVerifierKind, 3)
	require.Len(t, models.AllCaseKind, 6)
	for _, verifier := range models.AllVerifierKind {
		for _, kind := range models.AllCaseKind {
			_, _, err := parse(verifier, minimalCases[kind])
			if allowed[verifier][kind] {
				require.NoError(t, err, "%s %s", verifier, kind)
				continue
			}
			requireRefused(t, err, kind.Wire()+" is not allowed with verifier_kind "+verifier.Wire()+", which takes "+takes[verifier], "casesJson", "0", "case_kind")
		}
	}
}

func TestNumberOfCases(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 500} {
		cases, _, err := parse(models.VerifierKindLLMJudge, repeat(minimalCases[models.CaseKindTriggerQuery], n)...)
		require.NoError(t, err)
		require.Len(t, cases, n)
	}
	for _, n := range []int{0, 501} {
		_, _, err := parse(models.VerifierKindLLMJudge, repeat(minimalCases[models.CaseKindTriggerQuery], n)...)
		requireRefused(t, err, "must have between 1 and 500 cases", "casesJson")
	}
}

func repeat(s string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = s
	}
	return out
}

func TestCasesThatAreNoList(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{``, `null`, `{}`, `"x"`, `7`, `[`, `[] []`} {
		_, _, err := models.ParseCases(models.JSON(raw), models.VerifierKindLLMJudge, numbered())
		requireRefused(t, err, "must be a list of cases", "casesJson")
	}
	for _, item := range []string{`null`, `7`, `"x"`, `[]`} {
		_, _, err := parse(models.VerifierKindLLMJudge, item)
		requireRefused(t, err, "must be an object", "casesJson", "0")
	}
}

func TestCaseIDs(t *testing.T) {
	t.Parallel()
	cases, raw, err := parse(models.VerifierKindLLMJudge,
		`{"case_kind":"trigger_query","id":"mine","query":"q","expectation":"should_trigger"}`,
		minimalCases[models.CaseKindTriggerQuery],
		minimalCases[models.CaseKindLLMRubric])
	require.NoError(t, err)
	require.Equal(t, []string{"mine", "1", "2"}, []string{
		cases[0].(*models.TriggerQueryCase).ID, cases[1].(*models.TriggerQueryCase).ID, cases[2].(*models.LLMRubricCase).ID,
	})
	again, same, err := models.ParseCases(models.JSON(raw), models.VerifierKindLLMJudge, func() string { panic("every case has an id") })
	require.NoError(t, err)
	require.Equal(t, cases, again)
	require.Equal(t, raw, string(same), "ids are kept")

	_, _, err = parse(models.VerifierKindStructuredRubric, fullCases[models.CaseKindTriggerQuery], minimalCases[models.CaseKindLLMRubric], fullCases[models.CaseKindTriggerQuery])
	requireRefused(t, err, "is the id of an earlier case, too", "casesJson", "2", "id")
	_, _, err = parse(models.VerifierKindLLMJudge, minimalCases[models.CaseKindTriggerQuery], `{"id":"1",`+minimalCases[models.CaseKindTriggerQuery][1:])
	requireRefused(t, err, "is the id of an earlier case, too", "casesJson", "1", "id")
}

func TestCasesAreKeptAsSent(t *testing.T) {
	t.Parallel()
	_, raw, err := parse(models.VerifierKindLLMJudge, ` { "case_kind" : "llm_rubric", "prompt":"<p> \u00e9 \/ \u2028", "rubric":"r",
		"threshold": 5.0e-1, "weight":1.10, "big":123456789012345678901234567890, "Prompt":"other", "z":{"b":1,"a":[null , true]}, "z":2 } `)
	require.NoError(t, err)
	require.Equal(t, `[{"id":"1","case_kind":"llm_rubric","prompt":"<p> \u00e9 \/ \u2028","rubric":"r",`+
		`"threshold":5.0e-1,"weight":1.10,"big":123456789012345678901234567890,"Prompt":"other","z":{"b":1,"a":[null,true]},"z":2}]`, raw)
}

// A rule that came after a case was saved does not make it unreadable.
func TestReadCasesDoesNotCheck(t *testing.T) {
	t.Parallel()
	cases, err := models.ReadCases(models.JSON(`[{"id":"1","case_kind":"json_schema","input":"","schema":{"type":"strin"}},` +
		`{"id":"1","case_kind":"boolean_assertion","input":"i","assertion":{"type":"regex","value":"("}},{"id":"3","case_kind":"trigger_query"}]`))
	require.NoError(t, err)
	require.Len(t, cases, 3)
	require.Equal(t, models.JSON(`{"type":"strin"}`), cases[0].(*models.JSONSchemaCase).Schema)
	require.Equal(t, &models.CaseAssertion{Type: models.AssertionTypeRegex, Value: "("}, cases[1].(*models.BooleanAssertionCase).Assertion)
	_, err = models.ReadCases(models.JSON(`{}`))
	require.Error(t, err)
}

func FuzzParseCases(f *testing.F) {
	for _, kind := range models.AllCaseKind {
		f.Add([]byte("[" + minimalCases[kind] + "," + fullCases[kind] + "]"))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, saved, err := models.ParseCases(raw, models.VerifierKindStructuredRubric, numbered())
		if err != nil {
			require.Equal(t, errs.Invalid, errs.CodeOf(err))
			return
		}
		again, same, err := models.ParseCases(saved, models.VerifierKindStructuredRubric, nil)
		require.NoError(t, err, "what was accepted is accepted again")
		require.Equal(t, string(saved), string(same))
		read, err := models.ReadCases(saved)
		require.NoError(t, err)
		require.Equal(t, []models.EvalCase(again), read)
	})
}
