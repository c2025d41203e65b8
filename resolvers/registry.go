package resolvers

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"skillgraph/graph/loader"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func (query) Entry(ctx context.Context, id ids.ID) (*models.RegistryEntry, error) {
	e, err := loader.One(ctx, loader.EntryByID, &id)
	if err == nil && e == nil {
		err = id.NotFound(ids.Entry)
	}
	return e, err
}

func (query) Entries(ctx context.Context, first *int, after *string, page, perPage *int, filter *models.EntryFilter, orderBy *models.EntryOrder) (*models.RegistryEntryConnection, error) {
	f := or(filter, models.EntryFilter{})
	if err := f.Validate(); err != nil {
		return nil, err
	}
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).Entries(ctx, f, or(orderBy, models.EntryOrderCreatedAt), w)
}

func (query) PublicEntries(ctx context.Context, first *int, after *string, page, perPage *int, words *string) (*models.RegistryEntryConnection, error) {
	if err := models.CheckWords(words); err != nil {
		return nil, err
	}
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).PublicEntries(ctx, or(words, ""), w)
}

func (q query) DownloadURL(ctx context.Context, id ids.ID, version string) (*string, error) {
	e, err := q.Entry(ctx, id)
	if err != nil {
		return nil, err
	}
	v, err := loader.EntryVersion.Of(ctx, e, version)
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return nil, errs.New(errs.NotFound, "%s has no version %q", e.Name, version)
	case v.RevokedAt != nil:
		return nil, errs.New(errs.Conflict, "%s %s was revoked: it can no longer be downloaded", e.Name, version)
	}
	return q.link(ctx, v.ID)
}

func (query) Installed(ctx context.Context, first *int, after *string, page, perPage *int) (*models.InstallationConnection, error) {
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).Installed(ctx, w)
}

func (query) SyncCheck(ctx context.Context, deviceID *string) ([]*models.SyncEntry, error) {
	return org(ctx).SyncCheck(ctx, deviceID)
}

func (m mutation) CreateEntry(ctx context.Context, in models.CreateEntryMetadata, visibility *models.Visibility, sourceRepo *string, archive graphql.Upload) (*models.CreateEntryPayload, error) {
	if err := overREST(ctx, "POST /api/v1/registry"); err != nil {
		return nil, err
	}
	if err := models.CheckRepo(sourceRepo); err != nil { // it stands beside the metadata
		return nil, err
	}
	e, v, err := in.Entry(visibility, sourceRepo)
	if err != nil {
		return nil, errs.Within(err, "metadata")
	}
	out, err := m.Registry.CreateEntry(ctx, org(ctx), e, v, archive.File)
	if err != nil {
		return nil, err
	}
	return &models.CreateEntryPayload{Entry: out.Entry, Version: out.Version, Created: out.Created}, nil
}

func (m mutation) PushVersion(ctx context.Context, id ids.ID, in models.PushVersionMetadata, archive graphql.Upload) (*models.PushVersionPayload, error) {
	if err := overREST(ctx, "POST /api/v1/registry/{id}/versions"); err != nil {
		return nil, err
	}
	v, err := in.NewVersion()
	if err != nil {
		return nil, errs.Within(err, "metadata")
	}
	out, err := m.Registry.PushVersion(ctx, org(ctx), id, v, archive.File)
	if err != nil {
		return nil, err
	}
	return &models.PushVersionPayload{Entry: out.Entry, Version: out.Version, Created: out.Created}, nil
}

func (mutation) UpdateEntry(ctx context.Context, id ids.ID, in models.UpdateEntryInput) (*models.UpdateEntryPayload, error) {
	e, err := org(ctx).UpdateEntry(ctx, id, in)
	if err != nil {
		return nil, err
	}
	return &models.UpdateEntryPayload{Entry: e}, nil
}

func (mutation) RollbackEntry(ctx context.Context, id ids.ID, in models.RollbackEntryInput) (*models.RollbackEntryPayload, error) {
	reason := in.Reason.Value()
	out, err := org(ctx).Rollback(ctx, id, in.TargetVersion.Value(), reason)
	if err != nil {
		return nil, err
	}
	return &models.RollbackEntryPayload{Entry: out.Entry, Version: out.Version, Reason: reason}, nil
}

