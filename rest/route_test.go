package rest

import (
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
)

// small is a schema with one of everything that a document can bind or show.
var small = gqlparser.MustLoadSchema(&ast.Source{Name: "small.graphqls", Input: `
	directive @wire(name: String!) on ENUM_VALUE
	directive @rest(method: String!, path: String!, status: Int = 200, unwrap: String, maxBody: Int = 1024) on QUERY | MUTATION
	directive @flat on FIELD
	directive @header(name: String!) on VARIABLE_DEFINITION
	directive @body on VARIABLE_DEFINITION
	scalar Time
	scalar JSON
	scalar Int64
	scalar Upload
	enum Colour { RED DARK_BLUE OTHER @wire(name: "neither-of:These") }
	input Inner { sourceKey: String! colour: Colour count: Int = 3 deep: Inner raw: JSON }
	input FileInput { path: String! content: Upload! }
	input Metadata { entryName: String! fileManifest: JSON }
	type Thing { id: ID! name: String things: [Thing!] page: Page more: Boolean count: Int }
	type Page { nodes: [Thing!] info: Info }
	type Info { more: Boolean total: Int }
	type Query { thing(id: ID, a: String, b: Int, c: [Int!]): Thing things: Page other: Thing }
	type Mutation {
		make(
			string: String, id: ID, int: Int, long: Int64, float: Float, bool: Boolean, colour: Colour, time: Time, json: JSON,
			strings: [String!], lists: [[Int]], inner: Inner, inners: [Inner!], rev: [Int!]
		): Thing
		upload(label: String!, metadata: Metadata, archive: Upload, files: [FileInput!]): Thing
	}
`})

func document(text string) fstest.MapFS {
	return fstest.MapFS{"ops/things/do.graphql": {Data: []byte(text)}}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	routes, err := load(small, fstest.MapFS{
		"ops/things/get.graphql":  {Data: []byte(`query Get($id: ID!, $a: String) @rest(method: "GET", path: "/things/{id}") { thing(id: $id, a: $a) { id } }`)},
		"ops/things/make.graphql": {Data: []byte(`mutation Make($string: String!, $rev: [Int!] @header(name: "If-Match")) @rest(method: "POST", path: "/things", status: 201, maxBody: 2) { make(string: $string, rev: $rev) { id } }`)},
		"ops/README.md":           {Data: []byte("not a document")},
	})
	require.NoError(t, err)
	require.Len(t, routes, 2)
	get, made := routes[0], routes[1]
	require.Equal(t, "Get", get.Name)
	require.Equal(t, http.MethodGet, get.Method)
	require.Equal(t, "/things/{id}", get.Path)
	require.Equal(t, http.StatusOK, get.status)
	require.Equal(t, int64(1<<20), get.maxBody)
	require.Equal(t, []origin{fromPath, fromQuery}, []origin{get.variables[0].from, get.variables[1].from})
	require.Equal(t, http.StatusCreated, made.status)
	require.Equal(t, int64(2<<10), made.maxBody)
	require.Equal(t, []origin{fromBody, fromHeader}, []origin{made.variables[0].from, made.variables[1].from})
	require.Equal(t, "If-Match", made.variables[1].header)
	stored := Stored(routes)
	require.Same(t, get.Document, stored[get.Query])
	require.Len(t, stored, 2)
}

