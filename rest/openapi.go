package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/internal/wire"
)

// OpenAPI describes the routes in OpenAPI 3.1, as the schema and the stored operations have it. beside are the paths that
// are mounted next to them, as a JSON object of path items.
func OpenAPI(schema *ast.Schema, routes []*Route, beside []byte) ([]byte, error) {
	d := &describer{schema: schema, components: map[string]object{}}
	paths := map[string]object{}
	for _, r := range routes {
		paths[r.Path] = append(paths[r.Path], member{strings.ToLower(r.Method), d.operation(r)})
	}
	var others map[string]json.RawMessage
	if err := json.Unmarshal(beside, &others); err != nil {
		return nil, err
	}
	all := map[string]any{}
	for path, item := range paths {
		all[path] = item
	}
	for path, item := range others {
		if all[path] != nil {
			return nil, fmt.Errorf("%s is a route already", path)
		}
		all[path] = item
	}
	d.components["Error"], d.components["ValidationError"] = errorSchema(), validationSchema()
	return json.Marshal(object{
		{"openapi", "3.1.0"},
		{"info", object{
			{"title", "skillgraph"},
			{"version", "1"},
			{"description", "The REST face of skillgraph. Every route is a stored operation of the GraphQL schema at /schema.graphql."},
		}},
		{"servers", []object{{{"url", "/"}}}},
		{"security", []object{{{"key", []string{}}}}},
		{"tags", tags(routes)},
		{"paths", all},
		{"components", object{
			{"schemas", d.components},
			{"securitySchemes", object{{"key", object{{"type", "http"}, {"scheme", "bearer"}, {"description", "An API key: sg_live_…"}}}}},
			{"responses", failures()},
		}},
	})
}

// object is a JSON object whose keys keep their order: people read it.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, m := range o {
		key, _ := json.Marshal(m.key)
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = slices.Concat(out, key, []byte{':'}, value)
	}
	return append(out, '}'), nil
}

func (o object) with(key string, value any) object {
	return append(slices.Clip(o), member{key, value})
}

func tags(routes []*Route) (out []object) {
	var seen []string
	for _, r := range routes {
		if !slices.Contains(seen, r.Noun) {
			seen = append(seen, r.Noun)
			out = append(out, object{{"name", r.Noun}})
		}
	}
	return out
}

// operation describes one route.
func (d *describer) operation(r *Route) object {
	op := r.Document.Operations[0]
	told := map[string]string{}
	explain(op.SelectionSet, told)
	out := object{{"operationId", r.Name}, {"tags", []string{r.Noun}}}
	if root, ok := op.SelectionSet[0].(*ast.Field); ok {
		out = append(out, member{"summary", firstSentence(root.Definition.Description)}, member{"description", d.purpose(root.Definition)})
	}
	var parameters []object
	for _, v := range r.variables {
		if in, ok := map[origin]string{fromPath: "path", fromQuery: "query", fromHeader: "header"}[v.from]; ok {
			parameters = append(parameters, d.parameter(r, v, in, told[v.name]))
		}
	}
	if parameters != nil {
		out = out.with("parameters", parameters)
	}
	if body := d.body(r, told); body != nil {
		out = out.with("requestBody", body)
	}
	return out.with("responses", d.responses(r))
}

// purpose is what a field is for and who may have it.
func (d *describer) purpose(f *ast.FieldDefinition) string {
	text := f.Description
	auth := f.Directives.ForName("auth")
	if auth == nil {
		return text
	}
	var needs []string
	if plan := auth.Arguments.ForName("plan"); plan != nil {
		needs = append(needs, "the "+strings.ToLower(plan.Value.Raw)+" plan")
	}
	if can := auth.Arguments.ForName("can"); can != nil {
		needs = append(needs, "the permission `"+wire.Spelling(d.schema.Types["Permission"].EnumValues.ForName(can.Value.Raw))+"`")
	}
	if len(needs) == 0 {
		return text
	}
	return text + "\n\nNeeds " + strings.Join(needs, " and ") + "."
}

func firstSentence(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if i := strings.Index(line, ". "); i > 0 {
		return line[:i]
	}
	return strings.TrimSuffix(line, ".")
}

// explain notes what the arguments that variables feed are for.
func explain(set ast.SelectionSet, told map[string]string) {
	var value func(v *ast.Value, description string)
	value = func(v *ast.Value, description string) {
		if v.Kind == ast.Variable {
			told[v.Raw] = description
		}
		for _, child := range v.Children {
			if v.Kind == ast.ObjectValue && v.Definition != nil {
				description = v.Definition.Fields.ForName(child.Name).Description
			}
			value(child.Value, description)
		}
	}
	for _, sel := range set {
		if field, ok := sel.(*ast.Field); ok {
			for _, arg := range field.Arguments {
				value(arg.Value, field.Definition.Arguments.ForName(arg.Name).Description)
			}
			explain(field.SelectionSet, told)
		}
	}
}

