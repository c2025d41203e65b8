package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// Aliases that a body does not show but its headers do.
const (
	etagAlias      = "_etag"
	truncatedAlias = "_truncated"
	createdAlias   = "_created"  // false: the status is 200, whatever the route says
	locationAlias  = "_location" // where the client is sent
)

var headerAliases = []string{etagAlias, truncatedAlias, createdAlias, locationAlias}

// shape says how an answer becomes a body: which objects give way to what is inside them, which values go to headers.
// A nil shape is copied as it is.
type shape struct {
	flat     bool
	hidden   bool // has nothing but values for headers
	optional bool // is left out where it is null
	meta     string
	fields   map[string]*shape
}

// meta is what an answer says in headers.
type meta struct {
	etag      string
	truncated bool
	repeated  bool
	location  string
}

// newShape reads the directives and aliases of a document. unwrap is a path of aliases that are flattened.
func newShape(doc *ast.QueryDocument, set ast.SelectionSet, unwrap string) (*shape, error) {
	s := &shape{fields: map[string]*shape{}}
	if err := s.read(doc, set); err != nil {
		return nil, err
	}
	at := s
	for _, step := range strings.FieldsFunc(unwrap, func(r rune) bool { return r == '.' }) {
		next, ok := at.fields[step]
		if !ok {
			return nil, fmt.Errorf("unwrap: there is no %s to unwrap", step)
		}
		at.flat, at = true, next
	}
	return s.prune()
}

func (s *shape) read(doc *ast.QueryDocument, set ast.SelectionSet) error {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			child := s.fields[sel.Alias]
			if child == nil {
				child = &shape{fields: map[string]*shape{}}
				s.fields[sel.Alias] = child
			}
			switch {
			case slices.Contains(headerAliases, sel.Alias):
				child.meta, child.hidden = sel.Alias, true
			case strings.HasPrefix(sel.Alias, "_"):
				return fmt.Errorf("%s: aliases that begin with an underscore are %s", sel.Alias, strings.Join(headerAliases, ", "))
			}
			child.flat = child.flat || sel.Directives.ForName("flat") != nil
			child.optional = child.optional || sel.Directives.ForName("optional") != nil
			if err := child.read(doc, sel.SelectionSet); err != nil {
				return err
			}
		case *ast.InlineFragment:
			if err := s.read(doc, sel.SelectionSet); err != nil {
				return err
			}
		case *ast.FragmentSpread:
			if err := s.read(doc, doc.Fragments.ForName(sel.Name).SelectionSet); err != nil {
				return err
			}
		}
	}
	return nil
}

// prune makes everything nil that is copied as it is, and checks that a flat object shows one thing.
func (s *shape) prune() (*shape, error) {
	shown, special := 0, s.flat || s.optional || s.meta != ""
	for name, f := range s.fields {
		child, err := f.prune()
		if err != nil {
			return nil, err
		}
		s.fields[name] = child
		if child == nil || !child.hidden {
			shown++
		}
		special = special || child != nil
	}
	if s.flat && shown != 1 {
		return nil, fmt.Errorf("a flat object must show one field, not %d", shown)
	}
	s.hidden = s.hidden || len(s.fields) > 0 && shown == 0
	if !special {
		return nil, nil // nil is the shape of what is copied
	}
	return s, nil
}

// apply makes the body and the headers of an answer.
func (s *shape) apply(data []byte) ([]byte, meta) {
	if s == nil {
		return data, meta{}
	}
	r := reshaper{in: data, out: make([]byte, 0, len(data))}
	r.value(s, true)
	return r.out, r.meta
}

// reshaper copies JSON that was written by the executor, and so is well-formed.
type reshaper struct {
	in, out []byte
	pos     int
	meta    meta
}

func (r *reshaper) value(s *shape, shown bool) {
	switch {
	case s != nil && s.meta != "":
		r.note(s.meta)
	case s == nil || r.in[r.pos] != '{' && r.in[r.pos] != '[':
		start := r.pos
		r.skip()
		r.emit(shown, r.in[start:r.pos]...)
	case r.in[r.pos] == '[':
		r.list(s, shown)
	default:
		r.object(s, shown)
	}
}

func (r *reshaper) list(s *shape, shown bool) {
	r.emit(shown, '[')
	for first := true; r.next(']'); first = false {
		if !first {
			r.emit(shown, ',')
		}
		r.value(s, shown)
	}
	r.emit(shown, ']')
}

func (r *reshaper) object(s *shape, shown bool) {
	braces := shown && !s.flat
	r.emit(braces, '{')
	for first := true; r.next('}'); {
		start := r.pos
		r.skip()
		key := r.in[start:r.pos]
		r.pos++ // the colon
		child := s.fields[string(key[1:len(key)-1])]
		visible := child == nil || !child.hidden && (!child.optional || !bytes.HasPrefix(r.in[r.pos:], []byte("null")))
		if visible {
			if !first {
				r.emit(braces, ',')
			}
			first = false
			r.emit(braces, key...)
			r.emit(braces, ':')
		}
		r.value(child, shown && visible)
	}
	r.emit(braces, '}')
}

// next steps over the opening bracket or the comma before an element, or over the closing bracket when there is none.
func (r *reshaper) next(closing byte) bool {
	r.pos++
	if r.in[r.pos-1] == closing {
		return false
	}
	if r.in[r.pos] == closing { // an empty list or object
		r.pos++
		return false
	}
	return true
}

func (r *reshaper) emit(shown bool, b ...byte) {
	if shown {
		r.out = append(r.out, b...)
	}
}

func (r *reshaper) note(name string) {
	start := r.pos
	r.skip()
	v := strings.Trim(string(r.in[start:r.pos]), `"`)
	switch name {
	case etagAlias:
		r.meta.etag = v
	case truncatedAlias:
		r.meta.truncated = r.meta.truncated || v == "true"
	case createdAlias:
		r.meta.repeated = v == "false"
	case locationAlias:
		_ = json.Unmarshal(r.in[start:r.pos], &r.meta.location) // it is a string, or null
	}
}

// skip steps over one value.
func (r *reshaper) skip() {
	depth := 0
	for ; r.pos < len(r.in); r.pos++ {
		switch r.in[r.pos] {
		case '"':
			for r.pos++; r.in[r.pos] != '"'; r.pos++ {
				if r.in[r.pos] == '\\' {
					r.pos++
				}
			}
			if depth == 0 {
				r.pos++
				return
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return
			}
			if depth == 0 {
				r.pos++
				return
			}
		case ',', ':':
			if depth == 0 {
				return
			}
		}
	}
}
