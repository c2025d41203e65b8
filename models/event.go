package models

import (
	"encoding/json"
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

// An event as a subscription gives it, with what it is about.
type (
	AlertUpdate      struct{ Event *Event }
	RegistryUpdate   struct{ Event *Event }
	RunUpdate        struct{ Event *Event }
	SkillUpdate      struct{ Event *Event }
	SuggestionUpdate struct{ Event *Event }
	SyncUpdate       struct{ Event *Event }
)

// About is the id of the object of a kind that an event is about: the one that it happened to, or one of those that its details
// name; nil when it is about none.
func (e *Event) About(kind ids.Kind, details ...string) *ids.ID {
	if e.ObjectID.Kind() == kind {
		return &e.ObjectID
	}
	if len(details) == 0 {
		return nil
	}
	var data map[string]any
	_ = json.Unmarshal(e.Data, &data) // we wrote it
	for _, name := range details {
		text, _ := data[name].(string)
		if id, err := ids.Parse(text); err == nil && id.Kind() == kind {
			return &id
		}
	}
	return nil
}
