package level_test

import (
	"context"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	gqlgen "github.com/99designs/gqlgen/graphql/executor"
	"github.com/stretchr/testify/require"

	"skillgraph/graph/generated"
	"skillgraph/graph/level"
)

// Who comes when all turns are taken waits for one to end, unless it is given up.
func TestTurns(t *testing.T) {
	t.Parallel()
	turns := make(level.Turns, 2)
	end := turns.Take(t.Context())
	defer turns.Take(t.Context())()
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	turns.Take(ctx)()
	require.Len(t, turns, 2, "whoever gives up ends nobody's turn")
	next := make(chan func())
	go func() { next <- turns.Take(t.Context()) }()
	select {
	case <-next:
		require.Fail(t, "there was no turn left")
	default:
	}
	end()
	(<-next)()
	require.Len(t, turns, 1)
}

// Only queries that wait for nothing but the database take turns.
func TestWhoTakesTurns(t *testing.T) {
	t.Parallel()
	of := generated.Config{}
	inner := generated.NewExecutableSchema(of)
	s, exec := level.New(inner, generated.Level(of)), gqlgen.New(inner)
	for query, want := range map[string]bool{
		`{ skills { totalCount nodes { registryEntry { name versions { nodes { version } pageInfo { endCursor } } } dailyStats { date } } } }`: true,
		`{ organization { skills { nodes { id } } } }`:                                     true,
		`{ skill(name: "a") { id } }`:                                                      true,
		`{ entries { nodes { versions { nodes { file(path: "SKILL.md") { text } } } } } }`: false,
		`{ source(id: "00000000-0000-0000-0000-000000000000") { id } }`:                    false,
	} {
		op, errs := exec.CreateOperationContext(graphql.StartOperationTrace(t.Context()), &graphql.RawParams{Query: query})
		require.Empty(t, errs, query)
		require.Equal(t, want, s.TakesTurns(op), query)
	}
}
