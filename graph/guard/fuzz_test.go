package guard

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"

	"skillgraph/internal/viewer"
	"skillgraph/models"
)

// author writes a query against the schema. Every choice is a byte, so that a fuzzer can make them.
type author struct {
	choices   []byte
	fragments map[string][]string // names by the type they are on, finished ones only: no circles
	defined   []string
	aliases   int
}

func (a *author) choose(n int) int {
	if len(a.choices) == 0 {
		return 0
	}
	c := int(a.choices[0])
	a.choices = a.choices[1:]
	return c % n
}

func write(choices []byte) string {
	a := author{choices: choices, fragments: map[string][]string{}}
	query := "query($n: Int, $i: [ID!] = [\"a\", \"b\"], $b: Boolean = true) { u: suites(first: $n) { totalCount } v: nodes(ids: $i) { id } w: viewer @include(if: $b) { plan } " + a.selection(schema.Query, 5) + "}"
	return query + strings.Join(a.defined, "")
}

func (a *author) selection(def *ast.Definition, depth int) string {
	var b strings.Builder
	b.WriteString("__typename ")
	for range 1 + a.choose(3) {
		if len(a.choices) == 0 { // the end of the story
			break
		}
		switch a.choose(6) {
		case 0:
			b.WriteString("... { " + a.selection(def, depth) + "} ")
		case 1:
			if types := schema.PossibleTypes[def.Name]; len(types) > 0 && depth > 0 {
				on := types[a.choose(len(types))]
				b.WriteString("... on " + on.Name + " @skip(if: $b) { " + a.selection(on, depth-1) + "} ")
			}
		case 2:
			b.WriteString("..." + a.fragment(def, depth) + " ")
		default:
			b.WriteString(a.field(def, depth))
		}
	}
	return b.String()
}

func (a *author) fragment(def *ast.Definition, depth int) string {
	if known := a.fragments[def.Name]; len(known) > 0 && a.choose(3) > 0 {
		return known[a.choose(len(known))]
	}
	text := a.selection(def, depth-1)
	name := fmt.Sprintf("F%d", len(a.defined))
	a.defined = append(a.defined, " fragment "+name+" on "+def.Name+" { "+text+"}")
	a.fragments[def.Name] = append(a.fragments[def.Name], name)
	return name
}

func (a *author) field(def *ast.Definition, depth int) string {
	if len(def.Fields) == 0 {
		return ""
	}
	f := def.Fields[a.choose(len(def.Fields))]
	of := schema.Types[f.Type.Name()]
	if strings.HasPrefix(f.Name, "__") || of.IsCompositeType() && depth <= 0 {
		return ""
	}
	a.aliases++
	text := fmt.Sprintf("a%d: %s", a.aliases, f.Name)
	switch {
	case f.Arguments.ForName("ids") != nil:
		text += []string{"(ids: [])", `(ids: ["a"])`, `(ids: ["a", "b", "c"])`}[a.choose(3)]
	case f.Arguments.ForName("id") != nil:
		text += `(id: "x")`
	case f.Arguments.ForName("first") != nil:
		text += []string{"", "(first: 3)", "(first: $n)", "(perPage: 2)", "(first: null)"}[a.choose(5)]
	}
	if of.IsCompositeType() {
		text += " { " + a.selection(of, depth-1) + "}"
	}
	return text + " "
}

// spreadOut is a selection with every fragment written out in place, by copying it: what measure and costing avoid.
// It gives up, with false, when there is too much of it or it never ends.
func spreadOut(doc *ast.QueryDocument, set ast.SelectionSet, left *int) (ast.SelectionSet, bool) {
	out := make(ast.SelectionSet, 0, len(set))
	for _, sel := range set {
		if *left--; *left < 0 {
			return nil, false
		}
		ok := true
		switch sel := sel.(type) {
		case *ast.Field:
			f := *sel
			f.SelectionSet, ok = spreadOut(doc, sel.SelectionSet, left)
			out = append(out, &f)
		case *ast.InlineFragment:
			f := *sel
			f.SelectionSet, ok = spreadOut(doc, sel.SelectionSet, left)
			out = append(out, &f)
		case *ast.FragmentSpread:
			f := ast.InlineFragment{Directives: sel.Directives}
			if def := doc.Fragments.ForName(sel.Name); def != nil {
				f.Directives = append(append(ast.DirectiveList{}, f.Directives...), def.Directives...)
				f.SelectionSet, ok = spreadOut(doc, def.SelectionSet, left)
			}
			out = append(out, &f)
		}
		if !ok {
			return nil, false
		}
	}
	return out, true
}

