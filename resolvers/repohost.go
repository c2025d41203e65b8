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
	return org(ctx).Installations(ctx, w)
}

func (mutation) BindInstallation(ctx context.Context, in models.BindInstallationInput) (*models.BindInstallationPayload, error) {
	i, err := in.Installation()
	if err != nil {
		return nil, err
	}
	bound, isNew, err := org(ctx).BindInstallation(ctx, i)
	if err != nil {
		return nil, err
	}
	return &models.BindInstallationPayload{Installation: bound, IsNew: isNew}, nil
}
