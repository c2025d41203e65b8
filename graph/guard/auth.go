package guard

import (
	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"skillgraph/internal/errs"
	"skillgraph/models"
)

// need is what @auth asks for on a selected field, or on the type that has it.
type need struct {
	field  string
	plan   models.Plan
	can    models.Permission
	writer bool // any permission will do
}

// authorize refuses an operation for the first selected field that the caller may not have. What an operation needs is
// remembered with it, unless @skip or @include make it depend on the variables.
func (g *Guard) authorize(op *graphql.OperationContext, v *models.Viewer) *gqlerror.Error {
	needs, known := g.needs.Get(op.Operation)
	if !known {
		c := collector{op: op, seen: map[string]bool{}}
		c.selection(op.Operation.SelectionSet)
		needs = c.needs
		if !c.conditional {
			g.needs.Add(op.Operation, needs)
		}
	}
	for _, n := range needs {
		if err := n.check(v); err != nil {
			return asGraphQL(err)
		}
	}
	return nil
}

func (n need) check(v *models.Viewer) *errs.Error {
	switch {
	case v == nil:
		return errs.New(errs.Unauthenticated, "An API key is needed: send the header Authorization: Bearer <key>")
	case n.plan != "" && !v.Plan.AtLeast(n.plan):
		return errs.New(errs.PlanRequired, "%s needs the %s plan; this organization is on the %s plan", n.field, n.plan.Wire(), v.Plan.Wire())
	case n.can != "" && !v.Can(n.can):
		return errs.New(errs.Forbidden, "%s needs the permission %s, which this API key does not have", n.field, n.can.Wire())
	case n.writer && len(v.Permissions) == 0:
		return errs.New(errs.Forbidden, "%s needs an API key that may do more than read", n.field)
	}
	return nil
}

// collector gathers the needs of the fields that will run. It visits a fragment once.
type collector struct {
	op          *graphql.OperationContext
	needs       []need
	seen        map[string]bool
	conditional bool
}

func (c *collector) selection(set ast.SelectionSet) {
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			if c.included(sel.Directives) {
				c.field(sel)
			}
		case *ast.InlineFragment:
			if c.included(sel.Directives) {
				c.selection(sel.SelectionSet)
			}
		case *ast.FragmentSpread:
			if c.included(sel.Directives) && !c.seen[sel.Name] {
				c.seen[sel.Name] = true
				c.selection(c.op.Doc.Fragments.ForName(sel.Name).SelectionSet)
			}
		}
	}
}

func (c *collector) field(f *ast.Field) {
	if f.Definition != nil {
		c.auth(f.Name, f.Definition.Directives)
	}
	if of := f.ObjectDefinition; of != nil { // however the object was reached: node(id:) leads to all of them
		c.auth(of.Name+"."+f.Name, of.Directives)
	}
	c.selection(f.SelectionSet)
}

func (c *collector) auth(field string, directives ast.DirectiveList) {
	if d := directives.ForName("auth"); d != nil {
		c.needs = append(c.needs, need{field: field, plan: models.Plan(enumArgument(d, "plan")), can: models.Permission(enumArgument(d, "can")), writer: isTrue(d, "writer")})
	}
}

func enumArgument(d *ast.Directive, name string) string {
	if a := d.Arguments.ForName(name); a != nil && a.Value.Kind == ast.EnumValue {
		return a.Value.Raw
	}
	return ""
}

func isTrue(d *ast.Directive, name string) bool {
	a := d.Arguments.ForName(name)
	return a != nil && a.Value.Raw == "true"
}

// included evaluates @skip and @include as the executor will.
func (c *collector) included(directives ast.DirectiveList) bool {
	for _, d := range directives {
		if d.Name != "skip" && d.Name != "include" {
			continue
		}
		c.conditional = true
		if on, _ := d.ArgumentMap(c.op.Variables)["if"].(bool); on == (d.Name == "skip") {
			return false
		}
	}
	return true
}
