package level_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// author writes a random query, with values that the database has in it.
type author struct {
	*rand.Rand
	schema    *ast.Schema
	known     *harvest
	declared  []string // variables
	vars      map[string]any
	other     map[string]any // the opposite of conditions
	fragments []string
	finished  map[string][]string // names of fragments by the type they are on: no circles
	aliases   int
	fields    int
}

// write makes an operation, with variables, and with others that select something else. The same seed and harvest make the
// same one.
func write(schema *ast.Schema, known *harvest, seed uint64) (query string, vars, other map[string]any) {
	a := &author{Rand: rand.New(rand.NewPCG(seed, 0)), schema: schema, known: known, vars: map[string]any{}, other: map[string]any{}, finished: map[string][]string{}}
	body := a.selection(schema.Query, 2+a.IntN(5))
	if len(a.declared) > 0 {
		query = "query(" + strings.Join(a.declared, ", ") + ") "
	}
	other = maps.Clone(a.vars)
	maps.Copy(other, a.other)
	return query + body + strings.Join(a.fragments, ""), plain(a.vars).(map[string]any), plain(other).(map[string]any)
}

func (a *author) percent(n int) bool { return a.IntN(100) < n }

func pick[T any](a *author, list []T) T { return list[a.IntN(len(list))] }

// selection is a selection of a type, with its braces.
func (a *author) selection(def *ast.Definition, depth int) string {
	b := []string{"{"}
	for range 1 + a.IntN(5) {
		switch n := a.IntN(20); {
		case n == 0:
			b = append(b, pick(a, []string{"__typename", "type: __typename"}))
		case n < 4 && depth > 0:
			b = append(b, a.fragment(def, depth))
		default:
			b = append(b, a.field(def, depth))
		}
	}
	if len(strings.TrimSpace(strings.Join(b, " "))) == 1 {
		b = append(b, "__typename")
	}
	return strings.Join(b, " ") + " }"
}

// fragment is an inline fragment or a spread: on the type itself, on something it is an instance of, on an instance of it.
func (a *author) fragment(def *ast.Definition, depth int) string {
	if a.percent(20) {
		return "..." + a.condition() + " " + a.selection(def, depth-1)
	}
	on := []*ast.Definition{def}
	on = append(append(on, a.schema.GetImplements(def)...), a.schema.GetPossibleTypes(def)...)
	typ := pick(a, on)
	if known := a.finished[typ.Name]; len(known) > 0 && a.percent(40) {
		return "..." + pick(a, known) + a.condition()
	}
	body := " on " + typ.Name + " " + a.selection(typ, depth-1)
	if a.percent(60) {
		on, body, _ := strings.Cut(body, "{")
		return "..." + on + a.condition() + " {" + body
	}
	name := fmt.Sprintf("F%d", len(a.fragments))
	a.fragments = append(a.fragments, " fragment "+name+body)
	a.finished[typ.Name] = append(a.finished[typ.Name], name)
	return "..." + name + a.condition()
}

// condition is a @skip or @include, now and then.
func (a *author) condition() string {
	if !a.percent(12) {
		return ""
	}
	on, value := strconv.FormatBool(a.percent(50)), a.percent(50)
	switch a.IntN(3) {
	case 0:
		name := a.variable("Boolean!", value)
		on, a.other[name] = "$"+name, !value
	case 1:
		name := a.variable("Boolean! = "+on, nil)
		on, a.other[name] = "$"+name, on == "false"
	}
	return pick(a, []string{" @skip(if: ", " @include(if: "}) + on + ")"
}

// variable declares one; a value of nil is left to the default.
func (a *author) variable(typ string, value any) string {
	name := fmt.Sprintf("v%d", len(a.declared))
	a.declared = append(a.declared, "$"+name+": "+typ)
	if value != nil {
		a.vars[name] = value
	}
	return name
}

