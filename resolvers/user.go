package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/models"
)

func (user) Suites(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int, filter *models.SuiteFilter, orderBy *models.SuiteOrder) (*models.EvalSuiteConnection, error) {
	return loader.List(ctx, loader.UserSuites, u, pageArgs(first, after, page, perPage), filter, or(orderBy, models.SuiteOrderCreatedAt))
}

func (user) Sources(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int, filter *models.SourceFilter) (*models.CloudSourceConnection, error) {
	return typedPage(loader.List(ctx, loader.UserSources, u, pageArgs(first, after, page, perPage), filter, noOrder))
}

func (user) Runs(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int, filter *models.RunFilter) (*models.EvalRunConnection, error) {
	return loader.List(ctx, loader.UserRuns, u, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (user) Reviews(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int, filter *models.ReviewFilter) (*models.SuggestionReviewConnection, error) {
	return loader.List(ctx, loader.UserReviews, u, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (user) Entries(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int, filter *models.EntryFilter, orderBy *models.EntryOrder) (*models.RegistryEntryConnection, error) {
	return loader.List(ctx, loader.UserEntries, u, pageArgs(first, after, page, perPage), filter, or(orderBy, models.EntryOrderCreatedAt))
}

func (user) PushedVersions(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int) (*models.RegistryVersionConnection, error) {
	return loader.Page(ctx, loader.UserVersions, u, pageArgs(first, after, page, perPage))
}

func (user) Alerts(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int, filter *models.AlertFilter) (*models.AlertConnection, error) {
	return loader.List(ctx, loader.UserAlerts, u, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (user) DecidedProposals(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int, filter *models.ProposalFilter) (*models.ProposalConnection, error) {
	return loader.List(ctx, loader.UserDecisions, u, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (user) Installations(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int) (*models.InstallationConnection, error) {
	return loader.Page(ctx, loader.UserDevices, u, pageArgs(first, after, page, perPage))
}

func (user) RepoLinks(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int) (*models.RepoLinkConnection, error) {
	return loader.Page(ctx, loader.UserLinks, u, pageArgs(first, after, page, perPage))
}

func (user) APIKeys(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int) (*models.APIKeyConnection, error) {
	return loader.Page(ctx, loader.UserAPIKeys, u, pageArgs(first, after, page, perPage))
}

func (user) Events(ctx context.Context, u *models.User, first *int, after *string, page, perPage *int, filter *models.EventFilter) (*models.EventConnection, error) {
	return loader.List(ctx, loader.UserEvents, u, pageArgs(first, after, page, perPage), filter, noOrder)
}
