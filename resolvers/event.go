package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func (query) Events(ctx context.Context, first *int, after *string, page, perPage *int, filter *models.EventFilter) (*models.EventConnection, error) {
	f := or(filter, models.EventFilter{})
	if err := f.Validate(); err != nil {
		return nil, err
	}
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).Events(ctx, f, w)
}

func (event) Object(ctx context.Context, e *models.Event) (models.Node, error) {
	return loader.One(ctx, loader.EventObject, e)
}

func (event) Actor(ctx context.Context, e *models.Event) (*models.User, error) {
	return loader.One(ctx, loader.EventActor, e)
}

func (query) Node(ctx context.Context, id ids.ID) (models.Node, error) {
	return loader.One(ctx, loader.NodeByID, &id)
}

func (query) Nodes(ctx context.Context, keys []ids.ID) ([]models.Node, error) {
	if len(keys) > 100 {
		return nil, errs.At("ids").Because("must have at most 100 items")
	}
	return loader.Many(ctx, loader.NodeByID, keys)
}
