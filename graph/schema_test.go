package graph_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/graph"
	"skillgraph/models"
)

// ours are the types of the schema that this project wrote.
func ours() []*ast.Definition {
	var out []*ast.Definition
	for _, def := range graph.Schema().Types {
		if !def.BuiltIn {
			out = append(out, def)
		}
	}
	slices.SortFunc(out, func(a, b *ast.Definition) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// fields calls f for every field of every type of the given kinds.
func fields(f func(def *ast.Definition, field *ast.FieldDefinition), kinds ...ast.DefinitionKind) {
	for _, def := range ours() {
		if !slices.Contains(kinds, def.Kind) {
			continue
		}
		for _, field := range def.Fields {
			if !strings.HasPrefix(field.Name, "__") {
				f(def, field)
			}
		}
	}
}

func name(def *ast.Definition, field *ast.FieldDefinition) string { return def.Name + "." + field.Name }

func TestSchemaIsTheFile(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../schema.graphqls")
	require.NoError(t, err)
	require.Equal(t, string(file), graph.SDL())
}

func TestSchemaIsDescribed(t *testing.T) {
	t.Parallel()
	var missing []string
	need := func(description, format string, args ...any) {
		if strings.TrimSpace(description) == "" {
			missing = append(missing, fmt.Sprintf(format, args...))
		}
	}
	arguments := func(of string, list ast.ArgumentDefinitionList) {
		for _, a := range list {
			need(a.Description, "%s(%s:)", of, a.Name)
		}
	}
	for _, def := range ours() {
		need(def.Description, "%s", def.Name)
		for _, v := range def.EnumValues {
			need(v.Description, "%s.%s", def.Name, v.Name)
		}
	}
	fields(func(def *ast.Definition, f *ast.FieldDefinition) {
		need(f.Description, "%s", name(def, f))
		arguments(name(def, f), f.Arguments)
	}, ast.Object, ast.Interface, ast.InputObject)
	for _, d := range graph.Schema().Directives {
		if d.Position != nil && d.Position.Src.BuiltIn {
			continue
		}
		need(d.Description, "@%s", d.Name)
		arguments("@"+d.Name, d.Arguments)
	}
	require.Empty(t, missing)
}

func TestSchemaNames(t *testing.T) {
	t.Parallel()
	var (
		typeName  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
		fieldName = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)
		valueName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$`)
	)
	for _, def := range ours() {
		require.Regexp(t, typeName, def.Name)
		for _, v := range def.EnumValues {
			require.Regexp(t, valueName, v.Name, def.Name)
		}
	}
	fields(func(def *ast.Definition, f *ast.FieldDefinition) {
		require.Regexp(t, fieldName, f.Name, def.Name)
		for _, a := range f.Arguments {
			require.Regexp(t, fieldName, a.Name, name(def, f))
		}
	}, ast.Object, ast.Interface, ast.InputObject)
}

// TestSchemaMutations: every mutation says who may, is nullable so that one that fails leaves the others their
// answers, gives a payload of its own and takes an input of its own.
func TestSchemaMutations(t *testing.T) {
	t.Parallel()
	shared := map[string]string{"restoreSuite": "ArchiveSuitePayload"} // archive and restore are one change, there and back
	verbNoun := regexp.MustCompile(`^[a-z]+([A-Z][a-zA-Z0-9]*)+$`)
	for _, f := range graph.Schema().Mutation.Fields {
		require.Regexp(t, verbNoun, f.Name)
		auth := f.Directives.ForName("auth")
		require.NotNil(t, auth, "%s has no @auth", f.Name)
		if auth.Arguments.ForName("writer") == nil && f.Name != "syncInstallations" { // which only remembers what the caller's own devices have
			require.NotNil(t, auth.Arguments.ForName("can"), "%s: @auth names no permission", f.Name)
		}
		require.False(t, f.Type.NonNull, "%s must be nullable", f.Name)
		title := strings.ToUpper(f.Name[:1]) + f.Name[1:]
		payload := title + "Payload"
		if s := shared[f.Name]; s != "" {
			payload = s
		}
		require.Equal(t, payload, f.Type.Name(), f.Name)
		if in := f.Arguments.ForName("input"); in != nil {
			require.Equal(t, title+"Input!", in.Type.String(), f.Name)
		}
	}
	for _, def := range ours() {
		if strings.HasSuffix(def.Name, "Input") {
			require.Equal(t, ast.InputObject, def.Kind, def.Name)
		}
		if strings.HasSuffix(def.Name, "Payload") {
			require.Equal(t, ast.Object, def.Kind, def.Name)
		}
	}
}

// TestSchemaLists: the cost of a list is known, because it is a page, or takes ids, or says its size.
func TestSchemaLists(t *testing.T) {
	t.Parallel()
	fields(func(def *ast.Definition, f *ast.FieldDefinition) {
		if f.Type.Elem == nil || f.Arguments.ForName("first") != nil || f.Arguments.ForName("ids") != nil {
			return
		}
		if strings.HasSuffix(def.Name, "Connection") && (f.Name == "edges" || f.Name == "nodes") {
			return
		}
		cost := f.Directives.ForName("cost")
		require.NotNil(t, cost, "%s has no @cost(size:)", name(def, f))
		require.NotNil(t, cost.Arguments.ForName("size"), "%s has no @cost(size:)", name(def, f))
	}, ast.Object, ast.Interface)
}

func TestSchemaConnections(t *testing.T) {
	t.Parallel()
	pages := 0
	for _, def := range ours() {
		node, is := strings.CutSuffix(def.Name, "Connection")
		if !is {
			continue
		}
		pages++
		want := map[string]string{"edges": "[" + node + "Edge!]!", "nodes": "[" + node + "!]!", "pageInfo": "PageInfo!", "totalCount": "Int!"}
		for field, typ := range want {
			f := def.Fields.ForName(field)
			require.NotNil(t, f, "%s has no %s", def.Name, field)
			require.Equal(t, typ, f.Type.String(), name(def, f))
		}
		edge := graph.Schema().Types[node+"Edge"]
		require.NotNil(t, edge, node+"Edge")
		require.Equal(t, "String!", edge.Fields.ForName("cursor").Type.String())
		require.Equal(t, node+"!", edge.Fields.ForName("node").Type.String())
	}
	require.Positive(t, pages)
	fields(func(def *ast.Definition, f *ast.FieldDefinition) {
		if !strings.HasSuffix(f.Type.Name(), "Connection") {
			return
		}
		require.True(t, f.Type.NonNull, name(def, f))
		for arg, typ := range map[string]string{"first": "Int", "after": "String", "page": "Int", "perPage": "Int"} {
			a := f.Arguments.ForName(arg)
			require.NotNil(t, a, "%s takes no %s", name(def, f), arg)
			require.Equal(t, typ, a.Type.String(), "%s(%s:)", name(def, f), arg)
		}
	}, ast.Object, ast.Interface)
}

// TestSchemaIDs: what holds the id of an object is an ID. The ids of a case are its maker's own words, those of a device its user's,
// those of a check-run its host's, and other ids of the code host are numbers.
func TestSchemaIDs(t *testing.T) {
	t.Parallel()
	isID := func(name string) bool {
		return name == "id" || name == "ids" || strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "Ids")
	}
	checked := 0
	check := func(where, field string, typ *ast.Type) {
		if isID(field) && typ.Name() != "Int64" && field != "deviceId" && field != "checkRunId" {
			checked++
			require.Equal(t, "ID", typ.Name(), where)
		}
	}
	fields(func(def *ast.Definition, f *ast.FieldDefinition) {
		for _, a := range f.Arguments {
			check(name(def, f), a.Name, a.Type)
		}
		if def.Name == "EvalCase" || slices.Contains(def.Interfaces, "EvalCase") {
			return
		}
		check(name(def, f), f.Name, f.Type)
	}, ast.Object, ast.Interface, ast.InputObject)
	require.Positive(t, checked)
}

// TestSchemaInterfacesAreOpen: a field that is selected through an interface is checked as the interface declares it,
// so what an interface declares needs nothing, neither there nor in its types.
func TestSchemaInterfacesAreOpen(t *testing.T) {
	t.Parallel()
	fields(func(def *ast.Definition, f *ast.FieldDefinition) {
		require.Nil(t, f.Directives.ForName("auth"), name(def, f))
		for _, implementing := range graph.Schema().PossibleTypes[def.Name] {
			require.Nil(t, implementing.Fields.ForName(f.Name).Directives.ForName("auth"), name(implementing, f))
		}
	}, ast.Interface)
}

// TestSchemaTimes: times end in At, or in Until where they are the end of something, and nothing else does.
func TestSchemaTimes(t *testing.T) {
	t.Parallel()
	fields(func(def *ast.Definition, f *ast.FieldDefinition) {
		require.Equal(t, strings.HasSuffix(f.Name, "At") || strings.HasSuffix(f.Name, "Until"), f.Type.Name() == "Time", name(def, f))
	}, ast.Object, ast.Interface, ast.InputObject)
}

// TestSearchHidesWhatTypesForbid: a hit shows a text of its object, so that search must ask for what the object's type asks for.
func TestSearchHidesWhatTypesForbid(t *testing.T) {
	t.Parallel()
	types := map[models.SearchType]string{
		models.SearchTypeConnection: "RepoLink", models.SearchTypeSource: "CloudSource", models.SearchTypeSuite: "EvalSuite", models.SearchTypeEntry: "RegistryEntry",
		models.SearchTypeSuggestion: "EvalSuggestion", models.SearchTypeSkill: "Skill", models.SearchTypeAlert: "Alert", models.SearchTypeProposal: "Proposal", models.SearchTypeMember: "User",
	}
	require.Len(t, types, len(models.AllSearchType))
	shown := models.SearchArgs{}.Searchable(&models.Viewer{Plan: models.PlanFree})
	for kind, name := range types {
		def := graph.Schema().Types[name]
		require.NotNil(t, def, name)
		require.Equal(t, def.Directives.ForName("auth") == nil, slices.Contains(shown, kind), name)
	}
}
