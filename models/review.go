package models

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// SuggestionReview is what somebody decided about a suggestion.
type SuggestionReview struct {
	bun.BaseModel `bun:"table:suggestion_reviews,alias:t"`

	OrgID            ids.ID         `bun:"org_id,pk"`
	ID               ids.ID         `bun:"id,pk"`
	SourceID         ids.ID         `bun:"source_id"`
	SuggestionID     ids.ID         `bun:"suggestion_id"`
	ReviewStatus     ReviewStatus   `bun:"review_status"`
	AcceptTarget     *AcceptTarget  `bun:"accept_target"`
	AppliedSuiteID   *ids.ID        `bun:"applied_suite_id"`
	AppliedToSuiteAt *time.Time     `bun:"applied_to_suite_at"`
	Query            string         `bun:"query"`
	ShouldTrigger    bool           `bun:"should_trigger"`
	Source           EvidenceSource `bun:"source"`
	Provenance       Provenance     `bun:"provenance"`
	Rationale        *string        `bun:"rationale"`
	ObservedCount    *float64       `bun:"observed_count"`
	Confidence       *float64       `bun:"confidence"`
	LastObservedAt   *time.Time     `bun:"last_observed_at"`
	InvocationType   *string        `bun:"invocation_type"`
	ReviewedByID     *ids.ID        `bun:"reviewed_by"`
	ReviewedAt       time.Time      `bun:"reviewed_at"`
}

const (
	maxRationale      = 2000
	maxInvocationType = 100
)

// Review is the review that the input describes. For a suite it names the suite, and is not applied yet.
func (in ReviewSuggestionInput) Review() (*SuggestionReview, error) {
	r := &SuggestionReview{
		SuggestionID: in.SuggestionID, ReviewStatus: in.ReviewStatus, Query: in.Query, ShouldTrigger: in.ShouldTrigger, Source: in.Source, Provenance: in.Provenance,
		Rationale: in.Rationale.Value(), ObservedCount: in.ObservedCount.Value(), Confidence: in.Confidence.Value(),
		LastObservedAt: in.LastObservedAt.Value(), InvocationType: in.InvocationType.Value(),
	}
	if r.ReviewStatus == ReviewStatusAccepted {
		if r.AcceptTarget = in.AcceptTarget.Value(); r.AcceptTarget == nil {
			r.AcceptTarget = new(AcceptTargetDraft)
		}
		if r.forSuite() {
			if r.AppliedSuiteID = in.AppliedSuiteID.Value(); r.AppliedSuiteID == nil {
				return nil, errs.At("appliedSuiteId").Because("is required with accept_target saved_suite")
			}
		}
	}
	return r, r.Validate()
}

// Review is the review of a suggestion that is applied to a suite.
func (in ApplySuggestionInput) Review(suggestion ids.ID) (*SuggestionReview, error) {
	r := &SuggestionReview{
		SuggestionID: suggestion, ReviewStatus: ReviewStatusAccepted, AcceptTarget: new(AcceptTargetSavedSuite), AppliedSuiteID: &in.SuiteID,
		Query: in.Query, ShouldTrigger: in.ShouldTrigger, Source: in.Source, Provenance: in.Provenance,
		Rationale: in.Rationale.Value(), ObservedCount: in.ObservedCount.Value(), Confidence: in.Confidence.Value(),
		LastObservedAt: in.LastObservedAt.Value(), InvocationType: in.InvocationType.Value(),
	}
	return r, r.Validate()
}

func (r *SuggestionReview) forSuite() bool {
	return r.AcceptTarget != nil && *r.AcceptTarget == AcceptTargetSavedSuite
}

// Validate is the rule for what a reviewer says.
func (r *SuggestionReview) Validate() error {
	if err := checkLong("query", &r.Query, MaxQuery); err != nil {
		return err
	}
	switch {
	case isBlank(r.Query):
		return errs.At("query").Because("must not be empty")
	case r.ObservedCount != nil && *r.ObservedCount < 0:
		return errs.At("observedCount").Because("must not be negative")
	case r.Confidence != nil && (*r.Confidence < 0 || *r.Confidence > 1):
		return errs.At("confidence").Because("must be between 0 and 1")
	}
	if err := checkLong("rationale", r.Rationale, maxRationale); err != nil {
		return err
	}
	return checkLong("invocationType", r.InvocationType, maxInvocationType)
}