func (mutation) RevokeVersion(ctx context.Context, id ids.ID, reason *string) (*models.RevokeVersionPayload, error) {
	out, err := org(ctx).RevokeVersion(ctx, id, reason)
	if err != nil {
		return nil, err
	}
	return &models.RevokeVersionPayload{Entry: out.Entry, Version: out.Version}, nil
}

func (mutation) InstallEntry(ctx context.Context, id ids.ID, in models.InstallEntryInput) (*models.InstallEntryPayload, error) {
	i, created, err := org(ctx).Install(ctx, id, in)
	if err != nil {
		return nil, err
	}
	return &models.InstallEntryPayload{Installation: i, Created: created}, nil
}

func (mutation) SyncInstallations(ctx context.Context, in []*models.SyncInput, deviceID *string) (*models.SyncInstallationsPayload, error) {
	entries, err := org(ctx).Sync(ctx, in, deviceID)
	if err != nil {
		return nil, err
	}
	return &models.SyncInstallationsPayload{Entries: entries}, nil
}

func (mutation) DeleteEntry(ctx context.Context, id ids.ID) (*models.DeleteEntryPayload, error) {
	return &models.DeleteEntryPayload{DeletedID: id}, org(ctx).DeleteEntry(ctx, id)
}

func (registryEntry) OrganizationName(ctx context.Context, e *models.RegistryEntry) (string, error) {
	return loader.One(ctx, loader.EntryOrgName, e)
}

func (registryEntry) IsOwn(ctx context.Context, e *models.RegistryEntry) (bool, error) {
	return e.OrgID == org(ctx).ID(), nil
}

func (registryEntry) CurrentVersion(ctx context.Context, e *models.RegistryEntry) (*models.RegistryVersion, error) {
	return loader.One(ctx, loader.EntryCurrent, e)
}

func (registryEntry) Versions(ctx context.Context, e *models.RegistryEntry, first *int, after *string, page, perPage *int, orderBy *models.VersionOrder) (*models.RegistryVersionConnection, error) {
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return loader.EntryVersions.Of(ctx, e, models.VersionList{Window: w, OrderBy: or(orderBy, models.VersionOrderPushedAt)})
}

func (registryEntry) Version(ctx context.Context, e *models.RegistryEntry, version string) (*models.RegistryVersion, error) {
	return loader.EntryVersion.Of(ctx, e, version)
}

func (registryEntry) Releases(ctx context.Context, e *models.RegistryEntry, first *int, after *string, page, perPage *int) (*models.ReleaseConnection, error) {
	return loader.Page(ctx, loader.EntryReleases, e, pageArgs(first, after, page, perPage))
}

func (registryEntry) Installations(ctx context.Context, e *models.RegistryEntry, first *int, after *string, page, perPage *int) (*models.InstallationConnection, error) {
	return loader.Page(ctx, loader.EntryInstalls, e, pageArgs(first, after, page, perPage))
}

func (registryEntry) InstallationCount(ctx context.Context, e *models.RegistryEntry) (int, error) {
	return loader.One(ctx, loader.EntryInstallCount, e)
}

// Evidence is none where the entry has been deleted, or taken back, since it was read.
func (registryEntry) Evidence(ctx context.Context, e *models.RegistryEntry) (*models.EntryEvidence, error) {
	found, err := loader.One(ctx, loader.EntryEvidence, e)
	return new(or(found, models.EntryEvidence{})), err
}

func (r registryEntry) PassRate(ctx context.Context, e *models.RegistryEntry) (*float64, error) {
	found, err := r.Evidence(ctx, e)
	return found.RecentPassRate, err
}

func (r registryEntry) EvalCount(ctx context.Context, e *models.RegistryEntry) (int, error) {
	found, err := r.Evidence(ctx, e)
	return found.GradedSessions, err
}

func (registryEntry) Skill(ctx context.Context, e *models.RegistryEntry) (*models.Skill, error) {
	return loader.One(ctx, loader.EntrySkill, e)
}

func (registryEntry) Alerts(ctx context.Context, e *models.RegistryEntry, first *int, after *string, page, perPage *int, filter *models.AlertFilter) (*models.AlertConnection, error) {
	return loader.List(ctx, loader.EntryAlerts, e, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (registryEntry) CreatedBy(ctx context.Context, e *models.RegistryEntry) (*models.User, error) {
	return loader.One(ctx, loader.EntryAuthor, e)
}

func (skill) RegistryEntry(ctx context.Context, s *models.Skill) (*models.RegistryEntry, error) {
	return loader.One(ctx, loader.SkillEntry, s)
}