func (d *describer) parameter(r *Route, v variable, in, description string) object {
	name, schema := v.name, d.input(v.typ, false)
	if v.from == fromHeader {
		name, schema = v.header, object{{"type", "string"}}
	}
	if def := r.Document.Operations[0].VariableDefinitions.ForName(v.name).DefaultValue; def != nil {
		if value, err := def.Value(nil); err == nil {
			schema = schema.with("default", value)
		}
	}
	return object{{"name", name}, {"in", in}, {"required", !v.optional}, {"description", description}, {"schema", schema}}
}

// body describes what a request carries: JSON, a form, or either.
func (d *describer) body(r *Route, told map[string]string) object {
	b := binder{schema: d.schema, route: r}
	if !b.takesBody() {
		return nil
	}
	plain, form := object{}, object{}
	var required, inForm []string
	for _, v := range r.variables {
		switch {
		case v.from == wholeBody:
			return object{{"required", true}, {"content", object{{"application/json", object{{"schema", object{{"type", "object"}, {"description", told[v.name]}}}}}}}}
		case v.from != fromBody:
			continue
		case v.files:
			form = form.with(v.name, object{{"type", "array"}, {"items", file()}, {"description", "Every other part of the form: its name is the file's path."}})
		case v.file:
			form = form.with(v.name, file().with("description", told[v.name]))
		default:
			schema := d.input(v.typ, true).with("description", told[v.name])
			plain, form = plain.with(v.name, schema), form.with(v.name, schema)
		}
		if !v.optional {
			inForm = append(inForm, v.name)
			if !v.file && !v.files {
				required = append(required, v.name)
			}
		}
	}
	content := object{}
	if !b.needsFiles() {
		content = content.with("application/json", object{{"schema", record(plain, required)}})
	}
	if b.takesFiles() {
		content = content.with("multipart/form-data", object{{"schema", record(form, inForm)}})
	}
	return object{{"required", len(inForm) > 0}, {"content", content}}
}

func file() object {
	return object{{"type", "string"}, {"contentMediaType", "application/octet-stream"}}
}

func record(properties object, required []string) object {
	out := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		out = out.with("required", required)
	}
	return out
}

// responses are those of success, and what can be said beforehand of failures.
func (d *describer) responses(r *Route) object {
	doc := r.Document
	root := d.schema.Query
	if doc.Operations[0].Operation == ast.Mutation {
		root = d.schema.Mutation
	}
	headers := headersOf(r.shape)
	success := object{{"description", http.StatusText(r.status)}}
	if len(headers) > 0 {
		success = success.with("headers", headers)
	}
	again := success
	if r.status != http.StatusNoContent && r.status != http.StatusFound {
		body := d.selected(doc, root, doc.Operations[0].SelectionSet, r.shape, r.Noun)
		success = success.with("content", object{{"application/json", object{{"schema", body}}}})
		again = object{{"description", "It was there already"}, success[len(success)-1]}
	}
	out := object{{strconv.Itoa(r.status), success}}
	if r.status != http.StatusOK && slices.Contains(metaOf(r.shape), createdAlias) {
		out = out.with("200", again)
	}
	if r.Method == http.MethodGet && slices.Contains(metaOf(r.shape), etagAlias) {
		out = out.with("304", object{{"description", "The If-None-Match of the request still holds"}})
	}
	for _, status := range expected(r) {
		out = out.with(strconv.Itoa(status), object{{"$ref", "#/components/responses/" + strconv.Itoa(status)}})
	}
	return out.with("default", object{{"$ref", "#/components/responses/default"}})
}

// expected are the failures that a client of this route should be ready for.
func expected(r *Route) []int {
	out := []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden}
	if len(r.variables) > 0 {
		out = append(out, http.StatusNotFound, http.StatusConflict)
	}
	if slices.ContainsFunc(r.variables, func(v variable) bool { return v.header == "If-Match" }) {
		out = append(out, http.StatusPreconditionFailed)
	}
	if (binder{route: r}).takesBody() {
		out = append(out, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	return out
}

var failureTexts = map[int]string{
	http.StatusBadRequest:            "Something in the request is wrong; `details.path` says what",
	http.StatusUnauthorized:          "No key, or none that is valid",
	http.StatusForbidden:             "The plan or the key does not allow it",
	http.StatusNotFound:              "There is no such object",
	http.StatusConflict:              "It contradicts what is there",
	http.StatusPreconditionFailed:    "It has changed since it was read",
	http.StatusRequestEntityTooLarge: "The body is too large",
	http.StatusUnsupportedMediaType:  "The body is of a type that is not taken",
}

func failures() object {
	failure := object{{"$ref", "#/components/schemas/Error"}}
	out := object{{"default", answerOf("Any other failure: 405, 429 and 503 with Retry-After, 500", failure)}}
	for _, status := range slices.Sorted(maps.Keys(failureTexts)) {
		schema := failure
		if status == http.StatusBadRequest {
			schema = object{{"anyOf", []object{{{"$ref", "#/components/schemas/ValidationError"}}, failure}}}
		}
		out = out.with(strconv.Itoa(status), answerOf(failureTexts[status], schema))
	}
	return out
}

func answerOf(description string, schema object) object {
	return object{{"description", description}, {"content", object{{"application/json", object{{"schema", schema}}}}}}
}
