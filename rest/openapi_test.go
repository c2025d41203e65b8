package rest_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"skillgraph/internal/apitest"
	"skillgraph/internal/server"
)

// description is what the server says of its routes, ready to be held against answers.
type description struct {
	Paths    map[string]map[string]struct{ Responses map[string]map[string]any }
	document any
	compiler *jsonschema.Compiler
}

func describe(t *testing.T, srv *apitest.Server) *description {
	t.Helper()
	raw := srv.Do(t, "none", http.MethodGet, "/openapi.json", nil, nil)
	require.Equal(t, http.StatusOK, raw.Status)
	d := &description{compiler: jsonschema.NewCompiler()}
	require.NoError(t, json.Unmarshal(raw.Body, d))
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw.Body))
	require.NoError(t, err)
	d.document = document
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	return d
}

// closed makes every object refuse what it does not describe: an answer must not say more than was promised.
func closed(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"].(map[string]any); ok {
			v["additionalProperties"] = false
		}
		for _, child := range v {
			closed(child)
		}
	case []any:
		for _, child := range v {
			closed(child)
		}
	}
}

// TestEveryRouteIsDescribed, and nothing else.
func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	srv := apitest.New(t)
	d := describe(t, srv)
	var mounted, described []string
	err := chi.Walk(srv.Handler.(*server.Server).Handler.(chi.Routes), func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/downloads/") {
			mounted = append(mounted, method+" "+path)
		}
		return nil
	})
	require.NoError(t, err)
	for path, item := range d.Paths {
		for method := range item {
			if !slices.Contains([]string{"/graphql", "/healthz", "/readyz"}, path) {
				described = append(described, strings.ToUpper(method)+" "+path)
			}
		}
	}
	require.ElementsMatch(t, mounted, described)
}

var (
	placeholder = regexp.MustCompile(`\\\{[^}]*\}`)
	headerLine  = regexp.MustCompile(`^[A-Za-z-]+: `)
)

// find is the path item of a request: that with the most literal path.
func (d *description) find(path string) (found string) {
	path, _, _ = strings.Cut(path, "?")
	for pattern := range d.Paths {
		if !regexp.MustCompile("^" + placeholder.ReplaceAllString(regexp.QuoteMeta(pattern), "[^/]+") + "$").MatchString(path) {
			continue
		}
		if found == "" || strings.Count(pattern, "{") < strings.Count(found, "{") {
			found = pattern
		}
	}
	return found
}

// TestAnswersAreAsDescribed holds every answer in the golden files against the description.
func TestAnswersAreAsDescribed(t *testing.T) {
	t.Parallel()
	d := describe(t, apitest.New(t))
	closed(d.document)
	require.NoError(t, d.compiler.AddResource("openapi.json", d.document))
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	checked, succeeded := 0, map[string]bool{}
	for _, file := range files {
		scenes, err := txtar.ParseFile(file)
		require.NoError(t, err)
		for i, scene := range scenes.Files {
			if scene.Name != "request" {
				continue
			}
			line, _, _ := strings.Cut(string(scene.Data), "\n")
			method, path, _ := strings.Cut(line, " ")
			status := strings.TrimPrefix(scenes.Files[i+1].Name, "response ")
			if op := d.check(t, method, path, status, scenes.Files[i+1].Data); op != "" {
				checked++
				succeeded[op] = succeeded[op] || status < "400"
			}
		}
	}
	require.Greater(t, checked, 400)
	var never []string
	for path, item := range d.Paths {
		for method := range item {
			if op := method + " " + path; strings.HasPrefix(path, "/api/") && !succeeded[op] {
				never = append(never, op)
			}
		}
	}
	require.Empty(t, never, "no golden file shows what these answer")
}

// check returns which operation a request means, if any.
func (d *description) check(t *testing.T, method, path, status string, answer []byte) string {
	t.Helper()
	pattern := d.find(path)
	op, ok := d.Paths[pattern][strings.ToLower(method)]
	if !ok {
		require.Contains(t, []string{"404", "405"}, status, "%s %s is not described", method, path)
		return ""
	}
	name := strings.ToLower(method) + " " + pattern
	described, ok := op.Responses[status]
	if !ok {
		require.Contains(t, []string{"405", "429", "500", "503"}, status, "%s never answers %s, by its description", name, status)
		described = op.Responses["default"]
	}
	pointer := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(pattern) + "/" + strings.ToLower(method) + "/responses/" + status
	if ref, ok := described["$ref"].(string); ok {
		pointer = strings.TrimPrefix(ref, "#")
	} else if content, _ := described["content"].(map[string]any); content["application/json"] == nil {
		require.True(t, content != nil || len(withoutHeaders(answer)) == 0, "%s shows something: %s", name, answer)
		return name
	}
	schema, err := d.compiler.Compile("openapi.json#" + pointer + "/content/application~1json/schema")
	require.NoError(t, err, name)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(withoutHeaders(answer)))
	require.NoError(t, err, "%s: %s", name, answer)
	require.NoError(t, schema.Validate(value), "%s %s\n%s", name, status, answer)
	return name
}

// withoutHeaders is the body of an answer: headers stand above it.
func withoutHeaders(answer []byte) []byte {
	for headerLine.Match(answer) {
		_, answer, _ = bytes.Cut(answer, []byte("\n"))
	}
	return bytes.TrimSpace(answer)
}
