package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"skillgraph/graph/generated"
	"skillgraph/internal/errs"
	"skillgraph/internal/face"
	"skillgraph/internal/viewer"
	"skillgraph/models"
)

var schema = generated.NewExecutableSchema(generated.Config{}).Schema()

func as(role models.Role) *models.Viewer {
	return &models.Viewer{Plan: models.PlanTeam, Role: role, Permissions: role.Permissions()}
}

// operation parses and validates a document as the executor does.
func operation(t testing.TB, query string, vars map[string]any) *graphql.OperationContext {
	t.Helper()
	doc, err := parser.ParseQuery(&ast.Source{Input: query})
	require.NoError(t, err, query)
	require.Empty(t, validator.ValidateWithRules(schema, doc, nil), query)
	coerced, err := validator.VariableValues(schema, doc.Operations[0], vars)
	require.NoError(t, err, query)
	return &graphql.OperationContext{RawQuery: query, Doc: doc, Operation: doc.Operations[0], Variables: coerced}
}

// run takes a document through the guard as the executor does: before it is parsed, and before it runs.
func run(t testing.TB, query string, vars map[string]any) error {
	t.Helper()
	g := New(nil)
	ctx := viewer.With(t.Context(), as(models.RoleOwner))
	if err := g.MutateOperationParameters(ctx, &graphql.RawParams{Query: query}); err != nil {
		return err
	}
	return orNil(g.MutateOperationContext(ctx, operation(t, query, vars)))
}

func orNil(err *gqlerror.Error) error {
	if err == nil {
		return nil
	}
	return err
}

// TestLimits runs a query that is just within each limit, and one that is just above it.
func TestLimits(t *testing.T) {
	t.Parallel()
	repeat := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)) + " ")
		}
		return b.String()
	}
	pad := func(query string, n int) string { return query + strings.Repeat(" ", n-len(query)) }
	deep := func(n int) string { // an event about an event about an event
		return `{ node(id: "x") { ... on Event {` + strings.Repeat("object { ... on Event {", n-2) + "id" + strings.Repeat("}}", n-2) + "}}}"
	}
	plain := []string{"id", "number", "name", "supportsNoSkill", "caseCount", "createdAt"}
	tests := map[string]struct {
		limit int
		words string // what the refusal says, before and after the number
		query func(n int) string
	}{
		"bytes":      {MaxQueryBytes, "bytes", func(n int) string { return pad("{ viewer { plan } }", n) }},
		"tokens":     {MaxTokens, "tokens", func(n int) string { return "{ nodes(ids: [" + repeat(n-12, "1") + "]) { id } }" }},
		"depth":      {maxDepth, "levels deep", deep},
		"aliases":    {maxAliases, "aliases", func(n int) string { return "{ viewer {" + repeat(n, "a#: plan") + "}}" }},
		"root":       {maxRootFields, "root fields", func(n int) string { return "{" + repeat(n, "__typename") + "}" }},
		"directives": {maxDirectives, "directives", func(n int) string { return "{ viewer {" + repeat(n, "plan @skip(if: false)") + "}}" }},
		"repeats":    {maxRepeats, "repeats one field", func(n int) string { return "{ viewer {" + repeat(n, "plan") + "}}" }},
		"spreads": {maxSpreads, "spreads fragments", func(n int) string {
			return "{ viewer {" + repeat(n, "...F") + "}} fragment F on Viewer { plan }"
		}},
		"fields": {maxFields, "fields", func(n int) string {
			return `{ suite(id: "x") { revisions { nodes {` + repeat((n-3)/6, strings.Join(plain, " ")) + strings.Join(plain[:(n-3)%6], " ") + "}}}}"
		}},
		"aliases in a fragment": {maxAliases, "aliases", func(n int) string {
			return "{ viewer { ...F " + repeat(n-10, "a#: plan") + "}} fragment F on Viewer {" + repeat(10, "b#: plan") + "}"
		}},
		"aliases in fragments that multiply": {maxAliases, "aliases", func(n int) string {
			return "{ viewer { ...F ...F " + repeat(n-20, "a#: plan") + "}} fragment F on Viewer { ...G ...G } fragment G on Viewer {" + repeat(5, "b#: plan") + "}"
		}},
		"root fields in fragments": {maxRootFields, "root fields", func(n int) string {
			return "{ ...F ...F " + repeat(n-16, "__typename") + "} fragment F on Query { ...G ... { ...G } } fragment G on Query {" + repeat(4, "__typename") + "}"
		}},
		"directives everywhere": {maxDirectives, "directives", func(n int) string {
			return "query @include(if: true) { viewer { ...F @skip(if: false) ... @skip(if: false) { role } " + repeat(n-4, "plan @skip(if: false)") +
				"}} fragment F on Viewer { role @skip(if: false) }"
		}},
		"depth through fragments": {maxDepth, "levels deep", func(n int) string {
			return `{ node(id: "x") { ...F } } fragment F on Event {` + strings.Repeat("object { ... on Event {", n-2) + "id" + strings.Repeat("}}", n-2) + "}"
		}},
		"__schema":            {1, "__schema", func(n int) string { return "{" + repeat(n, "__schema { description }") + "}" }},
		"__schema by aliases": {1, "__schema", func(n int) string { return "{" + repeat(n, "a#: __schema { description }") + "}" }},
		"__schema by fragments": {1, "__schema", func(n int) string {
			return "{" + repeat(n, "...F") + "} fragment F on Query { ... { __schema { description } } }"
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within := tt.query(tt.limit)
			g := New(nil)
			require.NoError(t, orNil(g.MutateOperationParameters(t.Context(), &graphql.RawParams{Query: within})), within)
			above := tt.query(tt.limit + 1)
			err := g.MutateOperationParameters(t.Context(), &graphql.RawParams{Query: above})
			require.Error(t, orNil(err), above)
			require.Equal(t, errs.TooComplex, errs.CodeOf(err))
			require.Contains(t, err.Error(), tt.words)
			require.Contains(t, err.Error(), fmt.Sprintf("the limit is %d", tt.limit))
		})
	}
}