func (a *author) field(def *ast.Definition, depth int) string {
	if len(def.Fields) == 0 || a.fields > 60 {
		return ""
	}
	f := pick(a, def.Fields)
	of := a.schema.Types[f.Type.Name()]
	if strings.HasPrefix(f.Name, "__") || of.IsCompositeType() && depth <= 0 {
		return ""
	}
	a.fields++
	text := f.Name
	args := a.arguments(f)
	if args != "" || a.percent(30) { // without a name of its own it may meet itself again, and be merged
		a.aliases++
		text = fmt.Sprintf("a%d: %s", a.aliases, f.Name)
	}
	text += args + a.condition()
	if of.IsCompositeType() {
		text += " " + a.selection(of, depth-1)
	}
	return text
}

// arguments are those that go together, most of the time: the required ones, a way to page, or one way to name an object.
func (a *author) arguments(f *ast.FieldDefinition) string {
	var given []string
	for _, arg := range f.Arguments {
		if !arg.Type.NonNull && !a.gives(f, arg) {
			continue
		}
		value := a.value(arg.Type, arg.Name, f.Type.Name())
		text := literal(value)
		if a.percent(40) {
			text = "$" + a.variable(arg.Type.String(), value)
		}
		given = append(given, arg.Name+": "+text)
	}
	if len(given) == 0 {
		return ""
	}
	return "(" + strings.Join(given, ", ") + ")"
}

func (a *author) gives(f *ast.FieldDefinition, arg *ast.ArgumentDefinition) bool {
	if f.Arguments.ForName("first") != nil && f.Arguments.ForName("page") != nil {
		byNumber := a.fields%5 == 0 && !a.percent(5)
		switch arg.Name {
		case "first":
			return !byNumber && a.percent(85)
		case "after":
			return !byNumber && a.percent(15)
		case "page", "perPage":
			return byNumber
		}
		return a.percent(25)
	}
	if len(f.Arguments) > 1 && !a.percent(5) {
		return f.Arguments[a.fields%len(f.Arguments)] == arg
	}
	return a.percent(50)
}

// enum is spelled without quotes in a document.
type enum string

// value is one of a type, most of the time a good one; name is what it is for, of the type that is asked for with it.
func (a *author) value(t *ast.Type, name, of string) any {
	if t.Elem != nil {
		list := make([]any, a.IntN(4))
		for i := range list {
			list[i] = a.value(t.Elem, name, of)
		}
		return list
	}
	def := a.schema.Types[t.NamedType]
	switch {
	case def.Kind == ast.Enum:
		return enum(pick(a, def.EnumValues).Name)
	case def.Kind == ast.InputObject:
		out := map[string]any{}
		for _, f := range def.Fields {
			if f.Type.NonNull || a.percent(30) {
				out[f.Name] = a.value(f.Type, f.Name, of)
			}
		}
		return out
	case t.NamedType == "Int64":
		return int64(1 + a.IntN(20)/19) // of an installation
	case t.NamedType == "Int":
		if a.percent(3) {
			return pick(a, []int64{-1, 0, 101, 5000})
		}
		return int64(1 + a.IntN(4))
	case t.NamedType == "Float":
		return pick(a, []float64{0, 0.5, 1, -2, 1e300})
	case t.NamedType == "Boolean":
		return a.percent(50)
	}
	return a.text(t.NamedType, name, of)
}

func (a *author) text(scalar, name, of string) string {
	good := a.known.byName[name]
	switch {
	case scalar == "Time" || scalar == "Date":
		good = []string{"2026-11-10", "2026-11-14", "2026-11-15"}
	case scalar == "ID":
		good = a.idsFor(name, of)
	case name == "after":
		good = a.known.cursors[of]
	case name == "idOrName":
		good = a.known.byName["name"]
	case name == "name" && a.percent(50):
		good = a.known.byName["skillName"]
	}
	if len(good) == 0 || a.percent(4) {
		good = []string{"", "SKILL.md", "naïve \"quote\" \\ and\ttab", "00000000-0000-0000-0000-000000000000", a.known.byName["id"][0], a.known.byName["endCursor"][0], "2020-01-01"}
	}
	return pick(a, good)
}

// idsOf are the types whose ids an argument takes, where neither its name tells nor what is asked for with it.
var idsOf = map[string][]string{
	"baseId": {"EvalRun"}, "headId": {"EvalRun"}, "from": {"Snapshot", "RegistryVersion"}, "to": {"Snapshot"}, "id": {"RegistryEntry"},
}

