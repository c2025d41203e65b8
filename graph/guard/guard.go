// Package guard stands before every operation: it refuses what is too large to run, and what the caller may not have,
// before anything runs. What gqlgen itself offers for this can be made to burn seconds; every check here is linear in
// the document and stops at its limit.
package guard

import (
	"context"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/hashicorp/golang-lru/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"skillgraph/internal/errs"
	"skillgraph/internal/face"
	"skillgraph/internal/viewer"
	"skillgraph/models"
)

// Limits of an operation that a client sends. Stored documents are ours and have none of them.
const (
	MaxQueryBytes = 15_000
	MaxTokens     = 1_000
	maxFields     = 500 // and so many are still validated in a few dozen milliseconds, whatever they are
	maxRepeats    = 200 // of one field name: comparing them all with each other is quadratic
	maxSpreads    = 200 // and so is comparing fragments
	maxSelections = 10_000
	maxDepth      = 12
	maxAliases    = 30
	maxRootFields = 20
	maxDirectives = 20
	maxCost       = 10_000
	maxPageSize   = 100
)

const cachedDocuments = 1000

// Guard is an extension of the GraphQL server, and its cache of parsed documents.
type Guard struct {
	stored  map[string]*ast.QueryDocument // ours, never evicted
	clients *lru.Cache[string, *ast.QueryDocument]
	needs   *lru.Cache[*ast.OperationDefinition, []need]
}

// New makes a guard that knows the stored documents by their text.
func New(stored map[string]*ast.QueryDocument) *Guard {
	clients, _ := lru.New[string, *ast.QueryDocument](cachedDocuments) // fails only for a size below 1
	needs, _ := lru.New[*ast.OperationDefinition, []need](cachedDocuments)
	return &Guard{stored: stored, clients: clients, needs: needs}
}

// Get and Add are the server's cache of documents that were parsed and validated.
func (g *Guard) Get(_ context.Context, query string) (*ast.QueryDocument, bool) {
	if doc, ok := g.stored[query]; ok {
		return doc, true
	}
	return g.clients.Get(query)
}

// Add remembers a document.
func (g *Guard) Add(_ context.Context, query string, doc *ast.QueryDocument) {
	g.clients.Add(query, doc)
}

// ExtensionName and Validate make it an extension.
func (*Guard) ExtensionName() string { return "Guard" }

// Validate has nothing to check.
func (*Guard) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters sees a document before it is parsed and validated, both of which can be costly.
func (g *Guard) MutateOperationParameters(ctx context.Context, p *graphql.RawParams) *gqlerror.Error {
	if _, known := g.Get(ctx, p.Query); known {
		return nil
	}
	if len(p.Query) > MaxQueryBytes {
		return refuse("query of %d bytes", len(p.Query), MaxQueryBytes)
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: p.Query}, MaxTokens)
	switch {
	case err == nil:
		return checkShape(doc)
	case strings.Contains(err.Error(), "exceeded token limit"):
		return refuse("query of over %d tokens", MaxTokens, MaxTokens)
	}
	return nil // the server parses it again and says what is wrong
}

// MutateOperationContext sees a valid operation with its variables, just before it runs.
func (g *Guard) MutateOperationContext(ctx context.Context, op *graphql.OperationContext) *gqlerror.Error {
	if err := g.authorize(op, viewer.From(ctx)); err != nil {
		return err
	}
	if face.IsREST(ctx) {
		return nil
	}
	if op.Operation.Operation == ast.Subscription && len(graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Subscription"})) != 1 {
		return asGraphQL(errs.New(errs.Invalid, "A subscription selects one field"))
	}
	return checkCost(op)
}

// Allow asks once more whether somebody may run an operation that has been running for a while.
func (g *Guard) Allow(op *graphql.OperationContext, v *models.Viewer) error {
	if err := g.authorize(op, v); err != nil {
		return err.Err
	}
	return nil
}

// refuse names the limit that was passed.
func refuse(what string, n, limit int) *gqlerror.Error {
	return asGraphQL(errs.New(errs.TooComplex, "A "+what+" is more than this server runs at once: the limit is %d", n, limit))
}

func asGraphQL(e *errs.Error) *gqlerror.Error {
	return &gqlerror.Error{Err: e, Message: e.Message}
}
