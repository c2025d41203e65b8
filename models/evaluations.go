package models

import (
	"math"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// evaluations reckons how often a validator will hold a value, or a part of it, against a schema, or a part of that. A few references, each to two more,
// make a small schema that takes longer than anybody waits; the validator cannot be stopped, but counting with a memory is quick.
type evaluations struct {
	most  int
	seen  int
	known map[evaluation]int
}

type evaluation struct {
	schema *jsonschema.Schema
	value  *node
}

// node is a JSON value that can be told from an equal one.
type node struct {
	fields map[string]*node
	items  []*node
	length int // of a string
	size   int // nodes in it
}

func newNode(v any) *node {
	n := &node{size: 1}
	switch v := v.(type) {
	case map[string]any:
		n.fields = make(map[string]*node, len(v))
		for k, child := range v {
			n.fields[k] = newNode(child)
			n.size += n.fields[k].size
		}
	case []any:
		for _, child := range v {
			c := newNode(child)
			n.items, n.size = append(n.items, c), n.size+c.size
		}
	case string:
		n.length = len(v)
	}
	return n
}

// word stands for any name of a field.
var word = &node{length: 100, size: 1}

// tooMany is more than anybody allows.
const tooMany = math.MaxInt32

// count is an upper bound.
func (e *evaluations) count(s *jsonschema.Schema, v *node) int {
	if s == nil {
		return 0
	}
	if s.Bool != nil {
		return 1
	}
	key := evaluation{s, v}
	if n, ok := e.known[key]; ok {
		return n
	}
	if e.seen++; e.seen > e.most || s.DynamicRef != nil || s.RecursiveRef != nil { // where those lead depends on the way
		return tooMany
	}
	e.known[key] = tooMany // who comes back here goes round in circles
	n := e.own(s, v)
	add := func(s *jsonschema.Schema, v *node) { n = min(tooMany, n+e.count(s, v)) }
	inPlace(s, func(sub *jsonschema.Schema) { add(sub, v) })
	for name, child := range v.fields {
		add(s.PropertyNames, word)
		add(s.Properties[name], child)
		for _, sub := range s.PatternProperties {
			add(sub, child)
		}
		add(asSchema(s.AdditionalProperties), child)
		add(s.UnevaluatedProperties, child)
	}
	for i, child := range v.items {
		if list, ok := s.Items.([]*jsonschema.Schema); ok && i < len(list) {
			add(list[i], child)
		}
		if i < len(s.PrefixItems) {
			add(s.PrefixItems[i], child)
		}
		for _, sub := range []*jsonschema.Schema{asSchema(s.Items), asSchema(s.AdditionalItems), s.Items2020, s.Contains, s.UnevaluatedItems} {
			add(sub, child)
		}
	}
	e.known[key] = n
	return n
}

// own is what a schema does with a value besides asking others.
func (e *evaluations) own(s *jsonschema.Schema, v *node) int {
	n := 1 + v.length/64 + len(s.Required) + len(s.Properties) + len(s.PatternProperties)*len(v.fields) + len(s.DependentRequired)
	for _, list := range s.DependentRequired {
		n += len(list)
	}
	for _, d := range s.Dependencies {
		list, _ := d.([]string)
		n += 1 + len(list)
	}
	if s.Enum != nil {
		n += len(s.Enum.Values) * v.size
	}
	if s.Const != nil || s.UniqueItems {
		n += v.size
	}
	if s.Format != nil {
		n += v.length
	}
	return n
}

// inPlace calls f for every schema that a schema holds the same value against.
func inPlace(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	for _, list := range [][]*jsonschema.Schema{{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range list {
			f(sub)
		}
	}
	for _, sub := range s.DependentSchemas {
		f(sub)
	}
	for _, d := range s.Dependencies {
		f(asSchema(d))
	}
}

func asSchema(v any) *jsonschema.Schema {
	s, _ := v.(*jsonschema.Schema)
	return s
}
