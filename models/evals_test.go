package models_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// imported are the cases of one file, in one line each: "+ fill" should trigger, "- cook" should not.
func imported(t *testing.T, content string) (cases []string, file *models.ImportedFile, err error) {
	t.Helper()
	in, files, err := models.ImportEvals(&models.CloudSource{Label: "l"}, map[string][]byte{"evals/a.json": []byte(content)}, nil)
	if err != nil {
		return nil, nil, err
	}
	n := 0
	s, raw, err := in.Suite(func() string { n++; return fmt.Sprint(n) })
	require.NoError(t, err)
	require.Equal(t, models.SuiteKindTriggerQuery, s.SuiteKind)
	typed, err := models.ReadCases(raw)
	require.NoError(t, err)
	for _, c := range typed {
		q := c.(*models.TriggerQueryCase)
		line := "- " + q.Query
		if q.Expectation == models.ExpectationShouldTrigger {
			line = "+ " + q.Query
		}
		if q.Name != nil {
			line += " named " + *q.Name
		}
		if q.InvocationType != nil {
			line += " by " + *q.InvocationType
		}
		cases = append(cases, line)
	}
	require.Len(t, files, 1)
	return cases, files[0], nil
}

func TestEvalShapes(t *testing.T) {
	t.Parallel()
	both := []string{"+ fill", "- cook"}
	for name, tt := range map[string]struct {
		content string
		want    []string
		leftOut int
	}{
		"a list":                {`[{"query": "fill", "should_trigger": true}, {"query": "cook", "should_trigger": false}]`, both, 0},
		"in evals":              {`{"skill_name": "x", "evals": [{"prompt": "fill", "should_trigger": true}, {"prompt": "cook", "should_trigger": false}]}`, both, 0},
		"in cases":              {`{"cases": [{"input": "fill", "expected": true}, {"input": "cook", "expected": false}]}`, both, 0},
		"in tests":              {`{"tests": [{"text": "fill", "shouldTrigger": true}, {"text": "cook", "shouldTrigger": false}]}`, both, 0},
		"in queries":            {`{"queries": [{"query": "fill", "expectation": "should_trigger"}, {"query": "cook", "expectation": "should_not_trigger"}]}`, both, 0},
		"two lists":             {`{"should_not_trigger": ["cook"], "should_trigger": ["fill"]}`, both, 0},
		"positive and negative": {`{"positive": ["fill"], "negative": [{"query": "cook"}]}`, both, 0},
		"camels":                {`{"shouldTrigger": ["fill"], "shouldNotTrigger": ["cook"]}`, both, 0},
		"two lists, deeper":     {`{"queries": {"should_trigger": ["fill"], "should_not_trigger": ["cook"]}}`, both, 0},
		"one list":              {`{"negative": ["cook"]}`, []string{"- cook"}, 0},
		"our own cases":         {`[{"case_kind": "trigger_query", "query": "fill", "expectation": "should_trigger", "name": "n", "invocation_type": "implicit"}]`, []string{"+ fill named n by implicit"}, 0},
		"other kinds":           {`[{"case_kind": "exact_match", "query": "x", "expected": true}, {"query": "fill", "should_trigger": true}]`, []string{"+ fill"}, 1},
		"with others": {
			`{"evals": [{"id": 1, "prompt": "do", "expected_output": "done"}, {"prompt": "x", "expected": "y"}, {"query": "fill", "should_trigger": true}, {"query": " ", "should_trigger": true},
				{"query": 7, "should_trigger": true}, {"query": "x", "should_trigger": "yes"}, {"query": "x", "should_trigger": null}, 7, "x", null, []]}`, []string{"+ fill"}, 10,
		},
		"odd names":                             {`[{"query": "fill", "should_trigger": true, "name": 7}, {"query": "fill", "should_trigger": true, "name": "a\nb"}]`, []string{"+ fill", "+ fill"}, 0},
		"a bare word where a list says nothing": {`[{"query": "fill", "should_trigger": true}, "fill"]`, []string{"+ fill"}, 1},
		"spaces":                                {" \n [ { \"query\" : \"fill\" , \"should_trigger\" : true } ] \n", []string{"+ fill"}, 0},
	} {
		cases, file, err := imported(t, tt.content)
		require.NoError(t, err, name)
		require.Equal(t, tt.want, cases, name)
		require.Equal(t, &models.ImportedFile{Path: "evals/a.json", Cases: len(tt.want), LeftOut: tt.leftOut}, file, name)
	}
}