func (a *author) idsFor(name, of string) (good []string) {
	types := idsOf[name]
	if def := a.schema.Types[of]; name == "id" && def.IsCompositeType() {
		types = nil
		for _, t := range a.schema.GetPossibleTypes(def) {
			types = append(types, t.Name)
		}
	}
	if noun, ok := strings.CutSuffix(name, "Id"); ok && types == nil {
		for t := range a.known.ids {
			if strings.HasSuffix(strings.ToLower(t), strings.ToLower(noun)) {
				types = append(types, t)
			}
		}
	}
	slices.Sort(types)
	for _, t := range types {
		good = append(good, a.known.ids[t]...)
	}
	if len(good) == 0 {
		return a.known.byName["id"]
	}
	return good
}

// literal spells a value in a document.
func literal(v any) string {
	switch v := v.(type) {
	case enum:
		return string(v)
	case []any:
		items := make([]string, len(v))
		for i := range v {
			items[i] = literal(v[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		var fields []string
		for name, value := range v {
			fields = append(fields, name+": "+literal(value))
		}
		slices.Sort(fields)
		return "{" + strings.Join(fields, ", ") + "}"
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// plain makes variables of values: enums are strings there.
func plain(v any) any {
	switch v := v.(type) {
	case enum:
		return string(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = plain(v[k])
		}
		return out
	}
	return v
}

// harvest is what answers had in them.
type harvest struct {
	ids     map[string][]string // by type
	cursors map[string][]string // by type of connection
	byName  map[string][]string // any text, by the name of its field
}

// crawl asks for everything that can be had without arguments, as deep as the limits let it, and keeps what it finds.
func crawl(schema *ast.Schema, ask func(query string) ([]byte, bool)) *harvest {
	h := &harvest{ids: map[string][]string{}, cursors: map[string][]string{}, byName: map[string][]string{}}
	for _, f := range schema.Query.Fields {
		for depth := 5; depth > 0 && !strings.HasPrefix(f.Name, "__"); depth-- {
			text := everything(schema, f, nil, depth)
			if text == "" {
				break
			}
			var data any
			if body, ok := ask("{ " + text + " }"); ok {
				_ = json.Unmarshal(body, &data) // null teaches nothing
				h.take(data)
				break
			}
		}
	}
	return h
}

// everything selects a field with all that is below it, but no type below itself.
func everything(schema *ast.Schema, f *ast.FieldDefinition, above []string, depth int) string {
	args := ""
	for _, a := range f.Arguments {
		switch {
		case a.Name == "first" && a.DefaultValue == nil:
			args = "(first: 4)"
		case a.Type.NonNull && a.DefaultValue == nil:
			return ""
		}
	}
	def := schema.Types[f.Type.Name()]
	if !def.IsCompositeType() {
		return f.Name + args
	}
	if len(above) == depth || slices.Contains(above, def.Name) {
		return ""
	}
	parts := []string{"__typename"}
	for _, field := range def.Fields {
		if strings.HasSuffix(def.Name, "Edge") && field.Name == "node" {
			continue // they are in the nodes
		}
		if text := everything(schema, field, append(above, def.Name), depth); text != "" {
			parts = append(parts, text)
		}
	}
	return f.Name + args + " { " + strings.Join(parts, " ") + " }"
}

func (h *harvest) take(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			h.take(item)
		}
	case map[string]any:
		typ, _ := v["__typename"].(string)
		if id, ok := v["id"].(string); ok {
			add(h.ids, typ, id)
		}
		if edges, ok := v["edges"].([]any); ok {
			for _, e := range edges {
				cursor, _ := e.(map[string]any)["cursor"].(string)
				add(h.cursors, typ, cursor)
			}
		}
		for name, value := range v {
			if s, ok := value.(string); ok {
				add(h.byName, name, s)
			}
			h.take(value)
		}
	}
}

func add(to map[string][]string, key, value string) {
	if !slices.Contains(to[key], value) && len(to[key]) < 50 {
		to[key] = append(to[key], value)
	}
}
