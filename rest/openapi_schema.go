package rest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/internal/wire"
)

// describer turns types and selections into JSON Schemas, with what has a name among the components.
type describer struct {
	schema     *ast.Schema
	components map[string]object
}

// component refers to a schema by its name. Two schemas of one name get names of their own.
func (d *describer) component(name, noun string, schema object) object {
	if there, ok := d.components[name]; ok && !same(there, schema) {
		name = strings.ToUpper(noun[:1]) + noun[1:] + name
	}
	d.components[name] = schema
	return object{{"$ref", "#/components/schemas/" + name}}
}

func same(a, b object) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func nullable(schema object, null bool) object {
	if !null || len(schema) == 0 {
		return schema
	}
	if schema[0].key == "type" {
		if kind, ok := schema[0].value.(string); ok {
			return append(object{{"type", []string{kind, "null"}}}, schema[1:]...)
		}
		return schema // is nullable already
	}
	return object{{"anyOf", []object{schema, {{"type", "null"}}}}}
}

// input describes what a variable takes. Only JSON has nulls.
func (d *describer) input(t *ast.Type, null bool) object {
	null = null && !t.NonNull
	if t.Elem != nil {
		return nullable(object{{"type", "array"}, {"items", d.input(t.Elem, true)}}, null)
	}
	def := d.schema.Types[t.NamedType]
	if def.Kind != ast.InputObject {
		return nullable(d.leaf(def), null)
	}
	if _, there := d.components[def.Name]; !there {
		d.components[def.Name] = object{} // it may hold itself
		d.components[def.Name] = d.inputObject(def)
	}
	return nullable(object{{"$ref", "#/components/schemas/" + def.Name}}, null)
}

func (d *describer) inputObject(def *ast.Definition) object {
	properties := object{}
	var required []string
	for _, f := range def.Fields {
		key := wire.Snake(f.Name)
		properties = properties.with(key, d.input(f.Type, true).with("description", f.Description))
		if f.Type.NonNull && f.DefaultValue == nil {
			required = append(required, key)
		}
	}
	return record(properties, required).with("description", def.Description)
}

// leaf describes a scalar or an enum.
func (d *describer) leaf(def *ast.Definition) object {
	if def.Kind == ast.Enum {
		values := make([]string, len(def.EnumValues))
		for i, v := range def.EnumValues {
			values[i] = wire.Spelling(v)
		}
		return d.component(def.Name, "enum", object{{"type", "string"}, {"enum", values}, {"description", def.Description}})
	}
	switch def.Name {
	case "Boolean":
		return object{{"type", "boolean"}}
	case "Int":
		return object{{"type", "integer"}, {"format", "int32"}}
	case "Int64":
		return object{{"type", "integer"}, {"format", "int64"}}
	case "Float":
		return object{{"type", "number"}}
	case "Time":
		return object{{"type", "string"}, {"format", "date-time"}}
	case "Date":
		return object{{"type", "string"}, {"format", "date"}}
	case "JSON":
		return object{}
	case "Upload":
		return file()
	}
	return object{{"type", "string"}}
}

// selected describes what a selection shows of an object.
func (d *describer) selected(doc *ast.QueryDocument, def *ast.Definition, set ast.SelectionSet, s *shape, noun string) object {
	var kinds []object
	for _, kind := range d.schema.GetPossibleTypes(def) {
		if one := d.fields(doc, kind, set, s, noun); !slices.ContainsFunc(kinds, func(o object) bool { return same(o, one) }) {
			kinds = append(kinds, one)
		}
	}
	out := object{{"anyOf", kinds}}
	if len(kinds) == 1 {
		out = kinds[0]
	}
	if spread := onlySpread(set); spread != "" && (s == nil || !s.flat) {
		return d.component(spread, noun, out)
	}
	return out
}

// onlySpread is the fragment that is all of a selection, but for what goes to headers.
func onlySpread(set ast.SelectionSet) (name string) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.FragmentSpread:
			if name != "" {
				return ""
			}
			name = sel.Name
		case *ast.Field:
			if !slices.Contains(headerAliases, sel.Alias) {
				return ""
			}
		default:
			return ""
		}
	}
	return name
}

