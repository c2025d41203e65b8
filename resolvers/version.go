package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func (registryVersion) Entry(ctx context.Context, v *models.RegistryVersion) (*models.RegistryEntry, error) {
	return loader.One(ctx, loader.VersionEntry, v)
}

func (registryVersion) IsCurrent(ctx context.Context, v *models.RegistryVersion) (bool, error) {
	e, err := loader.One(ctx, loader.VersionEntry, v)
	return err == nil && e != nil && e.CurrentVersionID != nil && *e.CurrentVersionID == v.ID, err
}

func (registryVersion) FileManifest(ctx context.Context, v *models.RegistryVersion) (models.JSON, error) {
	return loader.One(ctx, loader.VersionManifest, v)
}

func (registryVersion) Files(ctx context.Context, v *models.RegistryVersion) ([]*models.FileInfo, error) {
	return loader.One(ctx, loader.VersionFiles, v)
}

func (r registryVersion) File(ctx context.Context, v *models.RegistryVersion, path string) (*models.FileContent, error) {
	return r.Registry.File(ctx, org(ctx), v, path)
}

func (r registryVersion) Diff(ctx context.Context, v *models.RegistryVersion, from *ids.ID) (*models.SnapshotDiff, error) {
	before, err := older(ctx, v, from)
	if err != nil {
		return nil, err
	}
	return r.Registry.Diff(ctx, org(ctx), before, v)
}

// older is the version to compare with; nil when there is none before the first.
func older(ctx context.Context, v *models.RegistryVersion, from *ids.ID) (*models.RegistryVersion, error) {
	if from == nil {
		return org(ctx).VersionBefore(ctx, v)
	}
	found, err := org(ctx).VersionsByID(ctx, []ids.ID{*from})
	if err == nil && (found[*from] == nil || found[*from].EntryID != v.EntryID) {
		err = errs.At("from").Because("must be the id of a version of the same entry")
	}
	return found[*from], err
}

// Quality is nothing where the version has been deleted, or taken back, since it was read.
func (registryVersion) Quality(ctx context.Context, v *models.RegistryVersion) (*models.VersionQuality, error) {
	q, err := loader.One(ctx, loader.VersionQuality, v)
	return new(or(q, models.VersionQuality{})), err
}

func (r registryVersion) PassRate(ctx context.Context, v *models.RegistryVersion) (*float64, error) {
	q, err := r.Quality(ctx, v)
	return q.Sums.PassRate(), err
}

func (r registryVersion) Sessions(ctx context.Context, v *models.RegistryVersion) (int, error) {
	q, err := r.Quality(ctx, v)
	return q.Sessions, err
}

func (registryVersion) InstallationCount(ctx context.Context, v *models.RegistryVersion) (int, error) {
	return loader.One(ctx, loader.VersionInstalls, v)
}

func (r registryVersion) DownloadURL(ctx context.Context, v *models.RegistryVersion) (*string, error) {
	if v.RevokedAt != nil {
		return nil, nil //nolint:nilnil // the graph shows it as null
	}
	return r.link(ctx, v.ID)
}

func (r Root) link(ctx context.Context, version ids.ID) (*string, error) {
	url, err := r.Registry.Links.To(ctx, version)
	return &url, err
}

func (registryVersion) PushedBy(ctx context.Context, v *models.RegistryVersion) (*models.User, error) {
	return loader.One(ctx, loader.VersionAuthor, v)
}

func (release) From(ctx context.Context, r *models.Release) (*models.RegistryVersion, error) {
	return loader.One(ctx, loader.ReleaseFrom, r)
}

func (release) To(ctx context.Context, r *models.Release) (*models.RegistryVersion, error) {
	return loader.One(ctx, loader.ReleaseTo, r)
}

func (release) CreatedBy(ctx context.Context, r *models.Release) (*models.User, error) {
	return loader.One(ctx, loader.ReleaseAuthor, r)
}

func (installation) Entry(ctx context.Context, i *models.Installation) (*models.RegistryEntry, error) {
	return loader.One(ctx, loader.InstallEntry, i)
}

func (installation) User(ctx context.Context, i *models.Installation) (*models.User, error) {
	return loader.One(ctx, loader.InstallUser, i)
}

func (installation) Version(ctx context.Context, i *models.Installation) (*models.RegistryVersion, error) {
	return loader.One(ctx, loader.InstallVersion, i)
}

func (r syncEntry) DownloadURL(ctx context.Context, s *models.SyncEntry) (*string, error) {
	if !s.HasUpdate() {
		return nil, nil //nolint:nilnil // the graph shows it as null
	}
	return r.link(ctx, *s.CurrentID)
}

func (registryVersion) Previous(ctx context.Context, v *models.RegistryVersion) (*models.RegistryVersion, error) {
	return loader.One(ctx, loader.VersionPrevious, v)
}

func (registryVersion) Installations(ctx context.Context, v *models.RegistryVersion, first *int, after *string, page, perPage *int) (*models.InstallationConnection, error) {
	return loader.Page(ctx, loader.VersionDevices, v, pageArgs(first, after, page, perPage))
}

func (release) Entry(ctx context.Context, r *models.Release) (*models.RegistryEntry, error) {
	return loader.One(ctx, loader.ReleaseEntry, r)
}
