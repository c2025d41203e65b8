package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func (query) RepohostSettings(ctx context.Context) (*models.RepohostSettings, error) {
	mode, err := org(ctx).WriteBackMode(ctx)
	if err != nil {
		return nil, err
	}
	return &models.RepohostSettings{WriteBackMode: mode}, nil
}

func (q query) Repositories(ctx context.Context, installationID int64) ([]*models.Repository, error) {
	return q.Host.Repositories(ctx, org(ctx), installationID)
}

func (query) RepoLink(ctx context.Context, id ids.ID) (*models.RepoLink, error) {
	return org(ctx).RepoLink(ctx, id)
}

func (query) RepoLinks(ctx context.Context, first *int, after *string, page, perPage *int) (*models.RepoLinkConnection, error) {
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).RepoLinks(ctx, w)
}

func (query) RepoDeliveries(ctx context.Context, first *int, after *string, page, perPage *int) (*models.RepoDeliveryConnection, error) {
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).RepoDeliveries(ctx, w)
}

func (mutation) ChangeRepohostSettings(ctx context.Context, mode models.WriteBackMode) (*models.ChangeRepohostSettingsPayload, error) {
	if err := org(ctx).SetWriteBackMode(ctx, mode); err != nil {
		return nil, err
	}
	return &models.ChangeRepohostSettingsPayload{Settings: &models.RepohostSettings{WriteBackMode: mode}}, nil
}

func (m mutation) ConnectRepository(ctx context.Context, in models.ConnectRepositoryInput) (*models.ConnectRepositoryPayload, error) {
	l, err := m.Host.Connect(ctx, org(ctx), in)
	if err != nil {
		return nil, err
	}
	return &models.ConnectRepositoryPayload{Link: l}, nil
}

func (mutation) UpdateConnection(ctx context.Context, id ids.ID, in models.UpdateConnectionInput) (*models.UpdateConnectionPayload, error) {
	l, err := org(ctx).UpdateConnection(ctx, id, in)
	if err != nil {
		return nil, err
	}
	return &models.UpdateConnectionPayload{Link: l}, nil
}

func (mutation) DeleteConnection(ctx context.Context, id ids.ID) (*models.DeleteConnectionPayload, error) {
	return &models.DeleteConnectionPayload{DeletedID: id}, org(ctx).DeleteConnection(ctx, id)
}

func (m mutation) SyncConnection(ctx context.Context, id ids.ID) (*models.SyncConnectionPayload, error) {
	l, a, err := m.Host.Sync(ctx, org(ctx), id)
	if err != nil {
		return nil, err
	}
	out := &models.SyncConnectionPayload{Link: l, Attempt: a}
	if a.VersionID != nil {
		found, err := org(ctx).VersionsByID(ctx, []ids.ID{*a.VersionID})
		if v := found[*a.VersionID]; v != nil {
			out.PublishedAt = &v.PushedAt
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (repoLink) Entry(ctx context.Context, l *models.RepoLink) (*models.RegistryEntry, error) {
	return loader.One(ctx, loader.LinkEntry, l)
}

func (repoLink) Installation(ctx context.Context, l *models.RepoLink) (*models.RepoInstallation, error) {
	return loader.One(ctx, loader.LinkInstallation, l)
}

func (repoLink) LastAttempt(ctx context.Context, l *models.RepoLink) (*models.PublishAttempt, error) {
	return loader.One(ctx, loader.LinkLastAttempt, l)
}

func (repoLink) Attempts(ctx context.Context, l *models.RepoLink, first *int, after *string, page, perPage *int, filter *models.AttemptFilter) (*models.PublishAttemptConnection, error) {
	return loader.List(ctx, loader.LinkAttempts, l, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (repoLink) CreatedBy(ctx context.Context, l *models.RepoLink) (*models.User, error) {
	return loader.One(ctx, loader.LinkAuthor, l)
}

func (publishAttempt) Link(ctx context.Context, a *models.PublishAttempt) (*models.RepoLink, error) {
	return loader.One(ctx, loader.AttemptLink, a)
}

func (publishAttempt) Version(ctx context.Context, a *models.PublishAttempt) (*models.RegistryVersion, error) {
	return loader.One(ctx, loader.AttemptVersion, a)
}

func (registryEntry) RepoLink(ctx context.Context, e *models.RegistryEntry) (*models.RepoLink, error) {
	return loader.One(ctx, loader.EntryLink, e)
}

func (registryVersion) PublishAttempt(ctx context.Context, v *models.RegistryVersion) (*models.PublishAttempt, error) {
	return loader.One(ctx, loader.VersionAttempt, v)
}

func (repoInstallation) RepoLinks(ctx context.Context, i *models.RepoInstallation, first *int, after *string, page, perPage *int) (*models.RepoLinkConnection, error) {
	return loader.Page(ctx, loader.BoundLinks, i, pageArgs(first, after, page, perPage))
}
