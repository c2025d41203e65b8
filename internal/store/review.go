package store

import (
	"context"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// ReviewSuggestion records a decision about a suggestion, or answers the one that is there.
func (o Org) ReviewSuggestion(ctx context.Context, source ids.ID, in models.ReviewSuggestionInput) (*models.SuggestionReview, error) {
	r, err := in.Review()
	if err != nil {
		return nil, err
	}
	r, _, err = o.review(ctx, source, r, "appliedSuiteId")
	return r, err
}

// ApplySuggestion makes a suggestion a case of a suite, and records that it is accepted, or does neither.
func (o Org) ApplySuggestion(ctx context.Context, source, suggestion ids.ID, in models.ApplySuggestionInput) (*models.EvalSuite, *models.SuggestionReview, error) {
	r, err := in.Review(suggestion)
	if err != nil {
		return nil, nil, err
	}
	r, suite, err := o.review(ctx, source, r, "suiteId")
	return suite, r, err
}

// review takes a review where there is none, and else does what is left to do. The field names the suite in errors.
func (o Org) review(ctx context.Context, source ids.ID, in *models.SuggestionReview, field string) (review *models.SuggestionReview, suite *models.EvalSuite, err error) {
	err = o.tx(ctx, func(o Org) error {
		if err := o.ownSource(ctx, source); err != nil {
			return err
		}
		if in.AppliedSuiteID != nil { // before the review, as whoever deletes a suite does
			if suite, err = o.suite(ctx, *in.AppliedSuiteID, " FOR UPDATE"); err != nil {
				return err
			}
		}
		now, isNew := o.now(), false
		in.OrgID, in.ID, in.SourceID, in.ReviewedByID, in.ReviewedAt = o.id, ids.New(ids.Review, now), source, o.by(), now
		if review, isNew, err = o.takeReview(ctx, in); err != nil {
			return err
		}
		if isNew {
			if err := o.tellReview(ctx, "suggestion.reviewed", review, map[string]any{"review_status": review.ReviewStatus.Wire()}); err != nil {
				return err
			}
		}
		apply, err := review.Next(in)
		if err != nil || !apply {
			return err
		}
		in.Inherit(review)
		if err := o.appendCase(ctx, suite, source, in); err != nil {
			if e := errs.CodeOf(err); e == errs.Invalid {
				return errs.At(field).Because("%s", err.Error())
			}
			return err
		}
		in.AppliedToSuiteAt = &now
		if _, err := o.db.NewUpdate().Model(in).WherePK().Exec(ctx); err != nil {
			return err
		}
		review = in
		return o.tellReview(ctx, "suggestion.applied", review, map[string]any{"suite_id": suite.ID})
	})
	if err != nil {
		return nil, nil, err
	}
	return review, suite, nil
}

// takeReview writes a review, as a draft while it is in no suite, or finds the one that is there; either way nobody else changes it until the transaction ends.
func (o Org) takeReview(ctx context.Context, in *models.SuggestionReview) (review *models.SuggestionReview, isNew bool, err error) {
	type row struct {
		models.SuggestionReview
		Made bool `bun:"made"`
	}
	var target *models.AcceptTarget
	if in.AcceptTarget != nil {
		target = new(models.AcceptTargetDraft)
	}
	rows, err := query[row](ctx, o.pg, `INSERT INTO suggestion_reviews AS t (org_id, id, source_id, suggestion_id, review_status, accept_target, query, should_trigger, source, provenance,
			rationale, observed_count, confidence, last_observed_at, invocation_type, reviewed_by, reviewed_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
		ON CONFLICT ON CONSTRAINT suggestion_reviews_key DO UPDATE SET source_id = excluded.source_id
		RETURNING `+columns[models.SuggestionReview]()+`, t.xmax = 0 AS made`,
		o.id, in.ID, in.SourceID, in.SuggestionID, in.ReviewStatus, target, in.Query, in.ShouldTrigger, in.Source, in.Provenance,
		in.Rationale, in.ObservedCount, in.Confidence, in.LastObservedAt, in.InvocationType, in.ReviewedByID, in.ReviewedAt)
	if err != nil {
		return nil, false, err
	}
	return &rows[0].SuggestionReview, rows[0].Made, nil
}

// appendCase adds the case of a suggestion to a suite that is locked, unless it has one of it.
func (o Org) appendCase(ctx context.Context, s *models.EvalSuite, source ids.ID, r *models.SuggestionReview) error {
	cases, err := o.CasesOfSuites(ctx, []ids.ID{s.ID})
	if err != nil {
		return err
	}
	next, all, err := s.TakeCase(source, cases[s.ID], r.Case(o.newCaseID()))
	there, bad := models.HasSuggestion(cases[s.ID], r.SuggestionID)
	switch {
	case bad != nil:
		return bad
	case there && (err == nil || errs.CodeOf(err) == errs.Conflict): // there is nothing to change, and no need of room
		return nil
	case err != nil:
		return err
	}
	s.SuiteSettings, s.Revision, s.UpdatedAt = next, s.Revision+1, o.now()
	return o.saveSuite(ctx, s, all, []models.SuiteField{models.SuiteFieldCasesJSON})
}

// ClearReview makes a suggestion pending again, and returns the id of the review that is gone.
func (o Org) ClearReview(ctx context.Context, source, suggestion ids.ID) (ids.ID, error) {
	return inTx(ctx, o, func(o Org) (ids.ID, error) {
		if err := o.ownSource(ctx, source); err != nil {
			return ids.ID{}, err
		}
		gone, err := query[models.SuggestionReview](ctx, o.pg, "DELETE FROM suggestion_reviews t WHERE t.org_id = $1 AND t.source_id = $2 AND t.suggestion_id = $3 RETURNING "+columns[models.SuggestionReview](), o.id, source, suggestion)
		if err != nil {
			return ids.ID{}, err
		}
		if len(gone) == 0 {
			return ids.ID{}, errs.New(errs.NotFound, "Review not found")
		}
		if err := o.lockSuggestions(ctx); err != nil {
			return ids.ID{}, err
		}
		if err := o.settleSuggestions(ctx, []ids.ID{suggestion}); err != nil {
			return ids.ID{}, err
		}
		return gone[0].ID, o.tellReview(ctx, "suggestion.cleared", gone[0], nil)
	})
}

func (o Org) tellReview(ctx context.Context, kind string, r *models.SuggestionReview, data map[string]any) error {
	if data == nil {
		data = map[string]any{}
	}
	data["source_id"] = r.SourceID
	return o.event(ctx, kind, r.SuggestionID, data)
}

// releaseReviews makes the reviews that a suite was applied by drafts again: it is about to be deleted.
func (o Org) releaseReviews(ctx context.Context, suite ids.ID) error {
	_, err := exec(ctx, o.pg, `UPDATE suggestion_reviews SET accept_target = 'DRAFT', applied_suite_id = NULL, applied_to_suite_at = NULL
		WHERE org_id = $1 AND applied_suite_id = $2`, o.id, suite)
	return err
}

// ReviewsByID is the batch for nodes.
func (o Org) ReviewsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.SuggestionReview, error) {
	return batch(ctx, o, reviewID, "suggestion_reviews t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

func reviewID(r *models.SuggestionReview) ids.ID { return r.ID }

// ReviewsOfSuggestions is the batch for the reviews of suggestions: of what we suggested for one source, and of whatever
// clients have called the same on others.
func (o Org) ReviewsOfSuggestions(ctx context.Context, suggestions []ids.ID) (map[ids.ID][]*models.SuggestionReview, error) {
	rows, err := query[models.SuggestionReview](ctx, o.pg, "SELECT "+selected[models.SuggestionReview](o)+" FROM suggestion_reviews t WHERE t.org_id = $1 AND t.suggestion_id = ANY($2)", o.id, suggestions)
	return group(rows, func(r *models.SuggestionReview) ids.ID { return r.SuggestionID }), err
}

func reviewListing(parent string, f models.ReviewFilter) listing[models.SuggestionReview] {
	l := listing[models.SuggestionReview]{from: "suggestion_reviews t", parent: parent, order: newest(reviewID)}
	if status := f.ReviewStatus.Value(); status != nil {
		l.filter("t.review_status = ?", *status)
	}
	return l
}

// ReviewsOf lists the reviews of cloud sources, newest first.
func (o Org) ReviewsOf(ctx context.Context, sources []ids.ID, in models.ReviewList) (map[ids.ID]*models.SuggestionReviewConnection, error) {
	return pages(ctx, o, reviewListing("t.source_id", in.Filter()), sources, in.Window)
}

// ReviewsOfSuites lists the reviews that suites have cases of, newest first.
func (o Org) ReviewsOfSuites(ctx context.Context, suites []ids.ID, in models.ReviewList) (map[ids.ID]*models.SuggestionReviewConnection, error) {
	return pages(ctx, o, reviewListing("t.applied_suite_id", in.Filter()), suites, in.Window)
}

// ReviewsBy lists the reviews by members, newest first.
func (o Org) ReviewsBy(ctx context.Context, users []ids.ID, in models.ReviewList) (map[ids.ID]*models.SuggestionReviewConnection, error) {
	return pages(ctx, o, reviewListing("t.reviewed_by", in.Filter()), users, in.Window)
}
