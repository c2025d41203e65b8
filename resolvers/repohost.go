package resolvers

import (
	"context"

	"skillgraph/models"
)

func (query) RepoInstallations(ctx context.Context, first *int, after *string, page, perPage *int) (*models.RepoInstallationConnection, error) {
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).RepoInstallations(ctx, w)
}

func (m mutation) BindInstallation(ctx context.Context, in models.BindInstallationInput) (*models.BindInstallationPayload, error) {
	bound, isNew, err := m.Host.Bind(ctx, org(ctx), in)
	if err != nil {
		return nil, err
	}
	return &models.BindInstallationPayload{Installation: bound, IsNew: isNew}, nil
}
