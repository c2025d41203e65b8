package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// EvalSuite is a saved set of cases. The cases themselves, which may be large, are with its revisions.
type EvalSuite struct {
	bun.BaseModel `bun:"table:eval_suites,alias:t"`

	OrgID      ids.ID          `bun:"org_id,pk"`
	ID         ids.ID          `bun:"id,pk"`
	SourceID   *ids.ID         `bun:"source_id"`
	SourceKind SuiteSourceKind `bun:"source_kind"`
	SuiteSettings
	Revision    int        `bun:"revision"`
	CreatedByID *ids.ID    `bun:"created_by"`
	CreatedAt   time.Time  `bun:"created_at"`
	UpdatedAt   time.Time  `bun:"updated_at"`
	ArchivedAt  *time.Time `bun:"archived_at"`
}

// SuiteSettings is what a change of a suite may change: every revision keeps a copy.
type SuiteSettings struct {
	Name               string       `bun:"name"`
	VerifierKind       VerifierKind `bun:"verifier_kind"`
	SupportsNoSkill    bool         `bun:"supports_no_skill"`
	ResourceLimitsJSON JSON         `bun:"resource_limits"`
	CaseCount          int          `bun:"case_count"`
	SuiteKind          SuiteKind    `bun:"suite_kind"`
}

// SuiteRevision is what a suite was from one change to the next.
type SuiteRevision struct {
	bun.BaseModel `bun:"table:suite_revisions,alias:t"`

	OrgID   ids.ID `bun:"org_id,pk"`
	ID      ids.ID `bun:"id,pk"`
	SuiteID ids.ID `bun:"suite_id"`
	Number  int    `bun:"number"`
	SuiteSettings
	Changed     []SuiteField `bun:"changed,array"`
	CreatedByID *ids.ID      `bun:"created_by"`
	CreatedAt   time.Time    `bun:"created_at"`
}

const maxResourceLimits = 16 << 10

// Validate is the rule for everything but the cases.
func (s SuiteSettings) Validate() error {
	if err := checkText(errs.At("name"), s.Name, 1, 200); err != nil {
		return err
	}
	if s.ResourceLimitsJSON == nil {
		return nil
	}
	at := errs.At("resourceLimitsJson")
	if len(s.ResourceLimitsJSON) > maxResourceLimits {
		return at.Because("must be at most 16 KiB")
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(s.ResourceLimitsJSON, &object) != nil || object == nil {
		return at.Because("must be an object")
	}
	return nil
}

// NotRunnableReason says why no run can score against the suite; null when one can.
func (s *EvalSuite) NotRunnableReason() *string {
	reason := ""
	switch {
	case s.VerifierKind == VerifierKindStructuredRubric:
		reason = "structured_rubric suites cannot be run: use llm_judge or deterministic"
	case s.SourceKind == SuiteSourceKindImported && s.SuiteKind != SuiteKindTaskPackage:
		reason = "imported suites can be run only when every case is a task_package"
	case s.SourceKind == SuiteSourceKindContributorAggregate || s.SourceKind == SuiteSourceKindOrgExemplars:
		reason = s.SourceKind.Wire() + " suites cannot be run"
	default:
		return nil
	}
	return &reason
}

// Runnable reports whether a run can score against the suite.
func (s *EvalSuite) Runnable() bool { return s.NotRunnableReason() == nil }

// Validate bounds the filter.
func (f SuiteFilter) Validate() error {
	if name := f.NameContains.Value(); name != nil {
		return checkText(errs.At("filter", "nameContains"), *name, 1, 200)
	}
	return nil
}

// Suite makes the suite that the input describes, and its cases with their ids.
func (in CreateSuiteInput) Suite(newID func() string) (*EvalSuite, JSON, error) {
	s := &EvalSuite{
		SourceID: in.SourceID.Value(), SourceKind: in.SourceKind,
		SuiteSettings: SuiteSettings{Name: in.Name, VerifierKind: in.VerifierKind, ResourceLimitsJSON: in.ResourceLimitsJSON.Value().OrNil()},
	}
	if v := in.SupportsNoSkill.Value(); v != nil {
		s.SupportsNoSkill = *v
	}
	if err := s.Validate(); err != nil {
		return nil, nil, err
	}
	raw, err := s.take(in.CasesJSON, newID)
	return s, raw, err
}

// Apply makes the changed settings and cases, or names the field that may not change so.
func (in UpdateSuiteInput) Apply(s *EvalSuite, cases JSON, newID func() string) (SuiteSettings, JSON, error) {
	next := s.SuiteSettings
	if id, set := in.SourceID.ValueOK(); set && !equalPtr(id, s.SourceID) {
		return next, nil, errs.At("sourceId").Because("cannot be changed after creation")
	}
	if kind, set := in.SourceKind.ValueOK(); set && (kind == nil || *kind != s.SourceKind) {
		return next, nil, errs.At("sourceKind").Because("cannot be changed after creation")
	}
	if limits, set := in.ResourceLimitsJSON.ValueOK(); set {
		next.ResourceLimitsJSON = limits.OrNil()
	}
	if err := errors.Join(
		setOnly(errs.At("name"), in.Name, &next.Name),
		setOnly(errs.At("verifierKind"), in.VerifierKind, &next.VerifierKind),
		setOnly(errs.At("supportsNoSkill"), in.SupportsNoSkill, &next.SupportsNoSkill),
	); err != nil {
		return next, nil, err
	}
	if err := next.Validate(); err != nil {
		return next, nil, err
	}
	if raw, set := in.CasesJSON.ValueOK(); set {
		raw, err := next.take(raw, newID)
		return next, raw, err
	}
	if next.VerifierKind == s.VerifierKind {
		return next, cases, nil // they were checked when they were saved, by the rules of then
	}
	return next, cases, checkKinds(cases, next.VerifierKind)
}

// take checks cases for these settings, and remembers how many and of what kind they are.
func (s *SuiteSettings) take(raw JSON, newID func() string) (JSON, error) {
	cases, raw, err := ParseCases(raw, s.VerifierKind, newID)
	if err != nil {
		return nil, err
	}
	s.CaseCount, s.SuiteKind = len(cases), cases.Kind()
	return raw, nil
}

// Changes names the fields in which two states of a suite differ.
func (s SuiteSettings) Changes(next SuiteSettings, casesChanged bool) []SuiteField {
	changed := []SuiteField{}
	add := func(differs bool, field SuiteField) {
		if differs {
			changed = append(changed, field)
		}
	}
	add(s.Name != next.Name, SuiteFieldName)
	add(s.VerifierKind != next.VerifierKind, SuiteFieldVerifierKind)
	add(s.SupportsNoSkill != next.SupportsNoSkill, SuiteFieldSupportsNoSkill)
	add(!bytes.Equal(s.ResourceLimitsJSON, next.ResourceLimitsJSON), SuiteFieldResourceLimitsJSON)
	add(casesChanged, SuiteFieldCasesJSON)
	return changed
}

func equalPtr[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}