// sameCost checks a valid document, and reports whether it could.
func sameCost(t *testing.T, query string) bool {
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: query}, 5000)
	if err != nil || len(validator.ValidateWithRules(schema, doc, nil)) > 0 || len(doc.Operations) == 0 {
		return false
	}
	op := doc.Operations[0]
	vars, err := validator.VariableValues(schema, op, map[string]any{"n": int64(4)})
	if err != nil {
		return false
	}
	c := costing{vars: vars, fragments: doc.Fragments, known: map[string]int{}}
	got := c.selection(op.SelectionSet)
	require.GreaterOrEqual(t, got, 0)
	require.LessOrEqual(t, got, maxCost+1)
	left := 20_000
	set, ok := spreadOut(doc, op.SelectionSet, &left)
	if !ok {
		return false
	}
	plain := costing{vars: vars, known: map[string]int{}}
	require.Equal(t, plain.selection(set), got, query)

	// And nothing that can be asked makes the guard itself fall over.
	ctx := &graphql.OperationContext{Doc: doc, Operation: op, Variables: vars}
	_ = New(nil).MutateOperationContext(viewer.With(t.Context(), as(models.RoleViewer)), ctx)
	return got <= maxCost
}

// TestCostOfFragments: adding a remembered cost at every spread is the same as counting what is spread out.
func TestCostOfFragments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) // the same queries every time
	checked := 0
	for range 500 {
		choices := make([]byte, 200)
		for i := range choices {
			choices[i] = byte(random.Uint32())
		}
		if sameCost(t, write(choices)) {
			checked++
		}
	}
	require.Greater(t, checked, 100, "most queries should be valid and cheap enough to tell something")
}

func FuzzCost(f *testing.F) {
	f.Add([]byte("a query is written from these bytes"))
	f.Add([]byte{2, 2, 0, 2, 2, 2, 1, 1, 2, 2, 9, 3, 7, 3, 3, 3, 2, 2, 2, 1, 0, 4, 4})
	f.Fuzz(func(t *testing.T, choices []byte) {
		if len(choices) > 300 {
			return
		}
		sameCost(t, write(choices))
	})
}

// FuzzShape: no text makes the guard panic, and a document is measured as if its fragments were spread out.
func FuzzShape(f *testing.F) {
	for _, query := range []string{
		"{ viewer { plan } }",
		"{ ...A ...A } fragment A on Query { viewer { ...B } } fragment B on Viewer { a: plan @skip(if: true) ...C } fragment C on Viewer { role }",
		"{ ...A } fragment A on Query { ...A }",
		"{ ...Gone }",
		"query @a { ...A @b } fragment A on Query @c { __schema { types { ... @d { x: name } } } }",
		"query A { a } query B { b { c { d } } }",
		"{ a { b { c", "fragment A on B { c }", "", "{}", "\x00",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		g := New(nil)
		refused := g.MutateOperationParameters(t.Context(), &graphql.RawParams{Query: query})
		doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: query}, MaxTokens)
		if err != nil {
			return
		}
		_ = validator.ValidateWithRules(schema, doc, nil)
		for _, op := range doc.Operations {
			left := 20_000
			set, ok := spreadOut(doc, op.SelectionSet, &left)
			if !ok {
				return
			}
			m := measure{fragments: doc.Fragments, known: map[string]shape{}, repeats: map[string]int{}}
			plain := measure{known: map[string]shape{}, repeats: map[string]int{}}
			got, want := m.selection(op.SelectionSet), plain.selection(set)
			require.Equal(t, want, got)
			want.directives += len(op.Directives)
			if want.check() != nil {
				require.Error(t, orNil(refused))
			}
		}
	})
}
