package guard

import (
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

const (
	defaultPageSize = 20
	// introspected is the size assumed for the lists of the schema about itself: the query of a playground passes.
	introspected = 5
)

// checkCost adds up what an operation may cost at worst: an object 1, a plain value nothing, unless @cost says
// otherwise; below a list everything times the list's size. It stops at the limit, so it cannot overflow.
func checkCost(op *graphql.OperationContext) *gqlerror.Error {
	c := costing{vars: op.Variables, fragments: op.Doc.Fragments, known: map[string]int{}}
	cost := c.selection(op.Operation.SelectionSet)
	switch {
	case c.err != nil:
		return c.err
	case cost > maxCost:
		return refuse("query that costs over %d (list sizes multiply)", maxCost, maxCost)
	}
	return nil
}

type costing struct {
	vars      map[string]any
	fragments ast.FragmentDefinitionList
	known     map[string]int // cost of a fragment, computed once and added at every spread
	err       *gqlerror.Error
}

func (c *costing) selection(set ast.SelectionSet) int {
	sum := 0
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			sum += c.field(sel)
		case *ast.InlineFragment:
			sum += c.selection(sel.SelectionSet)
		case *ast.FragmentSpread:
			sum += c.fragment(sel.Name)
		}
		if sum > maxCost {
			return maxCost + 1
		}
	}
	return sum
}

func (c *costing) fragment(name string) int {
	n, ok := c.known[name]
	if !ok {
		n = c.selection(c.fragments.ForName(name).SelectionSet)
		c.known[name] = n
	}
	return n
}

func (c *costing) field(f *ast.Field) int {
	if f.Definition == nil { // __typename
		return 0
	}
	inner := c.selection(f.SelectionSet)
	weight := costArgument(f.Definition, "weight")
	if weight < 0 {
		weight = 0
		if len(f.SelectionSet) > 0 {
			weight = 1
		}
	}
	size := c.size(f)
	if inner > maxCost || size > maxCost {
		return maxCost + 1
	}
	return weight + size*inner // both are at most maxCost, so this fits
}

// size is how many objects may stand behind a field.
func (c *costing) size(f *ast.Field) int {
	switch name := f.Definition.Type.Name(); {
	case strings.HasPrefix(name, "__"):
		if f.Definition.Type.Elem != nil {
			return introspected
		}
		return 1
	case strings.HasSuffix(name, "Connection"):
		return c.pageSize(f)
	case f.Definition.Type.Elem == nil, f.ObjectDefinition != nil && strings.HasSuffix(f.ObjectDefinition.Name, "Connection"):
		return 1 // one object, or the items of a page, which the page has counted
	}
	if size := costArgument(f.Definition, "size"); size >= 0 {
		return size
	}
	if ids, ok := c.argument(f, "ids").([]any); ok {
		return len(ids)
	}
	return defaultPageSize
}

func (c *costing) pageSize(f *ast.Field) int {
	for _, name := range []string{"first", "perPage"} {
		n, ok := asInt(c.argument(f, name))
		if !ok {
			continue
		}
		if n > maxPageSize && c.err == nil {
			c.err = refuse("page with "+name+": %d", n, maxPageSize)
		}
		return max(n, 1)
	}
	return defaultPageSize
}

func (c *costing) argument(f *ast.Field, name string) any {
	a := f.Arguments.ForName(name)
	if a == nil {
		return nil
	}
	v, err := a.Value.Value(c.vars)
	if err != nil {
		return nil
	}
	return v
}

// asInt reads an integer as literals and JSON variables bring it.
func asInt(v any) (int, bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case int64:
		return int(v), true
	case float64:
		return int(max(-1, min(v, enough))), true
	case string:
		n, err := strconv.Atoi(v)
		return n, err == nil
	}
	return 0, false
}

func costArgument(def *ast.FieldDefinition, name string) int {
	if d := def.Directives.ForName("cost"); d != nil {
		if a := d.Arguments.ForName(name); a != nil {
			n, err := strconv.Atoi(a.Value.Raw)
			if err == nil {
				return n
			}
		}
	}
	return -1
}
