package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"skillgraph/internal/errs"
)

func costOf(t testing.TB, query string, vars map[string]any) int {
	t.Helper()
	op := operation(t, query, vars)
	c := costing{vars: op.Variables, fragments: op.Doc.Fragments, known: map[string]int{}}
	n := c.selection(op.Operation.SelectionSet)
	require.NoError(t, orNil(c.err))
	return n
}

func TestCost(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		query string
		vars  map[string]any
		want  int
	}{
		"a value":                     {"{ __typename }", nil, 0},
		"an object":                   {"{ viewer { plan } }", nil, 1},
		"objects in objects":          {"{ viewer { user { id } organization { id } } }", nil, 3},
		"a page, 20 when not said":    {"{ suites { nodes { name } } }", nil, 1 + 20},
		"a page of first":             {"{ suites(first: 7) { nodes { name } } }", nil, 1 + 7},
		"a page of perPage":           {"{ suites(perPage: 7) { nodes { name } } }", nil, 1 + 7},
		"a page of null":              {"{ suites(first: null) { nodes { name } } }", nil, 1 + 20},
		"null before perPage":         {"{ suites(first: null, perPage: 7) { nodes { name } } }", nil, 1 + 7},
		"a page of a variable":        {"query($n: Int) { suites(first: $n) { nodes { name } } }", map[string]any{"n": int64(7)}, 1 + 7},
		"a variable of JSON":          {"query($n: Int) { suites(first: $n) { nodes { name } } }", map[string]any{"n": 7.0}, 1 + 7},
		"a variable without value":    {"query($n: Int) { suites(first: $n) { nodes { name } } }", nil, 1 + 20},
		"a variable of null":          {"query($n: Int) { suites(first: $n) { nodes { name } } }", map[string]any{"n": nil}, 1 + 20},
		"a variable's default":        {"query($n: Int = 9) { suites(first: $n) { nodes { name } } }", nil, 1 + 9},
		"a variable's default unused": {"query($n: Int = 9) { suites(first: $n) { nodes { name } } }", map[string]any{"n": int64(3)}, 1 + 3},
		"a page is never free":        {"{ suites(first: 0) { nodes { name } } }", nil, 1 + 1},
		"a negative page":             {"{ suites(first: -5) { nodes { name } } }", nil, 1 + 1},
		"edges count the page once":   {"{ suites(first: 7) { edges { cursor node { name } } } }", nil, 1 + 7*2},
		"a counted total":             {"{ suites(first: 7) { totalCount } }", nil, 1 + 7},
		"lists multiply":              {"{ suites(first: 10) { nodes { revisions(first: 5) { nodes { createdBy { id } } } } } }", nil, 1 + 10*(1+1+5*(1+1))},
		"a weight":                    {`{ suite(id: "x") { casesJson } }`, nil, 1 + 100},
		"a weight in a page":          {"{ suites(first: 3) { nodes { casesJson } } }", nil, 1 + 3*(1+100)},
		"a size":                      {`{ suite(id: "x") { cases { id } } }`, nil, 1 + 1},
		"a size with objects":         {`{ suite(id: "x") { cases { ... on BooleanAssertionCase { assertion { value } } } } }`, nil, 1 + 1 + 100},
		"as many as there are ids":    {`{ nodes(ids: ["a", "b", "c"]) { ... on Event { actor { id } } } }`, nil, 1 + 3},
		"ids in a variable":           {`query($i: [ID!]!) { nodes(ids: $i) { ... on Event { actor { id } } } }`, map[string]any{"i": []any{"a", "b"}}, 1 + 2},
		"no ids":                      {`{ nodes(ids: []) { ... on Event { actor { id } } } }`, nil, 1},
		"a fragment":                  {"{ ...F } fragment F on Query { viewer { plan } }", nil, 1},
		"a fragment at every spread":  {"{ ...F ...F ... { ...F } } fragment F on Query { viewer { plan } }", nil, 3},
		"fragments in fragments":      {"{ ...F ...F } fragment F on Query { ...G ...G } fragment G on Query { viewer { user { id } } }", nil, 8},
		"a fragment below a list":     {"{ events(first: 4) { nodes { ...F } } } fragment F on Event { actor { id } }", nil, 1 + 4*(1+1)},
		"what is skipped counts too":  {"{ viewer @skip(if: true) { plan } }", nil, 1},
		"introspection costs":         {"{ __schema { types { name } } }", nil, 1 + 1},
		"introspection multiplies":    {"{ __schema { types { fields { type { name } } } } }", nil, 1 + 1 + introspected*(1+introspected*1)},
		"a mutation":                  {`mutation { deleteSuite(id: "x") { deletedId } }`, nil, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, costOf(t, tt.query, tt.vars))
		})
	}
}

