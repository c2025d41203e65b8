package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"skillgraph/internal/errs"
)

// What of a folder's evals becomes a suite.
const (
	MaxEvals       = 1 << 20 // bytes of a file
	maxEvalsFiles  = 100
	maxImportBytes = 4 << 20 // what a suite may be sent as
)

// The spellings that the tools of this field use.
var (
	listKeys     = []string{"evals", "cases", "queries", "tests"}
	positiveKeys = []string{"should_trigger", "shouldTrigger", "positive"}
	negativeKeys = []string{"should_not_trigger", "shouldNotTrigger", "negative"}
	queryKeys    = []string{"query", "prompt", "input", "text"}
	verdictKeys  = []string{"should_trigger", "shouldTrigger", "expected", "expectation"}
)

// ImportEvals makes a suite of the trigger cases in files, by their path, and says what became of each file.
func ImportEvals(s *CloudSource, found map[string][]byte, name *string) (CreateSuiteInput, []*ImportedFile, error) {
	in := CreateSuiteInput{
		Name: or(name, shorten(s.Label, 200-len(importedName))+importedName), SourceID: graphql.OmittableOf(&s.ID),
		SourceKind: SuiteSourceKindImported, VerifierKind: VerifierKindLLMJudge,
	}
	paths := slices.Sorted(maps.Keys(found))
	files, cases := []*ImportedFile{}, []json.RawMessage{}
	for _, p := range paths[:min(len(paths), maxEvalsFiles)] {
		f := &ImportedFile{Path: p}
		got, reason := evalsOf(found[p], &f.LeftOut)
		switch {
		case reason != "":
		case len(cases)+len(got) > maxCases:
			reason = fmt.Sprintf("with its %d cases the suite would have more than %d", len(got), maxCases)
		case size(cases)+size(got) > maxImportBytes:
			reason = fmt.Sprintf("with it the suite would be larger than %d MiB", maxImportBytes>>20)
		default:
			f.Cases, cases = len(got), append(cases, got...)
		}
		if reason != "" {
			f.Reason = &reason
		}
		files = append(files, f)
	}
	if len(cases) == 0 {
		return in, nil, nothingToImport(files)
	}
	raw, err := json.Marshal(cases)
	in.CasesJSON = raw
	return in, files, err
}

const importedName = ": evals"

// shorten cuts a text to so many characters.
func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}

func size(cases []json.RawMessage) (n int) {
	for _, c := range cases {
		n += len(c)
	}
	return n
}

func nothingToImport(files []*ImportedFile) error {
	at := errs.At("sourceId")
	if len(files) == 0 {
		return at.Because("the current snapshot has no files evals/*.json")
	}
	reasons := make([]string, 0, len(files))
	for _, f := range files[:min(len(files), 5)] {
		reasons = append(reasons, f.Path+": "+*f.Reason)
	}
	return at.Because("nothing can be imported: %s", strings.Join(reasons, "; "))
}

// evalsOf finds the trigger cases in a file, or says why there are none. What is no trigger case is counted.
func evalsOf(raw []byte, leftOut *int) ([]json.RawMessage, string) {
	switch {
	case len(raw) > MaxEvals:
		return nil, fmt.Sprintf("it is larger than %d MiB", MaxEvals>>20)
	case !json.Valid(raw):
		return nil, "it is not JSON"
	case tooDeep(raw):
		return nil, "it is nested too deep"
	}
	cases := listOf(raw, nil, leftOut)
	if cases == nil {
		return nil, "it has no list of cases"
	}
	if len(cases) == 0 {
		return nil, "it has no trigger cases, which have a query and should_trigger"
	}
	return cases, ""
}

// listOf reads a list of cases, or an object with one. A verdict stands for what a list as a whole says of its queries.
func listOf(raw json.RawMessage, verdict *bool, leftOut *int) []json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if bytes.HasPrefix(raw, []byte("[")) {
		var items []json.RawMessage
		_ = json.Unmarshal(raw, &items) // it is valid
		out := []json.RawMessage{}
		for _, item := range items {
			if c := triggerCase(item, verdict); c != nil {
				out = append(out, c)
			} else {
				*leftOut++
			}
		}
		return out
	}
	object := rawFields(raw)
	if v := first(object, listKeys); v != nil {
		return listOf(v, nil, leftOut)
	}
	positive, negative := first(object, positiveKeys), first(object, negativeKeys)
	if !isList(positive) && !isList(negative) {
		return nil
	}
	out := []json.RawMessage{}
	if isList(positive) {
		out = append(out, listOf(positive, new(true), leftOut)...)
	}
	if isList(negative) {
		out = append(out, listOf(negative, new(false), leftOut)...)
	}
	return out
}

func isList(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) }

func first(object map[string]json.RawMessage, keys []string) json.RawMessage {
	for _, k := range keys {
		if v, ok := object[k]; ok {
			return v
		}
	}
	return nil
}

// triggerCase is an entry as suites have it, or nil where it is no trigger case.
func triggerCase(raw json.RawMessage, verdict *bool) json.RawMessage {
	out := map[string]any{"case_kind": CaseKindTriggerQuery.Wire()}
	var query string
	object := rawFields(raw)
	if object == nil { // a bare query, in a list that says what is expected of it
		_ = json.Unmarshal(raw, &query)
	} else {
		if kind := textAt(object, "case_kind"); kind != "" && kind != CaseKindTriggerQuery.Wire() {
			return nil
		}
		_ = json.Unmarshal(first(object, queryKeys), &query)
		if verdict == nil {
			verdict = verdictOf(first(object, verdictKeys))
		}
		if s := textAt(object, "invocation_type"); s != "" {
			out["invocation_type"] = s
		}
		if s := textAt(object, "name"); checkText(nil, s, 1, 200) == nil {
			out["name"] = s
		}
	}
	if isBlank(query) || verdict == nil {
		return nil
	}
	out["query"], out["expectation"] = query, ExpectationShouldNotTrigger.Wire()
	if *verdict {
		out["expectation"] = ExpectationShouldTrigger.Wire()
	}
	c, _ := json.Marshal(out)
	return c
}

func textAt(object map[string]json.RawMessage, key string) (s string) {
	_ = json.Unmarshal(object[key], &s)
	return s
}

func verdictOf(raw json.RawMessage) *bool {
	var v bool
	if json.Unmarshal(raw, &v) == nil && !bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return &v
	}
	var s string
	_ = json.Unmarshal(raw, &s)
	if e, ok := ParseExpectation(s); ok {
		return new(e == ExpectationShouldTrigger)
	}
	return nil
}