// fields describes an object of one type: of its one shown field where it is flat.
func (d *describer) fields(doc *ast.QueryDocument, def *ast.Definition, set ast.SelectionSet, s *shape, noun string) object {
	properties := object{}
	var required []string
	for _, f := range d.collect(doc, def, set, nil) {
		var child *shape
		if s != nil {
			child = s.fields[f.Alias]
		}
		if child != nil && child.hidden {
			continue
		}
		t, optional := f.Definition.Type, child != nil && child.optional
		schema := d.shown(doc, t, f.SelectionSet, child, noun, optional)
		if s != nil && s.flat {
			return schema
		}
		if f.Definition.Description != "" {
			schema = schema.with("description", f.Definition.Description)
		}
		properties = properties.with(f.Alias, schema)
		if !optional {
			required = append(required, f.Alias)
		}
	}
	return record(properties, required)
}

// shown describes a value that an answer carries. What is left out when null is never null.
func (d *describer) shown(doc *ast.QueryDocument, t *ast.Type, set ast.SelectionSet, s *shape, noun string, never bool) object {
	null := !t.NonNull && !never
	if t.Elem != nil {
		return nullable(object{{"type", "array"}, {"items", d.shown(doc, t.Elem, set, s, noun, false)}}, null)
	}
	def := d.schema.Types[t.NamedType]
	if def.IsLeafType() {
		return nullable(d.leaf(def), null)
	}
	return nullable(d.selected(doc, def, set, s, noun), null)
}

// collect gathers the fields of one type, each once, with everything that is selected below it.
func (d *describer) collect(doc *ast.QueryDocument, def *ast.Definition, set ast.SelectionSet, out []*ast.Field) []*ast.Field {
	applies := func(condition string) bool {
		return condition == "" || slices.Contains(d.schema.GetPossibleTypes(d.schema.Types[condition]), def)
	}
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			i := slices.IndexFunc(out, func(f *ast.Field) bool { return f.Alias == sel.Alias })
			if i < 0 {
				out = append(out, sel)
				continue
			}
			merged := *out[i]
			merged.SelectionSet = slices.Concat(merged.SelectionSet, sel.SelectionSet)
			out[i] = &merged
		case *ast.InlineFragment:
			if applies(sel.TypeCondition) {
				out = d.collect(doc, def, sel.SelectionSet, out)
			}
		case *ast.FragmentSpread:
			if f := doc.Fragments.ForName(sel.Name); applies(f.TypeCondition) {
				out = d.collect(doc, def, f.SelectionSet, out)
			}
		}
	}
	return out
}

// metaOf are the aliases that a shape sends to headers.
func metaOf(s *shape) (out []string) {
	if s == nil {
		return nil
	}
	if s.meta != "" {
		return []string{s.meta}
	}
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		out = append(out, metaOf(s.fields[name])...)
	}
	return out
}

func headersOf(s *shape) (out object) {
	text := object{{"type", "string"}}
	for _, name := range metaOf(s) {
		switch name {
		case etagAlias:
			out = out.with("ETag", object{{"description", "Which state of the object this is; for If-Match and If-None-Match."}, {"schema", text}})
		case truncatedAlias:
			out = out.with("X-Truncated", object{{"description", "`true` where there is more than is listed."}, {"schema", text}})
		case locationAlias:
			out = out.with("Location", object{{"description", "Where it is; valid for some minutes."}, {"schema", text}})
		}
	}
	return out
}

func errorSchema() object {
	return record(object{{"error", record(object{
		{"message", object{{"type", "string"}}},
		{"status", object{{"type", "integer"}}},
		{"code", object{{"type", "string"}}},
	}, []string{"message", "status", "code"})}}, []string{"error"})
}

func validationSchema() object {
	return record(object{
		{"error", object{{"const", "Validation failed"}}},
		{"details", record(object{
			{"path", object{{"type", "array"}, {"items", object{{"type", "string"}}}, {"description", "Where in the request; indices are strings."}}},
			{"message", object{{"type", "string"}}},
		}, []string{"path", "message"})},
	}, []string{"error", "details"})
}
