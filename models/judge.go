package models

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/theory/jsonpath"
)

// maxJudging is how much work the server puts into the outputs of one run, in steps of some 20 ns: two seconds at the very worst. Nothing that is
// judged here can be stopped halfway, so what it may cost is reckoned beforehand, and what is too much is left to the runner.
const maxJudging = 100_000_000

const (
	byteSteps       = 50   // to compile a byte of a schema
	evaluationSteps = 30   // to hold a value against a subschema
	nodeSteps       = 40   // to look at a value for a step of a JSON path
	maxPath         = 1000 // bytes of a JSON path
)

// judge decides what can be decided from an output alone.
type judge struct{ left int }

// A verdict is whether an answer is right, and why; nothing where it cannot be told here.
type verdict struct {
	decided, holds bool
	why            string
}

func undecided(why string) verdict           { return verdict{why: why} }
func decided(holds bool, why string) verdict { return verdict{true, holds, why} }

const (
	tooMuch  = "Left to the runner: it is too much work to judge here."
	unusable = "Left to the runner: the schema cannot be used here."
)

// spend takes steps from what is left, if there are so many.
func (j *judge) spend(steps int) bool {
	if steps < 0 || steps > j.left {
		return false
	}
	j.left -= steps
	return true
}

// decide makes the server's verdict that of record. A case that could not be run, or has no output, has none.
func (j *judge) decide(c EvalCase, r *EvalResult) {
	if r.output == nil || !r.decided() {
		return
	}
	v := j.verdict(c, *r.output)
	if v.why != "" {
		r.Judgement = excerpt(v.why)
	}
	if !v.decided {
		return
	}
	r.JudgedBy, r.Outcome = JudgeServer, CaseOutcomeFailed
	if v.holds {
		r.Outcome = CaseOutcomePassed
	}
}

func (j *judge) verdict(c EvalCase, output string) verdict {
	switch c := c.(type) {
	case *ExactMatchCase:
		return c.judge(output)
	case *JSONSchemaCase:
		return j.schema(c.Schema, output)
	case *BooleanAssertionCase:
		if c.Assertion == nil {
			return verdict{}
		}
		v := j.assertion(c.Assertion, output)
		v.holds = v.holds == c.ShouldHold
		return v
	}
	return verdict{}
}

func (c *ExactMatchCase) judge(output string) verdict {
	want, got := c.Expected, output
	if c.Trim {
		want, got = strings.TrimSpace(want), strings.TrimSpace(got)
	}
	if got == want || !c.CaseSensitive && strings.EqualFold(got, want) {
		return decided(true, "The output is what was expected.")
	}
	return decided(false, "The output is not what was expected.")
}

func (j *judge) assertion(a *CaseAssertion, output string) verdict {
	switch a.Type {
	case AssertionTypeContains:
		return found(strings.Contains(output, a.Value), "the text")
	case AssertionTypeNotContains:
		v := found(strings.Contains(output, a.Value), "the text")
		v.holds = !v.holds
		return v
	case AssertionTypeRegex:
		return j.regex(a.Value, output)
	case AssertionTypeJSONPath:
		return j.path(a.Value, output)
	case AssertionTypeSentence:
	}
	return undecided("Left to the runner: only it can judge a sentence.")
}

func found(there bool, what string) verdict {
	if there {
		return decided(true, "The output has "+what+".")
	}
	return decided(false, "The output does not have "+what+".")
}

// regex takes time by the length of the output and the size of the expression, and no more.
func (j *judge) regex(pattern, output string) verdict {
	re, size, err := compileRegex(pattern)
	if err != nil {
		return undecided("Left to the runner: the regular expression cannot be used here.")
	}
	if !j.spend(size * (len(output) + 1)) {
		return undecided(tooMuch)
	}
	return found(re.MatchString(output), "a match")
}

// readOutput decodes an output, with numbers as they are spelled; one that is absurdly large or small is not a number here, since comparing it exactly takes forever.
func readOutput(output string) (v any, nodes int, ok bool) {
	if deep, _ := measureJSON([]byte(output)); deep > maxJSONDepth {
		return nil, 0, false
	}
	dec := json.NewDecoder(strings.NewReader(output))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil, 0, false
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, 0, false
	}
	nodes, ok = countNodes(v)
	return v, nodes, ok
}

func countNodes(v any) (n int, ok bool) {
	n, ok = 1, true
	add := func(child any) {
		m, fine := countNodes(child)
		n, ok = n+m, ok && fine
	}
	switch v := v.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(v.String(), 64)
		ok = err == nil && len(v) < 400 && (f == 0 || math.Abs(f) > 1e-300)
	case []any:
		for _, child := range v {
			add(child)
		}
	case map[string]any:
		for _, child := range v {
			add(child)
		}
	}
	return n, ok
}

// path takes, at the worst, every value again for each descent and each filter but one, and twice as long for each alternative.
func (j *judge) path(path, output string) verdict {
	if len(path) > maxPath || strings.Contains(path, "match(") || strings.Contains(path, "search(") {
		return undecided(tooMuch)
	}
	p, err := jsonpath.Parse(path)
	if err != nil {
		return undecided("Left to the runner: the JSON path is not one of RFC 9535.")
	}
	v, nodes, ok := readOutput(output)
	if !ok {
		return decided(false, "The output is not JSON.")
	}
	steps, rounds := 1+strings.Count(path, ".")+strings.Count(path, "["), max(1, strings.Count(path, "..")+strings.Count(path, "?"))
	cost := nodeSteps * float64(steps) * math.Pow(float64(nodes), float64(rounds)) * math.Pow(2, float64(strings.Count(path, ",")))
	if cost > maxJudging || !j.spend(int(cost)) {
		return undecided(tooMuch)
	}
	return found(len(p.Select(v)) > 0, "something at the path")
}

// schema holds an output against a JSON Schema.
func (j *judge) schema(raw JSON, output string) (v verdict) {
	defer func() {
		switch recover() {
		case nil:
		case errTooMuch:
			v = undecided(tooMuch)
		default: // a library's trouble with one schema is no reason to refuse the run
			v = undecided(unusable)
		}
	}()
	_, commas := measureJSON(raw)
	if commas >= maxSchemaValues || !j.spend(len(raw)*byteSteps+commas*commas/4) { // a list of schemas takes time by the square of its length
		return undecided(tooMuch)
	}
	s, err := compileSchema(raw, j.engine)
	if err != nil {
		return undecided(unusable)
	}
	value, _, ok := readOutput(output)
	if !ok {
		return decided(false, "The output is not JSON.")
	}
	e := evaluations{most: j.left / evaluationSteps, known: map[evaluation]int{}}
	if !j.spend(e.count(s, newNode(value)) * evaluationSteps) {
		return undecided(tooMuch)
	}
	if err := s.Validate(value); err != nil {
		return decided(false, "The output does not fit the schema: "+schemaFault(err))
	}
	return decided(true, "The output fits the schema.")
}

var errTooMuch = errors.New(tooMuch) //nolint:staticcheck // a sentence for people

// engine makes the regular expressions of a schema, which stop when there is nothing left to spend.
func (j *judge) engine(pattern string) (jsonschema.Regexp, error) {
	re, size, err := compileRegex(pattern)
	return meteredRegexp{re, j, size}, err
}

type meteredRegexp struct {
	*regexp.Regexp
	judge *judge
	size  int
}

// MatchString pays before it matches.
func (m meteredRegexp) MatchString(s string) bool {
	if !m.judge.spend(m.size * (len(s) + 1)) {
		panic(errTooMuch)
	}
	return m.Regexp.MatchString(s)
}
