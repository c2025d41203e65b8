package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/models"
)

func (organization) Skills(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int, filter *models.SkillFilter, orderBy *models.SkillOrder) (*models.SkillConnection, error) {
	return loader.List(ctx, loader.OrgSkills, o, pageArgs(first, after, page, perPage), filter, or(orderBy, models.SkillOrderLastSeen))
}

func (organization) Sources(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int, filter *models.SourceFilter) (*models.CloudSourceConnection, error) {
	return typedPage(loader.List(ctx, loader.OrgSources, o, pageArgs(first, after, page, perPage), filter, noOrder))
}

func (organization) Suites(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int, filter *models.SuiteFilter, orderBy *models.SuiteOrder) (*models.EvalSuiteConnection, error) {
	return loader.List(ctx, loader.OrgSuites, o, pageArgs(first, after, page, perPage), filter, or(orderBy, models.SuiteOrderCreatedAt))
}

func (organization) Entries(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int, filter *models.EntryFilter, orderBy *models.EntryOrder) (*models.RegistryEntryConnection, error) {
	return loader.List(ctx, loader.OrgEntries, o, pageArgs(first, after, page, perPage), filter, or(orderBy, models.EntryOrderCreatedAt))
}

func (organization) Runs(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int, filter *models.RunFilter) (*models.EvalRunConnection, error) {
	return loader.List(ctx, loader.OrgRuns, o, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (organization) Alerts(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int, filter *models.AlertFilter) (*models.AlertConnection, error) {
	return loader.List(ctx, loader.OrgAlerts, o, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (organization) Incidents(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int, filter *models.IncidentFilter) (*models.IncidentConnection, error) {
	return loader.List(ctx, loader.OrgIncidents, o, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (organization) Proposals(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int, filter *models.ProposalFilter) (*models.ProposalConnection, error) {
	return loader.List(ctx, loader.OrgProposals, o, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (organization) RepoLinks(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int) (*models.RepoLinkConnection, error) {
	return loader.Page(ctx, loader.OrgLinks, o, pageArgs(first, after, page, perPage))
}

func (organization) RepoInstallations(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int) (*models.RepoInstallationConnection, error) {
	return loader.Page(ctx, loader.OrgInstallations, o, pageArgs(first, after, page, perPage))
}

func (organization) Events(ctx context.Context, o *models.Organization, first *int, after *string, page, perPage *int, filter *models.EventFilter) (*models.EventConnection, error) {
	return loader.List(ctx, loader.OrgEvents, o, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (organization) Counts(ctx context.Context, o *models.Organization) (*models.OrganizationCounts, error) {
	return loader.One(ctx, loader.OrgCounts, o)
}

func (organizationCounts) Versions(ctx context.Context, c *models.OrganizationCounts) (int, error) {
	return loader.One(ctx, loader.CountVersions, c)
}

func (organizationCounts) Installations(ctx context.Context, c *models.OrganizationCounts) (int, error) {
	return loader.One(ctx, loader.CountDevices, c)
}

func (organizationCounts) PendingSuggestions(ctx context.Context, c *models.OrganizationCounts) (int, error) {
	return loader.One(ctx, loader.CountPending, c)
}
