package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// Sources is what sources need of the world outside: folders come from there, and are kept there.
type Sources interface {
	Create(ctx context.Context, org store.Org, in models.CreateSourceInput) (*models.CloudSource, error)
	Upload(ctx context.Context, org store.Org, in models.UploadSourceInput) (*store.Saved, error)
	Sync(ctx context.Context, org store.Org, id ids.ID) (*store.Saved, error)
	ImportSuite(ctx context.Context, org store.Org, source ids.ID, name *string) (*models.ImportSuitePayload, error)
	Diff(ctx context.Context, org store.Org, from, to ids.ID) (*models.SnapshotDiff, error)
	Text(ctx context.Context, f *models.SnapshotFile) (*string, error)
}

func (query) Source(ctx context.Context, id ids.ID) (models.TypedSource, error) {
	return typed(org(ctx).Source(ctx, id))
}

func (query) Sources(ctx context.Context, first *int, after *string, page, perPage *int, filter *models.SourceFilter) (*models.CloudSourceConnection, error) {
	f := or(filter, models.SourceFilter{})
	if err := f.Validate(); err != nil {
		return nil, err
	}
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return typedPage(org(ctx).Sources(ctx, f, w))
}

func (r query) SnapshotDiff(ctx context.Context, from, to ids.ID) (*models.SnapshotDiff, error) {
	return r.Root.Sources.Diff(ctx, org(ctx), from, to)
}

func (r mutation) CreateSource(ctx context.Context, in models.CreateSourceInput) (*models.CreateSourcePayload, error) {
	s, err := r.Sources.Create(ctx, org(ctx), in)
	if err != nil {
		return nil, err
	}
	return &models.CreateSourcePayload{Source: s.Typed()}, nil
}

func (mutation) UpdateSource(ctx context.Context, id ids.ID, in models.UpdateSourceInput) (*models.UpdateSourcePayload, error) {
	s, err := org(ctx).UpdateSource(ctx, id, in)
	if err != nil {
		return nil, err
	}
	return &models.UpdateSourcePayload{Source: s.Typed()}, nil
}

func (mutation) DeleteSource(ctx context.Context, id ids.ID) (*models.DeleteSourcePayload, error) {
	return &models.DeleteSourcePayload{DeletedID: ids.SourceID(id)}, org(ctx).DeleteSource(ctx, id)
}

func (r mutation) UploadSource(ctx context.Context, in models.UploadSourceInput) (*models.UploadSourcePayload, error) {
	if err := overREST(ctx, "POST /api/v1/cloud-sources/upload"); err != nil {
		return nil, err
	}
	s, err := r.Sources.Upload(ctx, org(ctx), in)
	if err != nil {
		return nil, err
	}
	return &models.UploadSourcePayload{Source: s.Source.Typed(), Snapshot: s.Snapshot, Validation: s.Report, IsNew: s.IsNew, Unchanged: unchanged(s)}, nil
}

func (r mutation) SyncSource(ctx context.Context, id ids.ID) (*models.SyncSourcePayload, error) {
	s, err := r.Sources.Sync(ctx, org(ctx), id)
	if err != nil {
		return nil, err
	}
	return &models.SyncSourcePayload{Source: s.Source.Typed(), Snapshot: s.Snapshot, Validation: s.Report, Unchanged: unchanged(s)}, nil
}

// unchanged is true or null.
func unchanged(s *store.Saved) *bool {
	if s.IsNew {
		return nil
	}
	return new(true)
}

func (r mutation) ImportSuite(ctx context.Context, sourceID ids.ID, name *string) (*models.ImportSuitePayload, error) {
	return r.Sources.ImportSuite(ctx, org(ctx), sourceID, name)
}

// sourceType has the edges of both types of source.
type sourceType[S models.TypedSource] struct{}

func (sourceType[S]) Skill(ctx context.Context, s S) (*models.Skill, error) {
	return loader.One(ctx, loader.SourceSkill, s.Row())
}