func TestNoEvals(t *testing.T) {
	t.Parallel()
	for content, reason := range map[string]string{
		"":                                      "it is not JSON",
		"{":                                     "it is not JSON",
		"[] []":                                 "it is not JSON",
		"7":                                     "it has no list of cases",
		`"x"`:                                   "it has no list of cases",
		"null":                                  "it has no list of cases",
		"{}":                                    "it has no list of cases",
		`{"a":[]}`:                              "it has no list of cases",
		`{"evals": 7, "should_trigger": ["x"]}`: "it has no list of cases",
		`{"should_trigger": true}`:              "it has no list of cases",
		"[]":                                    "it has no trigger cases, which have a query and should_trigger",
		`{"evals": [{"prompt": "x"}]}`:          "it has no trigger cases, which have a query and should_trigger",
		`["x"]`:                                 "it has no trigger cases, which have a query and should_trigger",
		strings.Repeat("[", 65) + strings.Repeat("]", 65): "it is nested too deep",
	} {
		_, _, err := imported(t, content)
		require.EqualError(t, err, "nothing can be imported: evals/a.json: "+reason, content)
		require.Equal(t, errs.Invalid, errs.CodeOf(err))
	}
}

// Whole files are taken, as long as the suite does not become too large.
func TestEvalLimits(t *testing.T) {
	t.Parallel()
	list := func(n, size int) []byte {
		items := make([]map[string]any, n)
		for i := range items {
			items[i] = map[string]any{"query": strings.Repeat("q", size), "should_trigger": true}
		}
		raw, err := json.Marshal(items)
		require.NoError(t, err)
		return raw
	}
	source := &models.CloudSource{ID: ids.ID{1}, Label: strings.Repeat("ü", 200)}
	in, files, err := models.ImportEvals(source, map[string][]byte{"evals/a.json": list(400, 1), "evals/b.json": list(101, 1), "evals/c.json": list(100, 1)}, nil)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("ü", 193)+": evals", in.Name)
	require.Equal(t, []*models.ImportedFile{
		{Path: "evals/a.json", Cases: 400}, {Path: "evals/b.json", Reason: new("with its 101 cases the suite would have more than 500")}, {Path: "evals/c.json", Cases: 100},
	}, files)

	found := map[string][]byte{}
	for i := range 5 {
		found[fmt.Sprintf("evals/%d.json", i)] = list(1, 1<<20-1000)
	}
	_, files, err = models.ImportEvals(source, found, new("mine"))
	require.NoError(t, err)
	require.Equal(t, "with it the suite would be larger than 4 MiB", *files[4].Reason)

	found = map[string][]byte{}
	for i := range 101 {
		found[fmt.Sprintf("evals/%03d.json", i)] = list(1, 1)
	}
	_, files, err = models.ImportEvals(source, found, nil)
	require.NoError(t, err)
	require.Len(t, files, 100)

	// What is wrong with more files than a sentence can hold is told of the first.
	for p := range found {
		found[p] = nil
	}
	_, _, err = models.ImportEvals(source, found, nil)
	require.ErrorContains(t, err, "evals/004.json: it is not JSON")
	require.NotContains(t, err.Error(), "evals/005.json")
}

func FuzzEvals(f *testing.F) {
	for _, s := range []string{`[{"query": "a", "should_trigger": true}]`, `{"evals": {"positive": ["x"]}}`, `{"queries": [1, "\u0000", {"query": "\ud800", "expected": false}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, files, err := models.ImportEvals(&models.CloudSource{Label: "l"}, map[string][]byte{"evals/a.json": raw}, nil)
		if err != nil {
			require.Equal(t, errs.Invalid, errs.CodeOf(err))
			return
		}
		n := 0
		_, _, err = in.Suite(func() string { n++; return fmt.Sprint(n) })
		require.NoError(t, err, "what is imported is a suite")
		require.Equal(t, n, files[0].Cases)
	})
}