// TestSelectionsAreLimited: fragments that are walked again and again by validation are refused before it.
func TestSelectionsAreLimited(t *testing.T) {
	t.Parallel()
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString("{ __schema { types { ...F0 } } }")
		for i := range n {
			fmt.Fprintf(&b, " fragment F%d on __Type { ...F%d ...F%d }", i, i+1, i+1)
		}
		fmt.Fprintf(&b, " fragment F%d on __Type { name }", n)
		return b.String()
	}
	g := New(nil)
	require.NoError(t, orNil(g.MutateOperationParameters(t.Context(), &graphql.RawParams{Query: chain(10)})))
	for _, n := range []int{13, 24, 80} {
		err := g.MutateOperationParameters(t.Context(), &graphql.RawParams{Query: chain(n)})
		require.Error(t, orNil(err))
		require.Equal(t, errs.TooComplex, errs.CodeOf(err))
		require.Contains(t, err.Error(), "the limit is 10000")
	}
}

// TestStoredDocumentsHaveNoLimits, because they are ours.
func TestStoredDocumentsHaveNoLimits(t *testing.T) {
	t.Parallel()
	query := "query Ours { suites(first: 1000) { nodes { casesJson } } " + strings.Repeat("viewer { plan } ", 30) + "}"
	op := operation(t, query, nil)
	g := New(map[string]*ast.QueryDocument{query: op.Doc})
	ctx := viewer.With(t.Context(), as(models.RoleOwner))
	require.NoError(t, orNil(g.MutateOperationParameters(ctx, &graphql.RawParams{Query: query})))
	require.NoError(t, orNil(g.MutateOperationContext(face.REST(ctx, "Ours"), op)))
	require.Error(t, orNil(g.MutateOperationContext(ctx, op)), "the same document from a client is refused")
	require.Error(t, run(t, query, nil))
}

func TestCacheForgetsTheOldest(t *testing.T) {
	t.Parallel()
	g := New(nil)
	doc := &ast.QueryDocument{}
	for i := range cachedDocuments + 1 {
		g.Add(t.Context(), fmt.Sprint(i), doc)
	}
	_, ok := g.Get(t.Context(), "0")
	require.False(t, ok)
	_, ok = g.Get(t.Context(), fmt.Sprint(cachedDocuments))
	require.True(t, ok)
}
