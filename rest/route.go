package rest

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"skillgraph/internal/wire"
)

//go:embed ops
var ops embed.FS

// Route is a stored operation and where it is mounted.
type Route struct {
	Name, Method, Path string
	Noun               string // the folder it is stored in
	Query              string // the document as it stands in its file
	Document           *ast.QueryDocument

	status    int
	maxBody   int64
	variables []variable
	fed       map[string]string // variables by the arguments that they feed, where the names differ
	shape     *shape
}

// Routes loads every stored operation and checks it against the schema.
func Routes(schema *ast.Schema) ([]*Route, error) { return load(schema, ops) }

func load(schema *ast.Schema, files fs.FS) ([]*Route, error) {
	var routes []*Route
	seen := map[string]string{}
	err := fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".graphql" || path.Base(name) == fragments {
			return err
		}
		text, err := readOperation(files, name)
		if err != nil {
			return err
		}
		r, err := newRoute(schema, text)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r.Noun = path.Base(path.Dir(name))
		for _, key := range []string{r.Name, r.Method + " " + r.Path} {
			if other := seen[key]; other != "" {
				return fmt.Errorf("%s: %s is in %s already", name, key, other)
			}
			seen[key] = name
		}
		routes = append(routes, r)
		return nil
	})
	return routes, err
}

// fragments is the file with the fragments that the operations of a folder share.
const fragments = "fragments.graphql"

// readOperation reads an operation with the shared fragments that it spreads.
func readOperation(files fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return "", err
	}
	shared, err := fs.ReadFile(files, path.Join(path.Dir(name), fragments))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	out := string(text)
	for _, f := range strings.Split(string(shared), "fragment ")[min(1, len(shared)):] {
		if called, _, _ := strings.Cut(f, " "); strings.Contains(out, "..."+called+"\n") {
			out += "\nfragment " + f
		}
	}
	return out, nil
}

func newRoute(schema *ast.Schema, text string) (*Route, error) {
	doc, err := parser.ParseQuery(&ast.Source{Input: text})
	if err != nil {
		return nil, err
	}
	if errs := validator.ValidateWithRules(schema, doc, nil); len(errs) > 0 {
		return nil, errs
	}
	if len(doc.Operations) != 1 {
		return nil, fmt.Errorf("must hold one operation, not %d", len(doc.Operations))
	}
	op := doc.Operations[0]
	at := op.Directives.ForName("rest")
	if at == nil || op.Name == "" {
		return nil, errors.New("the operation must have a name and @rest")
	}
	arg := at.ArgumentMap(nil)
	r := &Route{Name: op.Name, Query: text, Document: doc, Method: arg["method"].(string), Path: arg["path"].(string)}
	r.status, r.maxBody = asInt(arg["status"]), int64(asInt(arg["maxBody"]))<<10
	if r.variables, err = declared(schema, op, r); err != nil {
		return nil, err
	}
	r.fed = map[string]string{}
	r.feed(op.SelectionSet)
	unwrap, _ := arg["unwrap"].(string)
	r.shape, err = newShape(doc, op.SelectionSet, unwrap)
	return r, err
}

// feed notes which variables feed arguments, and fields of arguments. An argument named input is not part of a path.
func (r *Route) feed(set ast.SelectionSet) {
	var value func(path string, v *ast.Value)
	value = func(path string, v *ast.Value) {
		if path = strings.TrimPrefix(path, "input."); v.Kind == ast.Variable && wire.Snake(path) != v.Raw {
			r.fed[path] = v.Raw
		}
		for _, child := range v.Children {
			value(path+"."+child.Name, child.Value)
		}
	}
	for _, sel := range set {
		if field, ok := sel.(*ast.Field); ok {
			for _, arg := range field.Arguments {
				value(arg.Name, arg.Value)
			}
			r.feed(field.SelectionSet)
		}
	}
}

// sent is the path that a client knows: an argument may be fed by a variable of another name.
func (r *Route) sent(path []string) []string {
	for n := len(path); n > 0; n-- {
		if name, ok := r.fed[strings.Join(path[:n], ".")]; ok {
			return append([]string{name}, path[n:]...)
		}
	}
	return path
}

func asInt(v any) int {
	n, _ := strconv.Atoi(fmt.Sprint(v))
	return n
}

// declared reads where each variable comes from.
func declared(schema *ast.Schema, op *ast.OperationDefinition, r *Route) ([]variable, error) {
	inPath := map[string]bool{}
	for part := range strings.SplitSeq(r.Path, "/") {
		if strings.HasPrefix(part, "{") {
			inPath[strings.Trim(part, "{}")] = true
		}
	}
	var out []variable
	for _, def := range op.VariableDefinitions {
		v := variable{name: def.Variable, typ: def.Type, optional: !def.Type.NonNull || def.DefaultValue != nil, from: fromBody}
		switch header := def.Directives.ForName("header"); {
		case inPath[v.name]:
			v.from = fromPath
			delete(inPath, v.name)
		case def.Directives.ForName("body") != nil:
			v.from = wholeBody
		case header != nil:
			v.from, v.header = fromHeader, header.Arguments.ForName("name").Value.Raw
		case r.Method == http.MethodGet || r.Method == http.MethodDelete:
			v.from = fromQuery
		}
		v.file, v.files = isUpload(def.Type), isFileList(schema, def.Type)
		out = append(out, v)
	}
	for name := range inPath {
		return nil, fmt.Errorf("the path names {%s}, but the operation declares no $%s", name, name)
	}
	return out, nil
}

// Mount puts the routes on a router. executor is the GraphQL server that has a Transport among its transports.
func Mount(r chi.Router, routes []*Route, schema *ast.Schema, executor http.Handler) {
	for _, route := range routes {
		b := binder{schema: schema, route: route}
		r.Method(route.Method, route.Path, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			vars, done, err := b.bind(w, req)
			defer done()
			if err != nil {
				WriteError(w, req, err)
				return
			}
			executor.ServeHTTP(w, req.WithContext(withCall(req.Context(), call{route, vars, route.answer(w, req)})))
		}))
	}
}

// Runner is for a handler that speaks another protocol and means one of the routes: it runs the stored operation of
// that name with variables that are in order, and returns the body that the route would have written.
func Runner(routes []*Route, executor http.Handler) func(r *http.Request, operation string, vars map[string]any) ([]byte, error) {
	return func(r *http.Request, operation string, vars map[string]any) (body []byte, err error) {
		i := slices.IndexFunc(routes, func(rt *Route) bool { return rt.Name == operation })
		if i < 0 {
			return nil, fmt.Errorf("there is no stored operation %s", operation)
		}
		err = errors.New("the operation has not answered") // the client has gone
		executor.ServeHTTP(nowhere{}, r.WithContext(withCall(r.Context(), call{routes[i], vars, func(data []byte, failed error) {
			if err = failed; err == nil {
				body, _ = routes[i].shape.apply(bytes.Clone(data))
			}
		}})))
		return body, err
	}
}

// nowhere takes what the executor would tell a client whose answer somebody else writes.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) WriteHeader(int)             {}

// Stored are the documents of the routes by their text, for the executor's cache.
func Stored(routes []*Route) map[string]*ast.QueryDocument {
	out := make(map[string]*ast.QueryDocument, len(routes))
	for _, r := range routes {
		out[r.Query] = r.Document
	}
	return out
}
