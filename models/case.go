package models

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"skillgraph/internal/errs"
)

// EvalCase is one test of a suite, typed.
type EvalCase interface {
	IsEvalCase()
	head() *CaseHead
}

// CaseHead is what every case has.
type CaseHead struct {
	ID       string
	Name     *string
	CaseKind CaseKind
}

// IsEvalCase marks the cases.
func (*CaseHead) IsEvalCase()       {}
func (h *CaseHead) head() *CaseHead { return h }

// The cases, one type a kind.
type (
	// TriggerQueryCase asks whether the skill fires on a query.
	TriggerQueryCase struct {
		CaseHead
		Query          string
		Expectation    Expectation
		InvocationType *string
	}
	// LLMRubricCase has a prompt judged by a rubric.
	LLMRubricCase struct {
		CaseHead
		Prompt    string
		Rubric    []string
		Threshold *float64
	}
	// ExactMatchCase has one right answer.
	ExactMatchCase struct {
		CaseHead
		Input, Expected     string
		CaseSensitive, Trim bool
	}
	// JSONSchemaCase wants an answer that fits a schema.
	JSONSchemaCase struct {
		CaseHead
		Input  string
		Schema JSON
	}
	// BooleanAssertionCase wants an answer that satisfies an assertion.
	BooleanAssertionCase struct {
		CaseHead
		Input      string
		Assertion  *CaseAssertion
		ShouldHold bool
	}
	// TaskPackageCase is a task in an environment with a verifier of its own.
	TaskPackageCase struct {
		CaseHead
		EnvironmentRef, VerifierRef, SkillBundleRef string
		Instruction, OracleRef                      *string
		ResourceHints                               JSON
	}
)

// allowedKinds says which cases a verifier can judge.
var allowedKinds = map[VerifierKind][]CaseKind{
	VerifierKindLLMJudge:         {CaseKindTriggerQuery, CaseKindLLMRubric},
	VerifierKindDeterministic:    {CaseKindExactMatch, CaseKindJSONSchema, CaseKindBooleanAssertion, CaseKindTaskPackage},
	VerifierKindStructuredRubric: AllCaseKind,
}

const maxCases = 500

// Cases is a checked list of cases.
type Cases []EvalCase

// ParseCases reads and checks the cases of a suite. It returns them typed, and their JSON with an id in every case.
func ParseCases(raw JSON, verifier VerifierKind, newID func() string) (Cases, JSON, error) {
	at := errs.At("casesJson")
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil || items == nil {
		return nil, nil, at.Because("must be a list of cases")
	}
	if len(items) < 1 || len(items) > maxCases {
		return nil, nil, at.Because("must have between 1 and %d cases", maxCases)
	}
	cases, seen := make(Cases, len(items)), map[string]bool{}
	for i, item := range items {
		c, err := parseCase(at.At(i), item, verifier)
		if err != nil {
			return nil, nil, err
		}
		h := c.head()
		if h.ID == "" {
			h.ID = newID()
			items[i] = withID(item, h.ID)
		}
		if seen[h.ID] {
			return nil, nil, at.At(i, "id").Because("is the id of an earlier case, too")
		}
		seen[h.ID], cases[i] = true, c
	}
	var out bytes.Buffer
	out.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			out.WriteByte(',')
		}
		_ = json.Compact(&out, item) // it was parsed above
	}
	out.WriteByte(']')
	return cases, out.Bytes(), nil
}

// ReadCases types cases that were checked when they were saved. It does not check them again: a rule that came
// later must not make a suite unreadable.
func ReadCases(raw JSON) ([]EvalCase, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	cases := make([]EvalCase, len(items))
	for i, item := range items {
		cases[i] = buildCase(&fields{raw: rawFields(item), saved: true})
	}
	return cases, nil
}

// withID puts an id first into an object that has none, leaving everything else as it was sent.
func withID(object json.RawMessage, id string) json.RawMessage {
	quoted, _ := json.Marshal(id)
	return slices.Concat([]byte(`{"id":`), quoted, []byte(","), bytes.TrimSpace(object)[1:])
}