// checkLong is the rule for a text of several lines.
func checkLong(field string, s *string, most int) error {
	switch {
	case s == nil:
		return nil
	case utf8.RuneCountInString(*s) > most:
		return errs.At(field).Because("must be at most %d characters long", most)
	case !utf8.ValidString(*s) || strings.ContainsRune(*s, 0):
		return errs.At(field).Because("must be UTF-8 without the NUL character")
	}
	return nil
}

// Next says what is left to do when a review comes where one is already: nothing, or to take the suggestion into the suite that the new one names.
func (r *SuggestionReview) Next(in *SuggestionReview) (apply bool, err error) {
	switch {
	case r.ReviewStatus != in.ReviewStatus:
		return false, errs.New(errs.Conflict, "The suggestion is %s already: clear its review first", r.ReviewStatus.Wire())
	case !in.forSuite() || equalPtr(r.AppliedSuiteID, in.AppliedSuiteID):
		return false, nil
	case r.AppliedSuiteID != nil:
		return false, errs.New(errs.Conflict, "The suggestion is a case of another suite already: clear its review first")
	}
	return true, nil
}

// Inherit takes over from a draft what a reviewer who accepts it for a suite did not say again.
func (r *SuggestionReview) Inherit(draft *SuggestionReview) {
	r.ID, r.ReviewedByID, r.ReviewedAt = draft.ID, draft.ReviewedByID, draft.ReviewedAt
	r.Rationale, r.ObservedCount, r.Confidence = cmp.Or(r.Rationale, draft.Rationale), cmp.Or(r.ObservedCount, draft.ObservedCount), cmp.Or(r.Confidence, draft.Confidence)
	r.LastObservedAt, r.InvocationType = cmp.Or(r.LastObservedAt, draft.LastObservedAt), cmp.Or(r.InvocationType, draft.InvocationType)
}

// Case is the case that comes of the suggestion. It remembers where it is from, so that the same suggestion makes no second one.
func (r *SuggestionReview) Case(id string) json.RawMessage {
	c := struct {
		ID             string  `json:"id"`
		CaseKind       string  `json:"case_kind"`
		Query          string  `json:"query"`
		Expectation    string  `json:"expectation"`
		InvocationType *string `json:"invocation_type,omitempty"`
		SuggestionID   ids.ID  `json:"suggestion_id"`
	}{ID: id, CaseKind: CaseKindTriggerQuery.Wire(), Query: r.Query, Expectation: ExpectationShouldNotTrigger.Wire(), SuggestionID: r.SuggestionID}
	if r.ShouldTrigger {
		c.Expectation, c.InvocationType = ExpectationShouldTrigger.Wire(), r.InvocationType
	}
	raw, _ := plainJSON(c) // strings and ids only
	return raw
}

// HasSuggestion reports whether one of the cases came of the suggestion.
func HasSuggestion(cases JSON, suggestion ids.ID) (bool, error) {
	var items []struct {
		SuggestionID any `json:"suggestion_id"`
	}
	if err := json.Unmarshal(cases, &items); err != nil {
		return false, err
	}
	for _, c := range items {
		if s, ok := c.SuggestionID.(string); ok && strings.EqualFold(s, suggestion.String()) {
			return true, nil
		}
	}
	return false, nil
}

// TakeCase is the suite's settings and cases with one case more, for a suggestion of a source, or why it cannot take it.
func (s *EvalSuite) TakeCase(source ids.ID, cases JSON, c json.RawMessage) (SuiteSettings, JSON, error) {
	next := s.SuiteSettings
	switch {
	case s.SourceID == nil || *s.SourceID != source:
		return next, nil, errs.New(errs.Invalid, "must be a suite of the same cloud source")
	case s.VerifierKind != VerifierKindLLMJudge:
		return next, nil, errs.New(errs.Invalid, "must be a suite with verifier_kind llm_judge, not %s", s.VerifierKind.Wire())
	case s.ArchivedAt != nil:
		return next, nil, errs.New(errs.Conflict, "The suite is archived: restore it before changing it")
	case s.CaseCount >= maxCases:
		return next, nil, errs.New(errs.Conflict, "The suite has %d cases, and no room for another", s.CaseCount)
	}
	if next.CaseCount++; next.SuiteKind != SuiteKindTriggerQuery {
		next.SuiteKind = SuiteKindMixed
	}
	trimmed := strings.TrimSuffix(strings.TrimSpace(string(cases)), "]")
	return next, JSON(trimmed + "," + string(c) + "]"), nil
}
