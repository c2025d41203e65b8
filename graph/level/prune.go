package level

import (
	"maps"
	"slices"

	"skillgraph/internal/store"
)

// prune tells each edge, and each list of the root, what is shown of the rows that it leads to. An edge that is
// followed at several places has one set of columns for all of them, so that what was read at one place serves the others.
func (p *planner) prune() {
	edges := map[string]*store.Columns{}
	for _, o := range p.plan.calls {
		if len(o.kids) != 1 || o.edge == "" && !p.isPage(o) {
			continue
		}
		if o.shown = (&store.Columns{Names: map[string]bool{}}); !p.shown(o.kids[0], o.shown) {
			o.shown = nil
		}
		all, known := edges[o.edge]
		switch {
		case o.edge == "":
		case !known || o.shown == nil:
			edges[o.edge] = o.shown
		case all != nil:
			maps.Copy(all.Names, o.shown.Names)
			all.Edges, all.More = all.Edges || o.shown.Edges, all.More || o.shown.More
		}
	}
	for _, o := range p.plan.calls {
		if o.edge != "" {
			o.shown = edges[o.edge]
		}
	}
}

// listing reports whether the calls are edges and pages, and nothing else.
func (p *planner) listing() bool {
	return !slices.ContainsFunc(p.plan.calls, func(o *op) bool { return o.Kind == Resolving && o.edge == "" && !p.isPage(o) })
}

// isPage reports whether a field of the root is a page: its resolver has nothing to do with the rows but to hand them on.
func (p *planner) isPage(o *op) bool {
	return o.object == p.schema.Schema().Query.Name && len(o.kids) == 1 && p.schema.types[o.kids[0].typ]["pageInfo"] != nil
}

// shown adds the columns that are shown of a row, or of the rows of a page; false: there is no telling, because something is
// computed from them.
func (p *planner) shown(n *node, columns *store.Columns) bool {
	row := p.isRow(n.typ)
	for _, o := range n.ops {
		switch {
		case o.text != nil: // its type
		case o.Column != "":
			columns.Model, columns.Names[o.Column] = o.Model, true
		case row && o.edge != "":
			columns.Edges = true
		case row:
			return false
		case o.field.Name == "hasNextPage":
			columns.More = true
		case len(o.kids) > 1: // of several types
			return false
		case len(o.kids) == 1 && !p.shown(o.kids[0], columns):
			return false
		}
	}
	return true
}

// isRow reports whether objects of the type are rows of a table.
func (p *planner) isRow(typ string) bool {
	for _, f := range p.schema.types[typ] {
		if f.Column != "" {
			return true
		}
	}
	return false
}