// TestCostIsLimited: 10,000 passes, 10,001 does not.
func TestCostIsLimited(t *testing.T) {
	t.Parallel()
	// 98 pages of 101, and then one at a time
	spend := func(n int) string {
		return "{ suites(first: 100) { nodes { " + strings.Repeat("createdBy { id } ", 97) + "} } " + strings.Repeat("viewer { user { id } } ", (n-9801)/2) + strings.Repeat("viewer { plan } ", (n-9801)%2) + "}"
	}
	require.Equal(t, maxCost, costOf(t, spend(maxCost), nil))
	op := operation(t, spend(maxCost), nil)
	require.NoError(t, orNil(checkCost(op)))
	err := checkCost(operation(t, spend(maxCost+1), nil))
	require.Error(t, orNil(err))
	require.Equal(t, errs.TooComplex, errs.CodeOf(err))
	require.Contains(t, err.Error(), "the limit is 10000")
}

// TestCostStopsAtTheLimit: sums that would overflow, or take for ever, do neither.
func TestCostStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{ node(id: "x") { ...F0 } }`)
	for i := range 64 {
		fmt.Fprintf(&b, " fragment F%d on EvalSuite { revisions(first: 100) { nodes { suite { ...F%d ...F%d } } } }", i, i+1, i+1)
	}
	b.WriteString(" fragment F64 on EvalSuite { createdBy { id } }")
	doc, err := parser.ParseQuery(&ast.Source{Input: b.String()})
	require.NoError(t, err)
	require.Empty(t, validator.ValidateWithRules(schema, doc, nil))
	c := costing{fragments: doc.Fragments, known: map[string]int{}}
	require.Equal(t, maxCost+1, c.selection(doc.Operations[0].SelectionSet))
}

func TestPageSizeIsLimited(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		query string
		vars  map[string]any
	}{
		"first":        {"query($n: Int) { suites(first: #) { totalCount } }", nil},
		"perPage":      {"query($n: Int) { suites(perPage: #) { totalCount } }", nil},
		"a nested":     {"query($n: Int) { organization { members(first: #) { totalCount } } }", nil},
		"a fragment":   {"query($n: Int) { ...F } fragment F on Query { events(first: #) { totalCount } }", nil},
		"in a cheap":   {"query($n: Int) { suites(first: #) { pageInfo { perPage } } }", nil},
		"what skipped": {"query($n: Int) { suites(first: #) @skip(if: true) { totalCount } }", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, n := range []any{int64(maxPageSize), float64(maxPageSize)} {
				require.NoError(t, run(t, strings.Replace(tt.query, "#", "$n", 1), map[string]any{"n": n}))
			}
			for _, n := range []any{int64(maxPageSize + 1), float64(maxPageSize + 1), "101", int64(1) << 40, 1e300} {
				err := run(t, strings.Replace(tt.query, "#", "$n", 1), map[string]any{"n": n})
				require.Error(t, err, "%v", n)
				require.Equal(t, errs.TooComplex, errs.CodeOf(err), "%v", n)
				require.Contains(t, err.Error(), "the limit is 100")
			}
			literal := strings.Replace(strings.Replace(tt.query, "query($n: Int)", "", 1), "#", "%d", 1)
			require.NoError(t, run(t, fmt.Sprintf(literal, maxPageSize), nil))
			require.Error(t, run(t, fmt.Sprintf(literal, maxPageSize+1), nil))
		})
	}
}