// TestLoadRefuses: what is wrong with a document is said when the server starts, with the file it is in.
func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	const at = `@rest(method: "GET", path: "/things")`
	tests := map[string]struct{ text, message string }{
		"not GraphQL":              {`query {`, "Expected Name, found <EOF>"},
		"an unknown field":         {`query Q ` + at + ` { thing { nonsense } }`, `Cannot query field "nonsense"`},
		"an unknown argument":      {`query Q ` + at + ` { thing(x: 1) { id } }`, `Unknown argument "x"`},
		"a wrong type":             {`query Q($v: Int) ` + at + ` { thing(a: $v) { id } }`, "expecting type"},
		"an unused variable":       {`query Q($v: Int) ` + at + ` { thing { id } }`, "never used"},
		"nothing":                  {``, "must hold one operation, not 0"},
		"two operations":           {`query Q ` + at + ` { thing { id } } query R ` + at + ` { thing { id } }`, "must hold one operation, not 2"},
		"no name":                  {`query ` + at + ` { thing { id } }`, "must have a name and @rest"},
		"no route":                 {`query Q { thing { id } }`, "must have a name and @rest"},
		"a route without a path":   {`query Q @rest(method: "GET") { thing { id } }`, `"path" of type`},
		"a path without variable":  {`query Q @rest(method: "GET", path: "/things/{id}") { thing { id } }`, "the path names {id}, but the operation declares no $id"},
		"unwrap of nothing":        {`query Q @rest(method: "GET", path: "/things", unwrap: "nonsense") { thing { id } }`, "there is no nonsense to unwrap"},
		"unwrap too deep":          {`query Q @rest(method: "GET", path: "/things", unwrap: "thing.name.x") { thing { name } }`, "there is no x to unwrap"},
		"unwrap of one of two":     {`query Q @rest(method: "GET", path: "/things", unwrap: "thing") { thing { id } other { id } }`, "a flat object must show one field, not 2"},
		"unwrap by its field name": {`query Q @rest(method: "GET", path: "/things", unwrap: "thing") { t: thing { id } }`, "there is no thing to unwrap"},
		"flat, with two fields":    {`query Q ` + at + ` { thing @flat { id name } }`, "a flat object must show one field, not 2"},
		"flat, with none":          {`query Q ` + at + ` { thing @flat { _etag: id } }`, "a flat object must show one field, not 0"},
		"flat in a fragment":       {`query Q ` + at + ` { thing { ...F } } fragment F on Thing { page @flat { nodes { id } info { total } } }`, "a flat object must show one field, not 2"},
		"another underscore":       {`query Q ` + at + ` { thing { _other: id } }`, "_other: aliases that begin with an underscore are _etag, _truncated, _created, _location"},
		"an underscore, deeper":    {`query Q ` + at + ` { things { nodes { ... on Thing { _x: id } } } }`, "_x: aliases"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(small, document(tt.text))
			require.ErrorContains(t, err, tt.message)
			require.ErrorContains(t, err, "ops/things/do.graphql: ")
		})
	}
	for name, second := range map[string]string{
		"a route twice": `query R @rest(method: "GET", path: "/things") { thing { id } }`,
		"a name twice":  `query Q @rest(method: "GET", path: "/others") { thing { id } }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(small, fstest.MapFS{
				"ops/a.graphql": {Data: []byte(`query Q ` + at + ` { thing { id } }`)},
				"ops/b.graphql": {Data: []byte(second)},
			})
			require.ErrorContains(t, err, "ops/b.graphql: ")
			require.ErrorContains(t, err, "is in ops/a.graphql already")
		})
	}
}

// route makes a route of a document that is in order.
func route(t testing.TB, text string) *Route {
	t.Helper()
	routes, err := load(small, document(text))
	require.NoError(t, err)
	return routes[0]
}

// A client is told of the key that it has sent, whatever the argument is called that it feeds.
func TestSentPath(t *testing.T) {
	t.Parallel()
	r := route(t, `mutation Make($id: ID, $q: String, $if_match: [Int!], $key: String!, $source_key: String!) @rest(method: "POST", path: "/things") {
		make(id: $id, string: $q, rev: $if_match, inner: {sourceKey: $key, deep: {sourceKey: $source_key}}) { id }
	}`)
	for _, tt := range []struct{ path, sent []string }{
		{[]string{"string"}, []string{"q"}},
		{[]string{"rev", "3"}, []string{"if_match", "3"}},
		{[]string{"inner", "sourceKey"}, []string{"key"}},
		{[]string{"inner", "deep", "sourceKey"}, []string{"source_key"}},
		{[]string{"inner"}, []string{"inner"}},
		{[]string{"id"}, []string{"id"}},
		{[]string{}, []string{}},
	} {
		require.Equal(t, tt.sent, r.sent(tt.path))
	}
}