func (sourceType[S]) CurrentSnapshot(ctx context.Context, s S) (*models.Snapshot, error) {
	return loader.One(ctx, loader.SourceCurrent, s.Row())
}

func (sourceType[S]) Snapshots(ctx context.Context, s S, first *int, after *string, page, perPage *int) (*models.SnapshotConnection, error) {
	return loader.Page(ctx, loader.SourceSnapshots, s.Row(), pageArgs(first, after, page, perPage))
}

func (sourceType[S]) ValidationReports(ctx context.Context, s S, first *int, after *string, page, perPage *int) (*models.ValidationReportConnection, error) {
	return loader.Page(ctx, loader.SourceReports, s.Row(), pageArgs(first, after, page, perPage))
}

func (sourceType[S]) Suites(ctx context.Context, s S, first *int, after *string, page, perPage *int) (*models.EvalSuiteConnection, error) {
	return loader.Page(ctx, loader.SourceSuites, s.Row(), pageArgs(first, after, page, perPage))
}

func (sourceType[S]) CreatedBy(ctx context.Context, s S) (*models.User, error) {
	return loader.One(ctx, loader.SourceAuthor, s.Row())
}

func (repohostSource) Installation(ctx context.Context, s *models.RepohostSource) (*models.RepoInstallation, error) {
	return loader.One(ctx, loader.SourceInstallation, s)
}

func (skill) Sources(ctx context.Context, s *models.Skill, first *int, after *string, page, perPage *int, filter *models.SourceFilter) (*models.CloudSourceConnection, error) {
	return typedPage(loader.List(ctx, loader.SkillSources, s, pageArgs(first, after, page, perPage), filter, noOrder))
}

func (evalSuite) Source(ctx context.Context, s *models.EvalSuite) (models.TypedSource, error) {
	return typed(loader.One(ctx, loader.SuiteSource, s))
}

func (snapshot) Source(ctx context.Context, s *models.Snapshot) (models.TypedSource, error) {
	return typed(loader.One(ctx, loader.SnapshotSource, s))
}

func (snapshot) Files(ctx context.Context, s *models.Snapshot, first *int, after *string, page, perPage *int) (*models.SnapshotFileConnection, error) {
	return loader.Page(ctx, loader.SnapshotFiles, s, pageArgs(first, after, page, perPage))
}

func (snapshot) File(ctx context.Context, s *models.Snapshot, path string) (*models.SnapshotFile, error) {
	return loader.SnapshotFile.Of(ctx, s, path)
}

func (snapshot) Report(ctx context.Context, s *models.Snapshot) (*models.ValidationReport, error) {
	return loader.One(ctx, loader.SnapshotReport, s)
}

func (snapshot) CreatedBy(ctx context.Context, s *models.Snapshot) (*models.User, error) {
	return loader.One(ctx, loader.SnapshotAuthor, s)
}

func (r snapshotFile) Text(ctx context.Context, f *models.SnapshotFile) (*string, error) {
	return r.Sources.Text(ctx, f)
}

func (validationReport) Snapshot(ctx context.Context, r *models.ValidationReport) (*models.Snapshot, error) {
	return loader.One(ctx, loader.ReportSnapshot, r)
}

func typed(s *models.CloudSource, err error) (models.TypedSource, error) {
	if err != nil {
		return nil, err
	}
	return s.Typed(), nil
}

func typedPage(c *models.Connection[models.CloudSource], err error) (*models.CloudSourceConnection, error) {
	if err != nil {
		return nil, err
	}
	return &models.CloudSourceConnection{Connection: c}, nil
}

func (validationReport) Source(ctx context.Context, r *models.ValidationReport) (models.TypedSource, error) {
	return typed(loader.One(ctx, loader.ReportSource, r))
}

func (repoInstallation) Sources(ctx context.Context, i *models.RepoInstallation, first *int, after *string, page, perPage *int, filter *models.SourceFilter) (*models.CloudSourceConnection, error) {
	return typedPage(loader.List(ctx, loader.BoundSources, i, pageArgs(first, after, page, perPage), filter, noOrder))
}
