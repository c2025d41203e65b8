package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/internal/viewer"
	"skillgraph/models"
)

func (query) Search(ctx context.Context, words string, types []models.SearchType, first *int) ([]*models.SearchHit, error) {
	args := models.SearchArgs{Query: words, Types: types, First: or(first, 20)}
	if err := args.Validate(); err != nil {
		return nil, err
	}
	return org(ctx).Search(ctx, args.Query, args.Searchable(viewer.From(ctx)), args.First)
}

func (searchHit) Node(ctx context.Context, h *models.SearchHit) (models.Node, error) {
	return loader.One(ctx, loader.HitNode, h)
}