// Kind is the kind of all cases, or MIXED.
func (cs Cases) Kind() SuiteKind {
	for _, c := range cs {
		if c.head().CaseKind != cs[0].head().CaseKind {
			return SuiteKindMixed
		}
	}
	return SuiteKind(cs[0].head().CaseKind)
}

func parseCase(at errs.Path, raw json.RawMessage, verifier VerifierKind) (EvalCase, error) {
	f := readFields(at, raw)
	c := buildCase(f)
	if f.err != nil {
		return nil, f.err
	}
	return c, verifier.takes(at, c)
}

// takes refuses a case of a kind that the verifier cannot judge.
func (e VerifierKind) takes(at errs.Path, c EvalCase) error {
	if kind := c.head().CaseKind; !slices.Contains(allowedKinds[e], kind) {
		return at.At("case_kind").Because("%s is not allowed with verifier_kind %s, which takes %s", kind.Wire(), e.Wire(), wireList(allowedKinds[e], wireCaseKind))
	}
	return nil
}

// checkKinds refuses saved cases that another verifier cannot judge.
func checkKinds(raw JSON, verifier VerifierKind) error {
	cases, err := ReadCases(raw)
	if err != nil {
		return err
	}
	for i, c := range cases {
		if err := verifier.takes(errs.At("casesJson", i), c); err != nil {
			return err
		}
	}
	return nil
}

func buildCase(f *fields) EvalCase {
	head := CaseHead{CaseKind: fieldEnum(f, "case_kind", wireCaseKind), ID: f.id(), Name: f.label("name")}
	switch head.CaseKind {
	case CaseKindTriggerQuery:
		return &TriggerQueryCase{CaseHead: head, Query: f.text("query"), Expectation: fieldEnum(f, "expectation", wireExpectation), InvocationType: f.optional("invocation_type")}
	case CaseKindLLMRubric:
		return &LLMRubricCase{CaseHead: head, Prompt: f.text("prompt"), Rubric: f.textOrList("rubric"), Threshold: f.fraction("threshold")}
	case CaseKindExactMatch:
		return &ExactMatchCase{CaseHead: head, Input: f.text("input"), Expected: f.anyText("expected"), CaseSensitive: f.flag("case_sensitive", true), Trim: f.flag("trim", false)}
	case CaseKindJSONSchema:
		return &JSONSchemaCase{CaseHead: head, Input: f.text("input"), Schema: f.schema("schema")}
	case CaseKindBooleanAssertion:
		return &BooleanAssertionCase{CaseHead: head, Input: f.text("input"), Assertion: f.assertion("assertion"), ShouldHold: f.flag("expected", true)}
	default:
		return &TaskPackageCase{
			CaseHead: head, EnvironmentRef: f.location("environment_ref"), Instruction: f.optional("instruction"),
			VerifierRef: f.path("verifier_ref", "tests/test.sh"), SkillBundleRef: f.path("skill_bundle_ref", "skill-under-test"),
			OracleRef: f.optionalPath("oracle_ref"), ResourceHints: f.hints("resource_hints"),
		}
	}
}

func (f *fields) assertion(key string) *CaseAssertion {
	if v, ok := f.raw[key]; ok && bytes.HasPrefix(v, []byte(`"`)) {
		return &CaseAssertion{Type: AssertionTypeSentence, Value: f.text(key)}
	}
	if f.missing(key) {
		return nil
	}
	in := f.inner(key)
	kind := fieldEnum(in, "type", wireAssertionType, AssertionTypeContains, AssertionTypeNotContains, AssertionTypeRegex, AssertionTypeJSONPath)
	a := &CaseAssertion{Type: kind, Value: in.text("value")}
	switch {
	case in.err != nil || f.saved:
	case a.Type == AssertionTypeRegex:
		if _, _, err := compileRegex(a.Value); err != nil {
			in.refuse("value", "is not a regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
	case a.Type == AssertionTypeJSONPath && !strings.HasPrefix(a.Value, "$"):
		in.refuse("value", "must be a JSON path, which begins with $")
	}
	f.check(in.err)
	return a
}
