package level

import (
	"context"

	"github.com/99designs/gqlgen/graphql"
)

// TakesTurns reports whether the operation waits for its turn.
func (s *Schema) TakesTurns(op *graphql.OperationContext) bool { return s.plan(op).lists }

// Turns lets so many have a turn at once, and tells how many have.
func Turns(n int) (turn func(context.Context) (end func()), taken func() int) {
	s := &Schema{turns: make(chan struct{}, n)}
	return s.turn, func() int { return len(s.turns) }
}
