package store

import (
	"context"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// ownSource fails with FORBIDDEN for another organization's source and with NOT_FOUND for one that nobody has.
func (o Org) ownSource(ctx context.Context, id ids.ID) error {
	type owner struct {
		OrgID ids.ID `bun:"org_id"`
	}
	src, err := queryOne[owner](ctx, o.pg, ids.Source, id, "SELECT t.org_id FROM cloud_sources t WHERE t.id = $1", id)
	if err == nil && src.OrgID != o.id {
		return errs.New(errs.Forbidden, "This cloud source belongs to another organization")
	}
	return err
}
