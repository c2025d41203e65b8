package level

import (
	"errors"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/internal/store"
)

// maxNodes bounds a plan: an interface has a node for each of its types, and interfaces may be nested.
const maxNodes = 5000

// plan is what is to be done for an operation.
type plan struct {
	root  *node
	nodes int   // how many have rows
	calls []*op // all of them
	lists bool  // they are edges and pages, and nothing else
}

// node is what is selected of the objects of one type at one place of the document.
type node struct {
	typ  string
	ops  []*op
	deep bool // calls are made for its objects, or for some below them; their rows are kept
	id   int  // of the rows
}

// op is a field to be written.
type op struct {
	*Field
	field   graphql.CollectedField
	object  string // the type that has it
	key     []byte // its name in the answer, with what stands before and behind it
	text    []byte // the value, where it is known already
	nonNull bool
	// Of the elements, where it is a list:
	elemNonNull bool
	kids        []*node          // what is selected of each type that its objects may have
	byType      map[string]*node // the same by name; nil: there is only one
	deep        bool             // some of the kids are
	call        int              // its number among the calls, from 0; -1: it is none
	edge        string           // the edge that the call follows, where it does nothing else
	shown       *store.Columns   // what is shown of the rows that the edge leads to; nil: all, or there is no telling
}

var errUnknown = errors.New("not for us")

// newPlan plans an operation, or returns nil when there is something in it that only gqlgen knows how to do.
func (s *Schema) newPlan(oc *graphql.OperationContext) *plan {
	p := &planner{schema: s, op: oc, satisfies: map[string][]string{}, plan: &plan{}}
	root, err := p.node(s.Schema().Query.Name, oc.Operation.SelectionSet)
	if err != nil {
		return nil
	}
	p.plan.root = root
	p.prune()
	p.plan.lists = p.listing()
	return p.plan
}

type planner struct {
	schema    *Schema
	op        *graphql.OperationContext
	plan      *plan
	satisfies map[string][]string
	made      int
}

func (p *planner) node(typ string, set ast.SelectionSet) (*node, error) {
	if p.made++; p.made > maxNodes {
		return nil, errUnknown
	}
	n, aliases := &node{typ: typ}, map[string]bool{}
	for _, f := range graphql.CollectFields(p.op, set, p.names(typ)) {
		if len(f.Deferrables) > 0 || aliases[f.Alias] { // the same name twice: from two interfaces that are no kin
			return nil, errUnknown
		}
		aliases[f.Alias] = true
		o, err := p.field(typ, f)
		if err != nil {
			return nil, err
		}
		if len(n.ops) == 0 {
			o.key = o.key[1:]
		}
		n.ops = append(n.ops, o)
		n.deep = n.deep || o.deep || o.call >= 0
	}
	if n.deep {
		n.id = p.plan.nodes
		p.plan.nodes++
	}
	return n, nil
}

// names are those of the type and of everything that it is an instance of.
func (p *planner) names(typ string) []string {
	out, ok := p.satisfies[typ]
	if !ok {
		out = []string{typ}
		for _, def := range p.schema.Schema().GetImplements(p.schema.Schema().Types[typ]) {
			out = append(out, def.Name)
		}
		p.satisfies[typ] = out
	}
	return out
}

func (p *planner) field(typ string, f graphql.CollectedField) (*op, error) {
	o := &op{field: f, object: typ, key: []byte(`,"` + f.Alias + `":`), call: -1}
	if f.Name == "__typename" {
		o.text = []byte(`"` + typ + `"`)
		return o, nil
	}
	if o.Field = p.schema.types[typ][f.Name]; o.Field == nil {
		return nil, errUnknown
	}
	o.nonNull = f.Definition.Type.NonNull
	if f.Definition.Type.Elem != nil {
		o.elemNonNull = f.Definition.Type.Elem.NonNull
	}
	if len(f.Selections) > 0 {
		if err := p.selections(o); err != nil {
			return nil, err
		}
	}
	if o.Bind != nil {
		o.call = len(p.plan.calls)
		for _, name := range p.names(typ) {
			if edge := name + "." + f.Name; p.schema.edges[edge] {
				o.edge = edge
			}
		}
		p.plan.calls = append(p.plan.calls, o)
	}
	return o, nil
}

func (p *planner) selections(o *op) error {
	schema := p.schema.Schema()
	def := schema.Types[o.field.Definition.Type.Name()]
	if def.IsAbstractType() {
		o.byType = map[string]*node{}
	}
	for _, typ := range schema.GetPossibleTypes(def) {
		if typ.Kind != ast.Object { // an interface that is a kind of this one
			continue
		}
		kid, err := p.node(typ.Name, o.field.Selections)
		if err != nil {
			return err
		}
		o.kids = append(o.kids, kid)
		if o.byType != nil {
			o.byType[typ.Name] = kid
		}
		o.deep = o.deep || kid.deep
	}
	return nil
}
