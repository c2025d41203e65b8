package models

import (
	"crypto/sha256"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// EvalRun is what a runner said about the cases of one revision of a suite.
type EvalRun struct {
	bun.BaseModel `bun:"table:eval_runs,alias:t"`

	OrgID         ids.ID     `bun:"org_id,pk"`
	ID            ids.ID     `bun:"id,pk"`
	SuiteID       ids.ID     `bun:"suite_id"`
	Revision      int        `bun:"revision"`
	VersionID     *ids.ID    `bun:"version_id"`
	SnapshotID    *ids.ID    `bun:"snapshot_id"`
	Variant       RunVariant `bun:"variant"`
	RunKey        string     `bun:"run_key"`
	BodyHash      []byte     `bun:"body_hash"`
	Status        RunStatus  `bun:"status"`
	InvalidReason *string    `bun:"invalid_reason"`
	CaseCount     int        `bun:"case_count"`
	Passed        int        `bun:"passed"`
	Failed        int        `bun:"failed"`
	Errored       int        `bun:"errored"`
	Skipped       int        `bun:"skipped"`
	StartedAt     *time.Time `bun:"started_at"`
	FinishedAt    *time.Time `bun:"finished_at"`
	CreatedByID   *ids.ID    `bun:"created_by"`
	CreatedAt     time.Time  `bun:"created_at"`
}

// PassRate is the share that passed, of those that passed or failed.
func (r *EvalRun) PassRate() *Rate {
	return NewRate(share(r.Passed, r.Passed+r.Failed), r.Passed+r.Failed)
}

// RanAt is when the run was over, as far as it is known.
func (r *EvalRun) RanAt() time.Time {
	switch {
	case r.FinishedAt != nil:
		return *r.FinishedAt
	case r.StartedAt != nil:
		return *r.StartedAt
	}
	return r.CreatedAt
}

// EvalResult is what became of a case in a run.
type EvalResult struct {
	bun.BaseModel `bun:"table:eval_results,alias:t"`

	OrgID           ids.ID      `bun:"org_id,pk"`
	ID              ids.ID      `bun:"id,pk"`
	RunID           ids.ID      `bun:"run_id"`
	CaseKey         string      `bun:"case_id" edge:"key"`
	Position        int         `bun:"position"`
	Outcome         CaseOutcome `bun:"outcome"`
	ReportedOutcome CaseOutcome `bun:"reported"`
	JudgedBy        Judge       `bun:"judged_by"`
	Judgement       *string     `bun:"judgement"`
	Score           *float64    `bun:"score"`
	OutputExcerpt   *string     `bun:"output"`
	OutputBytes     *int        `bun:"output_bytes"`
	Error           *string     `bun:"error"`
	DurationMs      *int64      `bun:"duration_ms"`

	output *string // all of it, to be judged
}

// Disagrees reports whether the server decided otherwise than the runner said.
func (r *EvalResult) Disagrees() bool { return r.Outcome != r.ReportedOutcome }

const (
	maxRunKey  = 200
	maxOutput  = 256 << 10 // that is judged
	maxExcerpt = 4 << 10   // that is kept
)

// Run is the run that the input describes, but for what its suite has to say.
func (in RecordRunInput) Run() (*EvalRun, []*EvalResult, error) {
	r := &EvalRun{
		SuiteID: in.SuiteID, VersionID: in.VersionID.Value(), SnapshotID: in.SnapshotID.Value(), Variant: in.Variant,
		RunKey: in.RunKey, StartedAt: in.StartedAt.Value(), FinishedAt: in.FinishedAt.Value(),
	}
	if err := checkText(errs.At("runKey"), r.RunKey, 1, maxRunKey); err != nil {
		return nil, nil, err
	}
	switch {
	case r.VersionID != nil && r.SnapshotID != nil:
		return nil, nil, errs.At("snapshotId").Because("name a version or a snapshot, not both")
	case r.StartedAt != nil && r.FinishedAt != nil && r.FinishedAt.Before(*r.StartedAt):
		return nil, nil, errs.At("finishedAt").Because("must not be before started_at")
	}
	if v := in.Revision.Value(); v != nil {
		if r.Revision = *v; r.Revision < 1 {
			return nil, nil, errs.At("revision").Because("must be at least 1")
		}
	}
	results, err := readResults(in.Results)
	if err != nil {
		return nil, nil, err
	}
	r.BodyHash = hashRun(r, results)
	return r, results, nil
}

// hashRun is the same for the same run, whatever the order and spacing of its JSON.
func hashRun(r *EvalRun, results []*EvalResult) []byte {
	h := sha256.New()
	enc := json.NewEncoder(h)
	_ = enc.Encode([]any{r.SuiteID, r.Revision, r.VersionID, r.SnapshotID, r.Variant, r.StartedAt, r.FinishedAt})
	for _, x := range results {
		_ = enc.Encode([]any{x.CaseKey, x.ReportedOutcome, x.Score, x.output, x.Error, x.DurationMs})
	}
	return h.Sum(nil)
}

func readResults(raw JSON) ([]*EvalResult, error) {
	at := errs.At("results")
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil || items == nil {
		return nil, at.Because("must be a list of results")
	}
	if len(items) < 1 || len(items) > maxCases {
		return nil, at.Because("must have between 1 and %d results", maxCases)
	}
	out, seen := make([]*EvalResult, len(items)), map[string]bool{}
	for i, item := range items {
		f := readFields(at.At(i), item)
		r := f.result()
		if f.err == nil && seen[r.CaseKey] {
			f.refuse("case_id", "has a result already")
		}
		if f.err != nil {
			return nil, f.err
		}
		seen[r.CaseKey], out[i] = true, r
	}
	return out, nil
}

func (f *fields) result() *EvalResult {
	r := &EvalResult{
		CaseKey: f.text("case_id"), ReportedOutcome: fieldEnum(f, "outcome", wireCaseOutcome), JudgedBy: JudgeRunner,
		Score: f.fraction("score"), output: f.optional("output"), Error: f.optional("error"),
	}
	r.Outcome = r.ReportedOutcome
	if f.has("duration_ms") {
		ms := read[int64](f, "duration_ms", "a whole number of milliseconds")
		if ms < 0 {
			f.refuse("duration_ms", "must not be negative")
		}
		r.DurationMs = &ms
	}
	if r.output != nil {
		if len(*r.output) > maxOutput {
			f.refuse("output", "must be at most %d KiB long", maxOutput>>10)
		}
		r.OutputBytes, r.OutputExcerpt = new(len(*r.output)), excerpt(*r.output)
	}
	if r.Error != nil {
		r.Error = excerpt(*r.Error)
	}
	return r
}

// excerpt is the beginning of a text, whole characters that PostgreSQL can store.
func excerpt(s string) *string {
	if len(s) > maxExcerpt {
		s = s[:maxExcerpt]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	clean(&s)
	return &s
}

// Settle holds results against the cases of the revision that was run: it puts them into the suite's order, judges what it can, and says what the run
// amounts to.
func (r *EvalRun) Settle(suite *EvalSuite, rev *SuiteRevision, cases []EvalCase, results []*EvalResult) error {
	then := EvalSuite{SourceKind: suite.SourceKind, SuiteSettings: rev.SuiteSettings}
	if reason := then.NotRunnableReason(); reason != nil {
		return errs.At("suiteId").Because("cannot be run: %s", *reason)
	}
	if r.Variant == RunVariantNoSkill && !rev.SupportsNoSkill {
		return errs.At("variant").Because("no_skill needs a suite with supports_no_skill")
	}
	known := make(map[string]int, len(cases))
	for i, c := range cases {
		known[c.head().ID] = i
	}
	if len(results) > len(cases) {
		return errs.At("results").Because("must have at most %d results, one for each case of revision %d", len(cases), rev.Number)
	}
	work := judge{left: maxJudging}
	for i, x := range results {
		at, ok := known[x.CaseKey]
		if !ok {
			return errs.At("results", i, "case_id").Because("is no case of revision %d of the suite", rev.Number)
		}
		x.Position = at
		work.decide(cases[at], x)
	}
	slices.SortFunc(results, func(a, b *EvalResult) int { return a.Position - b.Position })
	r.CaseCount = len(cases)
	r.sum(results)
	return nil
}

// sum counts outcomes and says what they amount to.
func (r *EvalRun) sum(results []*EvalResult) {
	faults := map[string]bool{}
	for _, x := range results {
		switch x.Outcome {
		case CaseOutcomePassed:
			r.Passed++
		case CaseOutcomeFailed:
			r.Failed++
		case CaseOutcomeError:
			r.Errored++
			if x.Error == nil {
				faults[""] = true
			} else {
				faults[strings.TrimSpace(*x.Error)] = true
			}
		case CaseOutcomeSkipped:
			r.Skipped++
		}
	}
	ran, reason := len(results)-r.Skipped, ""
	switch {
	case ran == 0:
		reason = "Every case was skipped."
	case ran > 1 && r.Failed == ran && r.Variant == RunVariantSkill:
		reason = "Every case failed: the harness may be broken."
	case ran > 1 && r.Errored == ran && len(faults) == 1:
		reason = "Every case ended with the same error: the harness may be broken."
	}
	r.Status = RunStatusPassed
	switch {
	case reason != "":
		r.Status, r.InvalidReason = RunStatusInvalid, &reason
	case r.Failed+r.Errored > 0:
		r.Status = RunStatusFailed
	}
}

// Observe is what a run with the skill says about the queries of its cases. passedBefore are the cases that passed in the run before.
func (r *EvalRun) Observe(source ids.ID, cases []EvalCase, results []*EvalResult, passedBefore map[string]bool) (out []*Observation) {
	if r.Variant != RunVariantSkill || r.Status == RunStatusInvalid {
		return nil
	}
	for _, x := range results {
		c, ok := cases[x.Position].(*TriggerQueryCase)
		if !ok || x.Outcome != CaseOutcomePassed && x.Outcome != CaseOutcomeFailed {
			continue
		}
		o := &Observation{
			SuggestionEvidence: SuggestionEvidence{Kind: ProvenanceGood, Origin: OriginResult, Ref: x.ID.String(), RunID: &r.ID, ObservedAt: r.RanAt()},
			SourceID:           source, Text: c.Query, ShouldTrigger: c.Expectation == ExpectationShouldTrigger,
		}
		if o.ShouldTrigger {
			o.InvocationType = c.InvocationType
		}
		switch {
		case x.Outcome == CaseOutcomeFailed && passedBefore[x.CaseKey]:
			o.Kind = ProvenanceRunRegression
		case x.Outcome == CaseOutcomeFailed:
			o.Kind = ProvenanceRunFailure
		}
		out = append(out, o)
	}
	return out
}

// ResultList is which results to list. It is comparable.
type ResultList struct {
	Window
	Outcome   CaseOutcome // "": all
	Disagrees string      // "": all; else true or false
}

// IndexCases types cases and arranges them by id.
func IndexCases(raw JSON) (map[string]EvalCase, error) {
	cases, err := ReadCases(raw)
	out := make(map[string]EvalCase, len(cases))
	for _, c := range cases {
		out[c.head().ID] = c
	}
	return out, err
}

// RunComparison is what changed between two runs.
type RunComparison struct {
	Fixed, Broken            []*CaseChange
	PassedTwice, FailedTwice int
	NotCompared              int
	Caveat                   *string
	BaseID, HeadID           ids.ID
}

// CaseChange is a case that ended otherwise.
type CaseChange struct {
	CaseKey        string
	BaseID, HeadID ids.ID // of the results
}

// CompareRuns compares two runs of the same suite, case by case.
func CompareRuns(base, head *EvalRun, before, now []*EvalResult) (*RunComparison, error) {
	if base.SuiteID != head.SuiteID {
		return nil, errs.At("headId").Because("must be a run of the same suite")
	}
	c := &RunComparison{BaseID: base.ID, HeadID: head.ID, Caveat: caveat(base, head)}
	was := make(map[string]*EvalResult, len(before))
	for _, b := range before {
		was[b.CaseKey] = b
	}
	compared := 0
	for _, h := range now {
		b, ok := was[h.CaseKey]
		if !ok || !b.decided() || !h.decided() {
			continue
		}
		compared++
		change := &CaseChange{CaseKey: h.CaseKey, BaseID: b.ID, HeadID: h.ID}
		switch passed, passes := b.Outcome == CaseOutcomePassed, h.Outcome == CaseOutcomePassed; {
		case passed && passes:
			c.PassedTwice++
		case !passed && !passes:
			c.FailedTwice++
		case passes:
			c.Fixed = append(c.Fixed, change)
		default:
			c.Broken = append(c.Broken, change)
		}
	}
	all := len(was)
	for _, h := range now {
		if was[h.CaseKey] == nil {
			all++
		}
	}
	c.NotCompared = all - compared
	return c, nil
}

func (r *EvalResult) decided() bool {
	return r.Outcome == CaseOutcomePassed || r.Outcome == CaseOutcomeFailed
}

func caveat(base, head *EvalRun) *string {
	var text string
	switch {
	case base.Status == RunStatusInvalid:
		text = "The run to measure by is invalid: " + *base.InvalidReason
	case head.Status == RunStatusInvalid:
		text = "The measured run is invalid: " + *head.InvalidReason
	case base.Revision != head.Revision:
		text = "The suite has changed between the runs: cases with the same id may ask something else."
	default:
		return nil
	}
	return &text
}

// PValue is McNemar's exact test: how likely it is, if fixing and breaking were equally likely, that they differ so much or more.
func (c *RunComparison) PValue() float64 {
	return mcnemar(len(c.Fixed), len(c.Broken))
}

func mcnemar(fixed, broken int) float64 {
	n, sum := int64(fixed+broken), new(big.Int)
	for k := range int64(min(fixed, broken) + 1) {
		sum.Add(sum, new(big.Int).Binomial(n, k))
	}
	p, _ := new(big.Rat).SetFrac(sum.Lsh(sum, 1), new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64() //nolint:gosec // at most 500
	return min(1, p)
}
