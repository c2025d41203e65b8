package resolvers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/graph"
	"skillgraph/internal/apitest"
	"skillgraph/rest"
)

// A stranger may see a public and an unlisted entry of acme. Nothing else of acme's is to be found on any way that the schema
// offers: not who works there, not why they rolled back, not what else they have. The owner, on the same ways, finds it all.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	shown := publish(t, s)
	owner := &walker{t: t, s: s, who: "owner", known: shown}
	owner.walk()
	secrets := []string{
		"private-name", "private description", "private summary", "private reason", "private-desk", "/private/path", "private.example.com",
		"owner@example.com", "admin@example.com", "member@example.com", "viewer@example.com", "installer@example.com",
	}
	for _, secret := range secrets {
		require.Contains(t, owner.said.String(), secret, "the owner does not find it, so that the stranger proves nothing")
	}

	// The stranger tries every id that the owner has seen, by name and by force.
	known := uuids(owner.data.String())
	require.Greater(t, len(known), 30)
	stranger := &walker{t: t, s: s, who: "stranger", known: known}
	stranger.walk()
	stranger.routes()
	for _, secret := range secrets {
		require.NotContains(t, stranger.said.String(), secret)
	}
	allowed := slices.Concat(shown, uuids(ownWorld(t, s)))
	for _, id := range uuids(stranger.data.String()) {
		if slices.Contains(known, id) {
			require.Contains(t, allowed, id, "an object of acme's")
		}
	}
	require.Contains(t, stranger.said.String(), "pdf-forms")
	t.Logf("asked %d times as the owner of %d objects, %d times as a stranger", owner.asked, len(known), stranger.asked)
}

// publish gives acme something to show, and a lot to hide. It returns the ids that others may see.
func publish(t *testing.T, s *apitest.Server) (shown []string) {
	t.Helper()
	create := func(metadata string) (entry, version string) {
		res := s.Publish(t, "member", "/api/v1/registry", metadata, apitest.Archive(t, map[string]string{"SKILL.md": metadata}))
		require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
		found := uuids(string(res.Body))
		return found[0], found[1]
	}
	public, first := create(`{"name": "pdf-forms", "version": "1.0.0", "visibility": "public"}`)
	unlisted, only := create(`{"name": "mail", "version": "1.0.0", "visibility": "unlisted"}`)
	hidden, _ := create(`{"name": "private-name", "version": "1.0.0", "description": "private description", "change_summary": "private summary"}`)
	res := s.Publish(t, "admin", "/api/v1/registry/"+public+"/versions", `{"version": "1.1.0"}`, apitest.Archive(t, map[string]string{"SKILL.md": "2"}))
	require.Equal(t, http.StatusCreated, res.Status)
	second := uuids(string(res.Body))[1]
	for _, call := range []struct{ who, path, body string }{
		{"admin", "/api/v1/registry/" + public + "/rollback", `{"reason": "private reason"}`},
		{"installer", "/api/v1/registry/" + public + "/install", `{"device_id": "private-desk", "install_path": "/private/path"}`},
		{"owner", "/api/v1/registry/" + hidden + "/install", `{"device_id": "private-desk", "install_path": "/private/path"}`},
		{"owner", "/api/v1/alerts", `{"type": "no_data", "channel": "webhook", "config": {"webhook_url": "https://private.example.com/"}}`},
		{"owner", "/api/v1/eval-suites", `{"name": "private-name", "source_kind": "manual", "verifier_kind": "llm_judge", "cases_json": [{"case_kind": "trigger_query", "query": "q", "expectation": "should_trigger"}]}`},
		{"stranger", "/api/v1/registry/" + public + "/install", `{"device_id": "own"}`},
	} {
		res := s.REST(t, call.who, http.MethodPost, call.path, call.body)
		require.Less(t, res.Status, 300, string(res.Body))
	}
	return []string{public, first, second, unlisted, only}
}

// ownWorld is what the stranger sees of the stranger.
func ownWorld(t *testing.T, s *apitest.Server) string {
	t.Helper()
	return string(s.GraphQL(t, "stranger", `{ viewer { user { id } organization { id } apiKey { id } } installed { nodes { id } } events { nodes { id } } }`, nil).Body)
}

