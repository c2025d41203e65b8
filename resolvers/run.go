package resolvers

import (
	"context"
	"strconv"

	"skillgraph/graph/loader"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func (query) Run(ctx context.Context, id ids.ID) (*models.EvalRun, error) {
	return org(ctx).Run(ctx, id)
}

func (query) Runs(ctx context.Context, first *int, after *string, page, perPage *int, filter *models.RunFilter) (*models.EvalRunConnection, error) {
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).Runs(ctx, or(filter, models.RunFilter{}), w)
}

func (query) CompareRuns(ctx context.Context, baseID, headID ids.ID) (*models.RunComparison, error) {
	return org(ctx).CompareRuns(ctx, baseID, headID)
}

func (mutation) RecordRun(ctx context.Context, in models.RecordRunInput) (*models.RecordRunPayload, error) {
	r, isNew, err := org(ctx).RecordRun(ctx, in)
	if err != nil {
		return nil, err
	}
	return &models.RecordRunPayload{Run: r, IsNew: isNew}, nil
}

func (evalSuite) Runs(ctx context.Context, s *models.EvalSuite, first *int, after *string, page, perPage *int, filter *models.RunFilter) (*models.EvalRunConnection, error) {
	return loader.List(ctx, loader.SuiteRuns, s, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (evalRun) Suite(ctx context.Context, r *models.EvalRun) (*models.EvalSuite, error) {
	return loader.One(ctx, loader.RunSuite, r)
}

func (evalRun) SuiteRevision(ctx context.Context, r *models.EvalRun) (*models.SuiteRevision, error) {
	return loader.One(ctx, loader.RunRevision, r)
}

func (evalRun) Results(ctx context.Context, r *models.EvalRun, first *int, after *string, page, perPage *int, outcome *models.CaseOutcome, disagrees *bool) (*models.EvalResultConnection, error) {
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	list := models.ResultList{Window: w, Outcome: or(outcome, "")}
	if disagrees != nil {
		list.Disagrees = strconv.FormatBool(*disagrees)
	}
	return loader.RunResults.Of(ctx, r, list)
}

func (evalRun) Previous(ctx context.Context, r *models.EvalRun) (*models.EvalRun, error) {
	return loader.One(ctx, loader.RunPrevious, r)
}

func (evalRun) CreatedBy(ctx context.Context, r *models.EvalRun) (*models.User, error) {
	return loader.One(ctx, loader.RunAuthor, r)
}

func (evalResult) Run(ctx context.Context, r *models.EvalResult) (*models.EvalRun, error) {
	return loader.One(ctx, loader.ResultRun, r)
}

func (evalResult) Case(ctx context.Context, r *models.EvalResult) (models.EvalCase, error) {
	cases, err := loader.One(ctx, loader.ResultCase, r)
	if err != nil {
		return nil, err
	}
	return cases[r.CaseKey], nil
}

func (runComparison) Base(ctx context.Context, c *models.RunComparison) (*models.EvalRun, error) {
	return loader.One(ctx, loader.ComparisonBase, c)
}

func (runComparison) Head(ctx context.Context, c *models.RunComparison) (*models.EvalRun, error) {
	return loader.One(ctx, loader.ComparisonHead, c)
}

func (caseChange) Base(ctx context.Context, c *models.CaseChange) (*models.EvalResult, error) {
	return loader.One(ctx, loader.ChangeBase, c)
}

func (caseChange) Head(ctx context.Context, c *models.CaseChange) (*models.EvalResult, error) {
	return loader.One(ctx, loader.ChangeHead, c)
}

func (evalRun) Snapshot(ctx context.Context, r *models.EvalRun) (*models.Snapshot, error) {
	return loader.One(ctx, loader.RunSnapshot, r)
}

func (snapshot) Runs(ctx context.Context, s *models.Snapshot, first *int, after *string, page, perPage *int, filter *models.RunFilter) (*models.EvalRunConnection, error) {
	return loader.List(ctx, loader.SnapshotRuns, s, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (skill) Runs(ctx context.Context, s *models.Skill, first *int, after *string, page, perPage *int, filter *models.RunFilter) (*models.EvalRunConnection, error) {
	return loader.List(ctx, loader.SkillRuns, s, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (sourceType[S]) Runs(ctx context.Context, s S, first *int, after *string, page, perPage *int, filter *models.RunFilter) (*models.EvalRunConnection, error) {
	return loader.List(ctx, loader.SourceRuns, s.Row(), pageArgs(first, after, page, perPage), filter, noOrder)
}

func (suiteRevision) Runs(ctx context.Context, r *models.SuiteRevision, first *int, after *string, page, perPage *int, filter *models.RunFilter) (*models.EvalRunConnection, error) {
	return loader.List(ctx, loader.RevisionRuns, r, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (registryEntry) Runs(ctx context.Context, e *models.RegistryEntry, first *int, after *string, page, perPage *int, filter *models.RunFilter) (*models.EvalRunConnection, error) {
	return loader.List(ctx, loader.EntryRuns, e, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (registryVersion) Runs(ctx context.Context, v *models.RegistryVersion, first *int, after *string, page, perPage *int, filter *models.RunFilter) (*models.EvalRunConnection, error) {
	return loader.List(ctx, loader.VersionRuns, v, pageArgs(first, after, page, perPage), filter, noOrder)
}

func (evalRun) Version(ctx context.Context, r *models.EvalRun) (*models.RegistryVersion, error) {
	return loader.One(ctx, loader.RunVersion, r)
}
