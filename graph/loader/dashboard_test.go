package loader_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/graph/loader"
	"skillgraph/internal/apitest"
)

func readSchema(t *testing.T) *ast.Schema {
	t.Helper()
	text, err := os.ReadFile("../../schema.graphqls")
	require.NoError(t, err)
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphqls", Input: string(text)})
	require.NoError(t, err)
	return schema
}

// edgesOf are the lines of the table that a query follows, once for each time that it does.
func edgesOf(t *testing.T, schema *ast.Schema, query string) (edges []string, roots int) {
	t.Helper()
	doc, errs := gqlparser.LoadQueryWithRules(schema, "{ "+strings.ReplaceAll(query, "$n", "1")+" }", nil)
	require.Nil(t, errs, query)
	lines := map[string]bool{}
	for _, line := range loader.Table() {
		lines[line.Name] = true
	}
	var walk func(ast.SelectionSet)
	walk = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.InlineFragment:
				walk(sel.SelectionSet)
			case *ast.Field:
				for _, name := range append([]string{sel.ObjectDefinition.Name}, sel.ObjectDefinition.Interfaces...) {
					if line := name + "." + sel.Name; lines[line] {
						edges = append(edges, line)
					}
				}
				walk(sel.SelectionSet)
			}
		}
	}
	walk(doc.Operations[0].SelectionSet)
	for _, sel := range doc.Operations[0].SelectionSet {
		if f := sel.(*ast.Field); !lines["Query."+f.Name] {
			roots++
		}
	}
	return edges, roots
}

// What every edge costs is measured. Those of the root, and of what a subscription gives, have one parent in any case.
func TestEveryEdgeIsMeasured(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	var measured, missing []string
	for _, row := range slices.Concat(costs, runCosts, []cost{{query: skillPage}, {query: comparison}}) {
		edges, _ := edgesOf(t, schema, row.query)
		measured = append(measured, edges...)
	}
	for _, line := range loader.Table() {
		if parent, _, _ := strings.Cut(line.Name, "."); parent != "Query" && !strings.HasSuffix(parent, "Update") {
			missing = append(missing, line.Name)
		}
	}
	missing = slices.DeleteFunc(missing, func(name string) bool { return slices.Contains(measured, name) })
	require.Empty(t, missing, "add lines to costs")
}

// dashboards are what pages of a front end ask for, each in one query.
var dashboards = []string{
	`skills(first: $n) { nodes { name status rates { triggerRate { value } passRate { value } } dailyStats(since: "2026-11-09") { date sessions } registryEntry { name currentVersion { version } repoLink { repoFullName } } } }`,
	`skills(first: $n) { nodes { name alerts(first: 2) { nodes { type state createdBy { email } } } incidents(first: 2) { nodes { openedAt value alert { threshold } } } } }`,
	`skills(first: $n) { nodes { name sources(first: 2) { nodes { label currentSnapshot { number report { status } } suites(first: 2) { nodes { name } } } } community { submissionCount } } }`,
	`sources(first: $n) { nodes { label skill { name status } createdBy { email } snapshots(first: 2) { nodes { number } } validationReports(first: 1) { nodes { status } } } }`,
	`suites(first: $n) { nodes { name caseCount source { label skill { name } } createdBy { email } revisions(first: 2) { nodes { number } } runs(first: 2) { nodes { status snapshot { number } } } } }`,
	`entries(first: $n) { nodes { name installationCount skill { status } evidence { gradedSessions } versions(first: 3) { nodes { version installationCount pushedBy { email } } } releases(first: 2) { nodes { kind to { version } } } } }`,
	`entries(first: $n) { nodes { name repoLink { repoFullName lastAttempt { status version { version } } installation { accountLogin } } installations(first: 2) { nodes { deviceId user { email } } } } }`,
	`alerts(first: $n) { nodes { type state skill { name } incidents(first: 2) { nodes { openedAt } } notifications(first: 1) { nodes { kind attempts { status } } } } }`,
	`runs(first: $n) { nodes { status suite { name } suiteRevision { number } createdBy { email } results(first: 2) { nodes { outcome } } snapshot { source { label } } } }`,
}

// wishes is one about suggestions, which others have.
const wishes = `sources(first: $n) { nodes { label skill { name } suggestions(first: 2) { nodes { query review { reviewStatus reviewedBy { email } appliedSuite { name } } } } } }`

// A dashboard takes a statement for each edge that it selects and one for its list, for 1, 10 and 100 parents.
func TestDashboards(t *testing.T) {
	t.Parallel()
	schema := readSchema(t)
	measure := func(s *apitest.Server, query string) {
		edges, roots := edgesOf(t, schema, query)
		require.GreaterOrEqual(t, len(edges), 4)
		for _, n := range []int{1, 10, 100} {
			requireStatements(t, s, int64(len(edges)+roots), strings.ReplaceAll(query, "$n", fmt.Sprint(n)), fmt.Sprint(n, " parents: ", query))
		}
	}
	s := crowd(t, 100)
	for _, query := range dashboards {
		measure(s, query)
	}
	measure(suggested(t, 100), wishes)
}