var anyUUID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func uuids(text string) []string {
	found := anyUUID.FindAllString(text, -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// walker asks for everything that the schema offers, edge by edge, from every object that it finds.
type walker struct {
	t     *testing.T
	s     *apitest.Server
	who   string
	known []string        // ids to ask for
	found map[string]bool // objects, each of which was reached by a shortest way
	said  strings.Builder
	data  strings.Builder // without errors, which repeat what was asked for
	asked int
}

// arguments of fields that need some.
var arguments = map[string][]string{
	"Query.alertDryRun":     {`(input: {type: NO_DATA})`},
	"Query.skill":           {`(name: "pdf-forms")`},
	"Query.signalSkill":     {`(name: "pdf-forms")`},
	"Query.search":          {`(query: "name")`, `(query: "private")`, `(query: "forms")`, `(query: "example")`},
	"Query.publicEntries":   {`(first: 2)`, `(query: "name")`, `(query: "forms")`},
	"RegistryEntry.version": {`(version: "1.0.0")`},
	"RegistryVersion.file":  {`(path: "SKILL.md")`},
	"Skill.breakdown":       {`(by: VERSION)`},
	"Snapshot.file":         {`(path: "SKILL.md")`},
	"Query.snapshotDiff":    {`(from: "01930000-0000-8000-8000-000000000000", to: "01930000-0000-8000-8000-000000000000")`},
	"Query.compareRuns":     {`(baseId: "01930000-0000-8000-8000-000000000000", headId: "01930000-0000-8000-8000-000000000000")`},
	"Query.repositories":    {`(installationId: 1)`},

	"CommunityOverview.skill":             {`(name: "pdf-forms")`},
	"CommunityOverview.recentSubmissions": {`(limit: 2)`},
}

// ways are the arguments with which a field is asked for.
func (w *walker) ways(def *ast.Definition, f *ast.FieldDefinition) []string {
	if given := arguments[def.Name+"."+f.Name]; given != nil {
		return given
	}
	var out []string
	for _, arg := range f.Arguments {
		switch {
		case arg.Name == "first":
			return []string{"(first: 2)"}
		case arg.Name == "ids":
			out = append(out, `(ids: ["`+strings.Join(w.known[:min(100, len(w.known))], `", "`)+`"])`)
		case arg.Name == "id" && arg.Type.NonNull && f.Name == "downloadUrl":
			for _, id := range w.known {
				out = append(out, fmt.Sprintf(`(id: %q, version: "1.0.0")`, id))
			}
		case arg.Name == "id" && arg.Type.NonNull:
			for _, id := range w.known {
				out = append(out, fmt.Sprintf("(id: %q)", id))
			}
		default:
			require.False(w.t, arg.Type.NonNull && len(out) == 0, "say what %s.%s is to be asked with", def.Name, f.Name)
		}
	}
	if out == nil {
		out = []string{""}
	}
	return out
}

// place is a type at the end of a way through the graph.
type place struct {
	def *ast.Definition
	way []string
}

func (w *walker) walk() {
	w.found = map[string]bool{}
	schema := graph.Schema()
	queue := []place{{def: schema.Query}}
	for ; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if !w.look(at) {
			continue
		}
		if at.def.IsAbstractType() {
			for _, kind := range schema.GetPossibleTypes(at.def) {
				queue = append(queue, place{kind, append(slices.Clone(at.way), "... on "+kind.Name)})
			}
			continue
		}
		for _, f := range at.def.Fields {
			to := schema.Types[f.Type.Name()]
			if to.IsLeafType() || slices.Contains([]string{"__schema", "__type", "edges", "pageInfo"}, f.Name) {
				continue
			}
			for _, args := range w.ways(at.def, f) {
				queue = append(queue, place{to, append(slices.Clone(at.way), f.Name+args)})
			}
		}
	}
}

// look asks for the plain fields of a place, and reports whether there is anything that was not found before.
func (w *walker) look(at place) bool {
	schema := graph.Schema()
	plain := []string{"__typename"}
	for _, f := range at.def.Fields {
		if !schema.Types[f.Type.Name()].IsLeafType() || strings.HasPrefix(f.Name, "__") {
			continue
		}
		for i, args := range w.ways(at.def, f) {
			field := fmt.Sprintf("a%d_%s: %s%s", i, f.Name, f.Name, args)
			if at.def == schema.Query { // there may be many
				w.ask(place{at.def, nil}, field)
			} else {
				plain = append(plain, field)
			}
		}
	}
	return w.ask(at, strings.Join(plain, " ")) || at.def == schema.Query
}

func (w *walker) ask(at place, fields string) (anything bool) {
	query := fields
	for _, step := range slices.Backward(at.way) {
		query = step + " { " + query + " }"
	}
	w.asked++
	res := w.s.GraphQL(w.t, w.who, "{ "+query+" }", nil)
	w.said.Write(res.Body)
	var answer struct {
		Data   json.RawMessage
		Errors []struct {
			Message    string
			Extensions struct{ Code string }
		}
	}
	require.NoError(w.t, json.Unmarshal(res.Body, &answer), string(res.Body))
	for _, err := range answer.Errors {
		require.Contains(w.t, []string{"NOT_FOUND", "INVALID", "CONFLICT", "TOO_COMPLEX"}, err.Extensions.Code, "%s: %s", query, err.Message)
	}
	w.data.Write(answer.Data)
	for _, end := range theEnd.FindAllStringSubmatch(string(answer.Data), -1) {
		if key := end[1] + " " + end[2]; end[2] == "" || at.def.IsAbstractType() || !w.found[key] {
			anything = true
			w.found[key] = !at.def.IsAbstractType()
		}
	}
	return anything
}

// theEnd is an object at the end of a way, where alone its type is asked for, and its id, if it has one.
var theEnd = regexp.MustCompile(`"__typename":"(\w+)"(?:,"a0_id":"([^"]+)")?`)

// routes asks every route that reads, with every id.
func (w *walker) routes() {
	routes, err := rest.Routes(graph.Schema())
	require.NoError(w.t, err)
	for _, r := range routes {
		if r.Method != http.MethodGet {
			continue
		}
		for _, id := range w.known {
			path := anyParameter.ReplaceAllString(strings.ReplaceAll(r.Path, "{version}", "1.0.0"), id)
			res := w.s.REST(w.t, w.who, r.Method, path, "")
			w.asked++
			w.said.Write(res.Body)
			w.said.WriteString(res.Header.Get("Location"))
			if path == r.Path {
				break
			}
		}
	}
}

var anyParameter = regexp.MustCompile(`\{[^}]+\}`)
