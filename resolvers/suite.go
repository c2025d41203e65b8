package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func (query) Suite(ctx context.Context, id ids.ID) (*models.EvalSuite, error) {
	return org(ctx).Suite(ctx, id)
}

func (query) Suites(ctx context.Context, first *int, after *string, page, perPage *int, filter *models.SuiteFilter, orderBy *models.SuiteOrder) (*models.EvalSuiteConnection, error) {
	f := or(filter, models.SuiteFilter{})
	if err := f.Validate(); err != nil {
		return nil, err
	}
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).Suites(ctx, f, or(orderBy, models.SuiteOrderCreatedAt), w)
}

func (mutation) CreateSuite(ctx context.Context, in models.CreateSuiteInput) (*models.CreateSuitePayload, error) {
	s, err := org(ctx).CreateSuite(ctx, in)
	if err != nil {
		return nil, err
	}
	return &models.CreateSuitePayload{Suite: s}, nil
}

func (mutation) UpdateSuite(ctx context.Context, id ids.ID, in models.UpdateSuiteInput, ifRevision []int) (*models.UpdateSuitePayload, error) {
	s, err := org(ctx).UpdateSuite(ctx, id, in, ifRevision)
	if err != nil {
		return nil, err
	}
	return &models.UpdateSuitePayload{Suite: s}, nil
}

func (mutation) ArchiveSuite(ctx context.Context, id ids.ID) (*models.ArchiveSuitePayload, error) {
	return archiveSuite(ctx, id, true)
}

func (mutation) RestoreSuite(ctx context.Context, id ids.ID) (*models.ArchiveSuitePayload, error) {
	return archiveSuite(ctx, id, false)
}

func archiveSuite(ctx context.Context, id ids.ID, archive bool) (*models.ArchiveSuitePayload, error) {
	s, err := org(ctx).ArchiveSuite(ctx, id, archive)
	if err != nil {
		return nil, err
	}
	return &models.ArchiveSuitePayload{Suite: s}, nil
}

func (mutation) DeleteSuite(ctx context.Context, id ids.ID) (*models.DeleteSuitePayload, error) {
	return &models.DeleteSuitePayload{DeletedID: id}, org(ctx).DeleteSuite(ctx, id)
}

func (evalSuite) CasesJSON(ctx context.Context, s *models.EvalSuite) (models.JSON, error) {
	return loader.One(ctx, loader.SuiteCases, s)
}

func (evalSuite) Cases(ctx context.Context, s *models.EvalSuite) ([]models.EvalCase, error) {
	return typedCases(loader.One(ctx, loader.SuiteCases, s))
}

func (evalSuite) Revisions(ctx context.Context, s *models.EvalSuite, first *int, after *string, page, perPage *int) (*models.SuiteRevisionConnection, error) {
	return loader.Page(ctx, loader.SuiteRevisions, s, pageArgs(first, after, page, perPage))
}

func (evalSuite) CreatedBy(ctx context.Context, s *models.EvalSuite) (*models.User, error) {
	return loader.One(ctx, loader.SuiteAuthor, s)
}

func (suiteRevision) Suite(ctx context.Context, r *models.SuiteRevision) (*models.EvalSuite, error) {
	return loader.One(ctx, loader.RevisionSuite, r)
}

func (suiteRevision) CasesJSON(ctx context.Context, r *models.SuiteRevision) (models.JSON, error) {
	return loader.One(ctx, loader.RevisionCases, r)
}

func (suiteRevision) Cases(ctx context.Context, r *models.SuiteRevision) ([]models.EvalCase, error) {
	return typedCases(loader.One(ctx, loader.RevisionCases, r))
}

func (suiteRevision) CreatedBy(ctx context.Context, r *models.SuiteRevision) (*models.User, error) {
	return loader.One(ctx, loader.RevisionAuthor, r)
}

func typedCases(raw models.JSON, err error) ([]models.EvalCase, error) {
	if err != nil {
		return nil, err
	}
	return models.ReadCases(raw)
}

func (skill) Suites(ctx context.Context, s *models.Skill, first *int, after *string, page, perPage *int, filter *models.SuiteFilter, orderBy *models.SuiteOrder) (*models.EvalSuiteConnection, error) {
	return loader.List(ctx, loader.SkillSuites, s, pageArgs(first, after, page, perPage), filter, or(orderBy, models.SuiteOrderCreatedAt))
}

func (evalSuite) Skill(ctx context.Context, s *models.EvalSuite) (*models.Skill, error) {
	return loader.One(ctx, loader.SuiteSkill, s)
}

func (evalSuite) Reviews(ctx context.Context, s *models.EvalSuite, first *int, after *string, page, perPage *int, filter *models.ReviewFilter) (*models.SuggestionReviewConnection, error) {
	return loader.List(ctx, loader.SuiteReviews, s, pageArgs(first, after, page, perPage), filter, noOrder)
}
