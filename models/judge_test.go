package models

import (
	"encoding/json"
	"fmt"
	"regexp/syntax"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// caseOf is a case of a saved suite.
func caseOf(t *testing.T, raw string) EvalCase {
	t.Helper()
	cases, err := ReadCases(JSON("[" + raw + "]"))
	require.NoError(t, err)
	return cases[0]
}

// judged is what becomes of a result with an output: p(assed) or f(ailed), in capitals where the server decided.
func judged(c EvalCase, reported CaseOutcome, output string) (string, *EvalResult) {
	r := &EvalResult{ReportedOutcome: reported, Outcome: reported, JudgedBy: JudgeRunner, output: &output}
	(&judge{left: maxJudging}).decide(c, r)
	short := strings.ToLower(string(r.Outcome[:1]))
	if r.JudgedBy == JudgeServer {
		short = strings.ToUpper(short)
	}
	return short, r
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const (
		exact  = `{"id":"1","case_kind":"exact_match","input":"i","expected":%s}`
		schema = `{"id":"1","case_kind":"json_schema","input":"i","schema":%s}`
		assert = `{"id":"1","case_kind":"boolean_assertion","input":"i","assertion":%s}`
	)
	for _, row := range []struct{ form, detail, output, want string }{
		{exact, `"Oslo"`, "Oslo", "P"},
		{exact, `"Oslo"`, "oslo", "F"},
		{exact, `"Oslo"`, "Oslo ", "F"},
		{exact, `"Oslo","case_sensitive":false`, "oSLO", "P"},
		{exact, `"Oslo","trim":true`, "\n Oslo\t", "P"},
		{exact, `" Oslo ","trim":true,"case_sensitive":false`, "OSLO", "P"},
		{exact, `""`, "", "P"},
		{exact, `"Straße","case_sensitive":false`, "STRASSE", "F"},

		{schema, `{"type":"object","required":["a"]}`, `{"a":1}`, "P"},
		{schema, `{"type":"object","required":["a"]}`, `{"b":1}`, "F"},
		{schema, `{"type":"object"}`, `not JSON`, "F"},
		{schema, `{"type":"object"}`, `{} {}`, "F"},
		{schema, `true`, "``json\n{}\n```", "F"},
		{schema, `{"type":"string","pattern":"^a+$"}`, `"aaa"`, "P"},
		{schema, `{"type":"string","pattern":"^a+$"}`, `"aab"`, "F"},
		{schema, `{"minimum":0.1}`, `0.1`, "P"},
		{schema, `{"minimum":0.1}`, `0.0999999999999999999999`, "F"},
		{schema, `{"multipleOf":0.01}`, `0.07`, "P"},
		{schema, `{"multipleOf":0.01}`, `1e999999999`, "F"}, // no number that we take
		{schema, `{"$defs":{"n":{"type":"integer"}},"items":{"$ref":"#/$defs/n"}}`, `[1,2]`, "P"},
		{schema, `{"$defs":{"n":{"type":"integer"}},"items":{"$ref":"#/$defs/n"}}`, `[1,"2"]`, "F"},
		{schema, `{"$ref":"https://example.com/s.json"}`, `1`, "p"},
		{schema, `{"$ref":"file:///etc/passwd"}`, `1`, "p"},
		{schema, `{"$ref":"#"}`, `1`, "p"}, // goes round in circles
		{schema, `{"properties":{"next":{"$ref":"#"}},"required":["v"]}`, `{"v":1,"next":{"v":2,"next":{"v":3}}}`, "P"},
		{schema, `{"properties":{"next":{"$ref":"#"}},"required":["v"]}`, `{"v":1,"next":{"next":{"v":3}}}`, "F"},
		{schema, `{"$dynamicRef":"#x"}`, `1`, "p"},

		{assert, `{"type":"contains","value":"cannot"}`, "I cannot", "P"},
		{assert, `{"type":"contains","value":"cannot"}`, "I Cannot", "F"},
		{assert, `{"type":"contains","value":"cannot"},"expected":false`, "I cannot", "F"},
		{assert, `{"type":"contains","value":"cannot"},"expected":false`, "I can", "P"},
		{assert, `{"type":"not_contains","value":"cannot"}`, "I can", "P"},
		{assert, `{"type":"not_contains","value":"cannot"}`, "I cannot", "F"},
		{assert, `{"type":"regex","value":"^\\d+ (km|mi)$"}`, "12 km", "P"},
		{assert, `{"type":"regex","value":"^\\d+ (km|mi)$"}`, "about 12 km", "F"},
		{assert, `{"type":"regex","value":"(?<=a)b"}`, "ab", "p"}, // no expression of ours
		{assert, `{"type":"json_path","value":"$.a[0].b"}`, `{"a":[{"b":null}]}`, "P"},
		{assert, `{"type":"json_path","value":"$.a[1]"}`, `{"a":[0]}`, "F"},
		{assert, `{"type":"json_path","value":"$..price"}`, `{"a":[{"price":1}]}`, "P"},
		{assert, `{"type":"json_path","value":"$.items[?(@.price > 10)]"}`, `{"items":[{"price":11}]}`, "P"},
		{assert, `{"type":"json_path","value":"$.items[?(@.price > 10)]"}`, `{"items":[{"price":9}]}`, "F"},
		{assert, `{"type":"json_path","value":"$.a"}`, `plain text`, "F"},
		{assert, `{"type":"json_path","value":"$.a["}`, `{}`, "p"},
		{assert, `{"type":"json_path","value":"$[?search(@.a, 'x')]"}`, `[]`, "p"},
		{assert, `"it is polite"`, "please", "p"},

		{`{"id":"1","case_kind":"trigger_query","query":"q","expectation":%s}`, `"should_trigger"`, "fired", "p"},
		{`{"id":"1","case_kind":"llm_rubric","prompt":"q","rubric":%s}`, `"r"`, "fine", "p"},
		{`{"id":"1","case_kind":"task_package","environment_ref":%s}`, `"https://example.com/a"`, "done", "p"},
	} {
		c := caseOf(t, fmt.Sprintf(row.form, row.detail))
		got, r := judged(c, CaseOutcomePassed, row.output)
		require.Equal(t, row.want, got, "%s with %s", row.detail, row.output)
		require.Equal(t, row.want == "F", r.Disagrees())
		got, r = judged(c, CaseOutcomeFailed, row.output)
		require.Equal(t, strings.ReplaceAll(row.want, "p", "f"), got, "%s with %s", row.detail, row.output)
		require.Equal(t, row.want == "P", r.Disagrees())
		for _, none := range []CaseOutcome{CaseOutcomeError, CaseOutcomeSkipped} { // nothing was run
			got, _ = judged(c, none, row.output)
			require.Equal(t, strings.ToLower(string(none[:1])), got)
		}
	}
	r := &EvalResult{ReportedOutcome: CaseOutcomeFailed, Outcome: CaseOutcomeFailed, JudgedBy: JudgeRunner}
	(&judge{left: maxJudging}).decide(caseOf(t, fmt.Sprintf(exact, `"Oslo"`)), r)
	require.Equal(t, JudgeRunner, r.JudgedBy, "no output, no verdict")
}

// Whatever a suite or a runner sends, judging a run takes seconds at the very worst, and mostly nothing: what would take longer is left to the runner.
func TestJudgeBombs(t *testing.T) {
	t.Parallel()
	var doubling strings.Builder
	doubling.WriteString(`{"$defs":{`)
	for i := range 60 {
		fmt.Fprintf(&doubling, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	doubling.WriteString(`"a60":{"type":"string"}},"$ref":"#/$defs/a0"}`)
	failing := strings.ReplaceAll(strings.ReplaceAll(doubling.String(), "allOf", "anyOf"), `"$ref":"#/$defs/a0"}`, `"not":{"$ref":"#/$defs/a0"}}`)
	deep := strings.Repeat("[", 60) + strings.Repeat("]", 60)
	wide := "[" + strings.TrimSuffix(strings.Repeat("{},", 80000), ",") + "]"
	required := `{"items":{"required":["` + strings.Join(strings.Fields(strings.Repeat("a ", 1500)), `","`) + `"]}}`
	long := strings.Repeat("a", 256<<10)
	const schema, assert = `{"id":"1","case_kind":"json_schema","input":"i","schema":%s}`, `{"id":"1","case_kind":"boolean_assertion","input":"i","assertion":{"type":"%s","value":%s}}`
	quoted := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	for name, row := range map[string]struct{ raw, output string }{
		"references that double":      {fmt.Sprintf(schema, doubling.String()), `"x"`},
		"in vain":                     {fmt.Sprintf(schema, failing), `7`},
		"at every level":              {fmt.Sprintf(schema, `{"items":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}`), deep},
		"many demands on many":        {fmt.Sprintf(schema, required), wide},
		"a pattern for a book":        {fmt.Sprintf(schema, `{"pattern":"(a{50}){50}b"}`), quoted(long)},
		"a list of nothings":          {fmt.Sprintf(schema, `{"allOf":[`+strings.Repeat("{},", 200000)+`{}]}`), `1`},
		"a large regular expression":  {fmt.Sprintf(assert, "regex", `"(a{100}){40}b"`), long},
		"a larger one":                {fmt.Sprintf(assert, "regex", `"(a{100}){60}b"`), "a"},
		"one that is larger":          {fmt.Sprintf(assert, "regex", quoted(strings.Repeat("(a{1000})", 1000))), "a"},
		"everything below everything": {fmt.Sprintf(assert, "json_path", `"$..*..*..*..nothing"`), deep},
		"filters in filters":          {fmt.Sprintf(assert, "json_path", `"$[?@..[?@..[?@..a]]]"`), wide},
		"twice and twice and twice":   {fmt.Sprintf(assert, "json_path", quoted("$"+strings.Repeat("[*,*]", 40))), deep},
		"a long path":                 {fmt.Sprintf(assert, "json_path", quoted("$"+strings.Repeat(".a", 1000))), `{}`},
	} {
		c := caseOf(t, row.raw)
		begun := time.Now()
		got, r := judged(c, CaseOutcomePassed, row.output)
		took := time.Since(begun)
		require.Equal(t, "p", got, "%s: %v", name, r.Judgement)
		require.Contains(t, *r.Judgement, "Left to the runner", name)
		t.Logf("%s: %s", name, took.Round(time.Microsecond))
	}
	nested, _ := judged(caseOf(t, fmt.Sprintf(schema, `true`)), CaseOutcomePassed, strings.Repeat("[", 100000))
	require.Equal(t, "F", nested)
}

// A run may use what is left of the work that others of it have used.
func TestJudgeBudget(t *testing.T) {
	t.Parallel()
	c := caseOf(t, `{"id":"1","case_kind":"boolean_assertion","input":"i","assertion":{"type":"regex","value":"x{900}y"}}`)
	j := &judge{left: maxJudging}
	verdicts := map[Judge]int{}
	for range 10 {
		output := strings.Repeat("z", 20<<10)
		r := &EvalResult{ReportedOutcome: CaseOutcomeFailed, Outcome: CaseOutcomeFailed, JudgedBy: JudgeRunner, output: &output}
		j.decide(c, r)
		verdicts[r.JudgedBy]++
	}
	require.Equal(t, map[Judge]int{JudgeServer: 5, JudgeRunner: 5}, verdicts)
	require.GreaterOrEqual(t, j.left, 0)
}

// What a suite may not be saved with.
func TestCaseBombs(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"case_kind":"json_schema","input":"i","schema":{"allOf":[` + strings.Repeat("{},", 2000) + `{}]}}`:                           "schema: must have at most 2000 values",
		`{"case_kind":"json_schema","input":"i","schema":{"pattern":"(((a{50}){50}){50})"}}`:                                           "schema: is not a usable JSON Schema",
		`{"case_kind":"boolean_assertion","input":"i","assertion":{"type":"regex","value":"` + strings.Repeat("(a{1000})", 20) + `"}}`: "value: is not a regular expression: it is too large",
	} {
		_, _, err := ParseCases(JSON("["+raw+"]"), VerifierKindDeterministic, func() string { return "1" })
		require.Error(t, err)
		_, message, _ := strings.Cut(want, ": ")
		require.ErrorContains(t, err, message)
	}
}

// What the reckoning counts.
func TestEvaluations(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		schema, value string
		want          int
	}{
		{`true`, `1`, 1},
		{`{"type":"integer"}`, `1`, 1},
		{`{"allOf":[{},{},{}]}`, `1`, 4},
		{`{"items":{}}`, `[1,2,3]`, 4},
		{`{"properties":{"a":{},"b":{}}}`, `{"a":1,"c":2}`, 4}, // itself, with two names to look for, and a
		{`{"$defs":{"x":{"allOf":[{},{}]}},"allOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"}]}`, `1`, 9},
		{`{"required":["a","b","c"]}`, `{}`, 4},
		{`{"enum":[1,2,3]}`, `1`, 4},
	} {
		s, err := compileSchema([]byte(row.schema), plainRegexp)
		require.NoError(t, err)
		v, _, ok := readOutput(row.value)
		require.True(t, ok)
		e := evaluations{most: 1000, known: map[evaluation]int{}}
		require.Equal(t, row.want, e.count(s, newNode(v)), row.schema)
	}
}

// The size of an expression is about that of its program.
func TestRegexSize(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{`a`, `abc`, `x{900}y`, `(a{50}){20}b`, `^\d+ (km|mi)$`, `[a-z]{3,40}`, `(foo|bar|bazaar)*?x+`, `a{7,}`, `(?i)hello.*world`, `((a|b){9}c?){9}`} {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		require.NoError(t, err)
		program, err := syntax.Compile(tree.Simplify())
		require.NoError(t, err)
		_, size, err := compileRegex(pattern)
		require.NoError(t, err)
		require.LessOrEqual(t, len(program.Inst), 2*size+10, pattern)
		require.LessOrEqual(t, size, 2*len(program.Inst), pattern)
	}
}
