package guard

import (
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// shape is the size of a selection with all its fragments spread out.
type shape struct {
	depth      int // levels of fields, introspection left out
	width      int // fields side by side
	aliases    int
	directives int
	schemas    int // selections of __schema
	selections int // fields and fragments, the way that some rules of validation walk them
}

// enough is where sums stop: above every limit, far below an overflow.
const enough = 1 << 20

func (s *shape) add(o shape) {
	s.depth = max(s.depth, o.depth)
	s.width = min(s.width+o.width, enough)
	s.aliases = min(s.aliases+o.aliases, enough)
	s.directives = min(s.directives+o.directives, enough)
	s.schemas = min(s.schemas+o.schemas, enough)
	s.selections = min(s.selections+o.selections, enough)
}

// measure sizes the selections of a document that is not validated yet: names may be unknown, fragments may go in
// circles. A fragment is sized once and added at every spread.
type measure struct {
	fragments ast.FragmentDefinitionList
	known     map[string]shape
	fields    int
	spreads   int
	repeats   map[string]int
}

func checkShape(doc *ast.QueryDocument) *gqlerror.Error {
	m := measure{fragments: doc.Fragments, known: map[string]shape{}, repeats: map[string]int{}}
	selections := 0
	for _, f := range doc.Fragments {
		selections += m.fragment(f.Name).selections
	}
	for _, op := range doc.Operations {
		s := m.selection(op.SelectionSet)
		s.directives += len(op.Directives)
		if err := s.check(); err != nil {
			return err
		}
		selections += s.selections
	}
	switch {
	case m.fields > maxFields:
		return refuse("document with %d fields", m.fields, maxFields)
	case m.spreads > maxSpreads:
		return refuse("document that spreads fragments %d times", m.spreads, maxSpreads)
	case selections > maxSelections:
		return refuse("document with %d selections, its fragments spread out,", selections, maxSelections)
	}
	for _, n := range m.repeats {
		if n > maxRepeats {
			return refuse("document that repeats one field %d times", n, maxRepeats)
		}
	}
	return nil
}

func (s shape) check() *gqlerror.Error {
	switch {
	case s.depth > maxDepth:
		return refuse("query that is %d levels deep", s.depth, maxDepth)
	case s.width > maxRootFields:
		return refuse("query with %d root fields", s.width, maxRootFields)
	case s.aliases > maxAliases:
		return refuse("query with %d aliases", s.aliases, maxAliases)
	case s.directives > maxDirectives:
		return refuse("query with %d directives", s.directives, maxDirectives)
	case s.schemas > 1:
		return refuse("query that selects __schema %d times", s.schemas, 1)
	}
	return nil
}

func (m *measure) selection(set ast.SelectionSet) shape {
	s := shape{selections: len(set)}
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			s.add(m.field(sel))
		case *ast.InlineFragment:
			in := m.selection(sel.SelectionSet)
			in.directives += len(sel.Directives)
			s.add(in)
		case *ast.FragmentSpread:
			m.spreads++
			in := m.fragment(sel.Name)
			in.directives += len(sel.Directives)
			s.add(in)
		}
	}
	return s
}

func (m *measure) field(f *ast.Field) shape {
	m.fields++
	m.repeats[f.Name]++
	s := m.selection(f.SelectionSet)
	s.width, s.directives = 1, s.directives+len(f.Directives)
	s.depth++
	if f.Alias != f.Name {
		s.aliases++
	}
	if f.Name == "__schema" || f.Name == "__type" {
		s.depth = 1 // introspection has a limit of its own among the validation rules
	}
	if f.Name == "__schema" {
		s.schemas++
	}
	return s
}

func (m *measure) fragment(name string) shape {
	if s, ok := m.known[name]; ok {
		return s
	}
	m.known[name] = shape{} // a circle ends here, and validation refuses it
	f := m.fragments.ForName(name)
	if f == nil {
		return shape{}
	}
	s := m.selection(f.SelectionSet)
	s.directives += len(f.Directives)
	m.known[name] = s
	return s
}
