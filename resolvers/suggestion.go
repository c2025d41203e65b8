package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func (mutation) ReviewSuggestion(ctx context.Context, sourceID ids.ID, in models.ReviewSuggestionInput) (*models.ReviewSuggestionPayload, error) {
	r, err := org(ctx).ReviewSuggestion(ctx, sourceID, in)
	if err != nil {
		return nil, err
	}
	return &models.ReviewSuggestionPayload{Review: r}, nil
}

func (mutation) ClearReview(ctx context.Context, sourceID, suggestionID ids.ID) (*models.ClearReviewPayload, error) {
	id, err := org(ctx).ClearReview(ctx, sourceID, suggestionID)
	if err != nil {
		return nil, err
	}
	return &models.ClearReviewPayload{DeletedID: id}, nil
}

func (mutation) ApplySuggestion(ctx context.Context, sourceID, suggestionID ids.ID, in models.ApplySuggestionInput) (*models.ApplySuggestionPayload, error) {
	s, r, err := org(ctx).ApplySuggestion(ctx, sourceID, suggestionID, in)
	if err != nil {
		return nil, err
	}
	return &models.ApplySuggestionPayload{Suite: s, Review: r}, nil
}

func (skill) Suggestions(ctx context.Context, s *models.Skill, first *int, after *string, page, perPage *int, filter *models.SuggestionFilter, orderBy *models.SuggestionOrder) (*models.EvalSuggestionConnection, error) {
	list, err := suggestionList(first, after, page, perPage, filter, orderBy)
	if err != nil {
		return nil, err
	}
	return loader.SkillSuggestions.Of(ctx, s, list)
}

func suggestionList(first *int, after *string, page, perPage *int, filter *models.SuggestionFilter, orderBy *models.SuggestionOrder) (models.SuggestionList, error) {
	return models.NewSuggestionList(pageArgs(first, after, page, perPage), or(filter, models.SuggestionFilter{}), or(orderBy, models.SuggestionOrderObservedCount))
}

func (e evalSuggestion) Status(ctx context.Context, s *models.EvalSuggestion) (models.SuggestionStatus, error) {
	r, err := e.Review(ctx, s)
	if err != nil || r == nil {
		return models.SuggestionStatusPending, err
	}
	return models.SuggestionStatus(r.ReviewStatus), nil
}

func (evalSuggestion) Review(ctx context.Context, s *models.EvalSuggestion) (*models.SuggestionReview, error) {
	all, err := loader.One(ctx, loader.SuggestionReviews, s)
	for _, r := range all {
		if r.SourceID == s.SourceID {
			return r, nil
		}
	}
	return nil, err
}

func (evalSuggestion) Similar(ctx context.Context, s *models.EvalSuggestion, first *int) ([]*models.SimilarSuggestion, error) {
	n := or(first, 5)
	if n < 1 || n > 20 {
		return nil, errs.At("first").Because("must be between 1 and 20")
	}
	return loader.SuggestionSimilar.Of(ctx, s, n)
}

func (evalSuggestion) Evidence(ctx context.Context, s *models.EvalSuggestion, first *int, after *string, page, perPage *int) (*models.SuggestionEvidenceConnection, error) {
	return loader.Page(ctx, loader.SuggestionEvidence, s, pageArgs(first, after, page, perPage))
}

func (similarSuggestion) Suggestion(ctx context.Context, s *models.SimilarSuggestion) (*models.EvalSuggestion, error) {
	return loader.One(ctx, loader.SimilarSuggestion, s)
}

func (suggestionEvidence) Run(ctx context.Context, e *models.SuggestionEvidence) (*models.EvalRun, error) {
	return loader.One(ctx, loader.EvidenceRun, e)
}

func (suggestionReview) Suggestion(ctx context.Context, r *models.SuggestionReview) (*models.EvalSuggestion, error) {
	return loader.One(ctx, loader.ReviewSuggestion, r)
}

func (suggestionReview) AppliedSuite(ctx context.Context, r *models.SuggestionReview) (*models.EvalSuite, error) {
	return loader.One(ctx, loader.ReviewSuite, r)
}

func (suggestionReview) ReviewedBy(ctx context.Context, r *models.SuggestionReview) (*models.User, error) {
	return loader.One(ctx, loader.ReviewAuthor, r)
}

func (suggestionReview) CloudSource(ctx context.Context, r *models.SuggestionReview) (models.TypedSource, error) {
	return typed(loader.One(ctx, loader.ReviewSource, r))
}

func (evalSuggestion) CloudSource(ctx context.Context, s *models.EvalSuggestion) (models.TypedSource, error) {
	return typed(loader.One(ctx, loader.SuggestionSource, s))
}

func (sourceType[S]) Suggestions(ctx context.Context, s S, first *int, after *string, page, perPage *int, filter *models.SuggestionFilter, orderBy *models.SuggestionOrder) (*models.EvalSuggestionConnection, error) {
	list, err := suggestionList(first, after, page, perPage, filter, orderBy)
	if err != nil {
		return nil, err
	}
	return loader.SourceSuggestions.Of(ctx, s.Row(), list)
}

func (sourceType[S]) Reviews(ctx context.Context, s S, first *int, after *string, page, perPage *int, filter *models.ReviewFilter) (*models.SuggestionReviewConnection, error) {
	return loader.List(ctx, loader.SourceReviews, s.Row(), pageArgs(first, after, page, perPage), filter, noOrder)
}

func (evalRun) Suggestions(ctx context.Context, r *models.EvalRun, first *int, after *string, page, perPage *int, filter *models.SuggestionFilter, orderBy *models.SuggestionOrder) (*models.EvalSuggestionConnection, error) {
	list, err := suggestionList(first, after, page, perPage, filter, orderBy)
	if err != nil {
		return nil, err
	}
	return loader.RunSuggestions.Of(ctx, r, list)
}

func (evalResult) Suggestion(ctx context.Context, r *models.EvalResult) (*models.EvalSuggestion, error) {
	return loader.One(ctx, loader.ResultSuggestion, r)
}

func (evalSuggestion) Skill(ctx context.Context, s *models.EvalSuggestion) (*models.Skill, error) {
	return loader.One(ctx, loader.SuggestionSkill, s)
}
