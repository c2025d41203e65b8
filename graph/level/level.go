// Package level executes queries level by level, behind gqlgen's ExecutableSchema.
//
// gqlgen parses, validates and caches documents, coerces variables, guards and presents errors. What it does slowly is
// the execution itself: a context, a field context and closures for every field of every object, a goroutine for every
// element of a list. Here a query is run in three steps:
//
//   - A plan is made once for a document (plan.go): the fields of every selection are collected and each is bound to
//     what the generated table of types says of it (types.go): a member of the Go struct, or a call of a resolver.
//   - The levels are loaded one after the other (run.go). All calls of a level are made; those that follow an edge only
//     note their key (loader.Call); then every edge is read with one call of the store's batch function, all of them
//     side by side; then the calls are made again, and their answers are the next level.
//   - The answer is written in one pass into one buffer (write.go), and errors and nulls go where gqlgen would put them.
//
// Whatever the plan does not know is run by gqlgen: mutations, subscriptions, introspection, @defer, and any field that
// the table leaves out. Both executors give the same bytes; differential_test.go compares them.
package level

import (
	"context"
	"reflect"
	"runtime"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/hashicorp/golang-lru/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"skillgraph/graph/loader"
)

// cachedPlans bounds how many plans are remembered.
const cachedPlans = 1000

// Schema is an executable schema whose queries are run level by level.
type Schema struct {
	graphql.ExecutableSchema // gqlgen's

	types      Types
	edges      map[string]bool // fields that do nothing but follow an edge
	conditions *lru.Cache[*ast.OperationDefinition, []string]
	plans      *lru.Cache[planKey, *plan]
	turns      Turns
	fieldHook  uintptr // what field middleware is when there is none
	rootHook   uintptr
}

// New makes a schema of gqlgen's and the table of its types.
func New(inner graphql.ExecutableSchema, types Types) *Schema {
	s := &Schema{ExecutableSchema: inner, types: types, edges: map[string]bool{}, turns: make(Turns, max(8, 4*runtime.GOMAXPROCS(0)))}
	for _, line := range loader.Table() {
		s.edges[line.Name] = true
	}
	s.conditions, _ = lru.New[*ast.OperationDefinition, []string](cachedPlans) // fails only for a size below 1
	s.plans, _ = lru.New[planKey, *plan](cachedPlans)
	bare, _ := executor.New(inner).CreateOperationContext(graphql.StartOperationTrace(context.Background()), &graphql.RawParams{Query: "{__typename}"})
	s.fieldHook, s.rootHook = hooks(bare)
	return s
}

func hooks(op *graphql.OperationContext) (field, root uintptr) {
	return reflect.ValueOf(op.ResolverMiddleware).Pointer(), reflect.ValueOf(op.RootResolverMiddleware).Pointer()
}

// Exec runs an operation.
func (s *Schema) Exec(ctx context.Context) graphql.ResponseHandler {
	op := graphql.GetOperationContext(ctx)
	p := s.plan(op)
	if p == nil {
		return s.ExecutableSchema.Exec(ctx)
	}
	done := false
	return func(ctx context.Context) *graphql.Response {
		if done {
			return nil
		}
		done = true
		if p.lists {
			defer s.turns.Take(ctx)()
		}
		return &graphql.Response{Data: execute(ctx, op, p)}
	}
}

// Turns bounds how many queries are under way: more of them would only wait for the database, with all their rows in
// memory. Those that may wait for something else as well take none, and so keep nobody waiting.
type Turns chan struct{}

// Take waits for a turn.
func (t Turns) Take(ctx context.Context) (end func()) {
	select {
	case t <- struct{}{}:
		return func() { <-t }
	case <-ctx.Done(): // it is about to fail
		return func() {}
	}
}

// TakesTurns reports whether the operation, which is run here, waits for its turn.
func (s *Schema) TakesTurns(op *graphql.OperationContext) bool { return s.plan(op).lists }

// Plans reports whether the operation is run here, and not by gqlgen.
func (s *Schema) Plans(op *graphql.OperationContext) bool { return s.plan(op) != nil }

// planKey is what a plan depends on: the operation, and the values of the variables that say what is selected.
type planKey struct {
	op     *ast.OperationDefinition
	values uint64
}

// plan is the plan of an operation, or nil when gqlgen has to run it.
func (s *Schema) plan(op *graphql.OperationContext) *plan {
	if op.Operation.Operation != ast.Query {
		return nil
	}
	if field, root := hooks(op); field != s.fieldHook || root != s.rootHook {
		return nil // somebody wants to see every field go by
	}
	key, ok := s.key(op)
	if !ok {
		return nil
	}
	p, ok := s.plans.Get(key)
	if !ok {
		p = s.newPlan(op)
		s.plans.Add(key, p)
	}
	return p
}

func (s *Schema) key(op *graphql.OperationContext) (planKey, bool) {
	names, ok := s.conditions.Get(op.Operation)
	if !ok {
		names = conditions(op.Doc, op.Operation)
		s.conditions.Add(op.Operation, names)
	}
	key := planKey{op: op.Operation}
	for i, name := range names {
		on, ok := op.Variables[name].(bool)
		if !ok || i == 64 {
			return key, false
		}
		if on {
			key.values |= 1 << i
		}
	}
	return key, true
}

// conditions are the variables that @skip and @include use.
func conditions(doc *ast.QueryDocument, op *ast.OperationDefinition) (names []string) {
	seen := map[string]bool{}
	note := func(list ast.DirectiveList) {
		for _, d := range list {
			for _, a := range d.Arguments {
				if a.Value.Kind == ast.Variable && !seen["$"+a.Value.Raw] && (d.Name == "skip" || d.Name == "include") {
					seen["$"+a.Value.Raw] = true
					names = append(names, a.Value.Raw)
				}
			}
		}
	}
	var walk func(ast.SelectionSet)
	walk = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				note(sel.Directives)
				walk(sel.SelectionSet)
			case *ast.InlineFragment:
				note(sel.Directives)
				walk(sel.SelectionSet)
			case *ast.FragmentSpread:
				note(sel.Directives)
				if !seen[sel.Name] {
					seen[sel.Name] = true
					walk(doc.Fragments.ForName(sel.Name).SelectionSet)
				}
			}
		}
	}
	walk(op.SelectionSet)
	return names
}
