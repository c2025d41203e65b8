package models

import (
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// Event is one line of an organization's audit trail.
type Event struct {
	bun.BaseModel `bun:"table:events,alias:t"`

	OrgID     ids.ID    `bun:"org_id,pk"`
	ID        ids.ID    `bun:"id,pk"`
	Kind      string    `bun:"kind"`
	ObjectID  ids.ID    `bun:"object_id"`
	ActorID   *ids.ID   `bun:"actor_id"`
	Data      JSON      `bun:"data"`
	CreatedAt time.Time `bun:"created_at"`
}

// Validate bounds the filter.
func (f EventFilter) Validate() error {
	if kinds := f.Kinds.Value(); len(kinds) > 50 {
		return errs.At("filter", "kinds").Because("must have at most 50 items")
	}
	return nil
}
