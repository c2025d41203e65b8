package models

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// EvalSuggestion is a query that something went wrong with.
type EvalSuggestion struct {
	bun.BaseModel `bun:"table:eval_suggestions,alias:t"`

	OrgID            ids.ID `bun:"org_id,pk"`
	ID               ids.ID `bun:"id,pk"`
	SourceID         ids.ID `bun:"source_id"`
	Query            string `bun:"query"`
	ShouldTrigger    bool   `bun:"should_trigger"`
	SuggestionCounts `bun:",inline"`
	ObservedCount    int        `bun:"observed_count"`
	Confidence       float64    `bun:"confidence"`
	Provenance       Provenance `bun:"provenance"`
	LastObservedAt   *time.Time `bun:"last_observed_at"`
	InvocationType   *string    `bun:"invocation_type"`
	CreatedAt        time.Time  `bun:"created_at"`
}

// SuggestionCounts are how often a query went wrong, by what went wrong, and how often it went well.
type SuggestionCounts struct {
	Missed         int `bun:"missed"`
	Failed         int `bun:"failed"`
	RunFailures    int `bun:"run_failures"`
	RunRegressions int `bun:"run_regressions"`
	Good           int `bun:"good"`
}

// Source is where most of the evidence was found.
func (s *EvalSuggestion) Source() EvidenceSource { return s.Provenance.source() }

// HandledCount is how often the query went well.
func (s *EvalSuggestion) HandledCount() int { return s.Good }

func (e Provenance) source() EvidenceSource {
	if e == ProvenanceRunFailure || e == ProvenanceRunRegression {
		return EvidenceSourceHostedRun
	}
	return EvidenceSourceLinkedTelemetry
}

// Rationale says in a sentence why the query is suggested.
func (s *EvalSuggestion) Rationale() string {
	total, parts := s.ObservedCount+s.Good, []string{}
	for _, p := range []struct {
		n    int
		what string
	}{
		{s.Missed, "the skill did not fire"},
		{s.Failed, "the session was graded as failed"},
		{s.RunRegressions, "an eval run failed that had passed before"},
		{s.RunFailures, "an eval run failed"},
		{s.Good, "all went well"},
	} {
		switch {
		case p.n == total:
			parts = []string{p.what}
		case p.n > 0:
			parts = append(parts, times(p.n)+" "+p.what)
		}
	}
	if total == 0 {
		return "What spoke for it is gone."
	}
	list := parts[0]
	if last := len(parts) - 1; last > 0 {
		list = strings.Join(parts[:last], ", ") + " and " + parts[last]
	}
	return "Observed " + times(total) + ": " + list + "."
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return strconv.Itoa(n) + " times"
}

// ProvenanceGood marks evidence that speaks against a suggestion. It is never shown.
const ProvenanceGood Provenance = "GOOD"

// Where evidence comes from.
const (
	OriginPrompt = "PROMPT"
	OriginSignal = "SIGNAL"
	OriginResult = "RESULT"
)

// SuggestionEvidence is one time that a query went well or wrong.
type SuggestionEvidence struct {
	ID             ids.ID     `bun:"id"`
	SuggestionID   ids.ID     `bun:"suggestion_id"`
	Kind           Provenance `bun:"kind"`
	Origin         string     `bun:"origin"`
	Ref            string     `bun:"ref"`
	SessionID      *string    `bun:"session_id"`
	RunID          *ids.ID    `bun:"run_id"`
	InvocationType *string    `bun:"invocation_type"`
	ObservedAt     time.Time  `bun:"observed_at"`
}

// Provenance is what went wrong.
func (e *SuggestionEvidence) Provenance() Provenance { return e.Kind }

// SessionKey is the client's id of the session.
func (e *SuggestionEvidence) SessionKey() *string { return e.SessionID }

// PromptKey is the client's id of the prompt.
func (e *SuggestionEvidence) PromptKey() *string { return e.ref(OriginPrompt) }

// SignalKey is the client's id of the improvement signal.
func (e *SuggestionEvidence) SignalKey() *string { return e.ref(OriginSignal) }

func (e *SuggestionEvidence) ref(origin string) *string {
	if e.Origin != origin {
		return nil
	}
	return &e.Ref
}

// MaxQuery is how long a query may be, in characters: more is no query but a document.
const MaxQuery = 8000

// Observation is evidence before it is known which suggestion it belongs to.
type Observation struct {
	SuggestionEvidence
	SourceID      ids.ID `bun:"source_id"`
	Text          string `bun:"text"`
	ShouldTrigger bool   `bun:"should_trigger"`
	folded        string
}

// Bands are what the query has in common with similar ones.
func (o *Observation) Bands() []int32 { return similarityBands(o.SourceID, o.folded) }

// place finds the suggestion that an observation belongs to; none for what is no query.
func (o *Observation) place() bool {
	if o.folded = FoldQuery(o.Text); o.folded == "" || utf8.RuneCountInString(o.Text) > MaxQuery {
		return false
	}
	o.SuggestionID = suggestionID(o.SourceID, o.folded, o.ShouldTrigger)
	o.ID = ids.Derive(ids.Unknown, slices.Concat(o.SourceID[:], []byte(o.Origin), []byte(o.Ref)))
	return true
}

// EvidenceChange is the difference that some sessions or runs make.
type EvidenceChange struct {
	Drop    []ids.ID                     // evidence that is gone, or has changed
	Put     []*Observation               // evidence that is new, or as it is now
	Counts  map[ids.ID]*SuggestionCounts // by suggestion
	Queries map[ids.ID]*Observation      // one of each suggestion that has something new
	Touched map[ids.ID]bool              // suggestions whose text may be another one
}

// CompareEvidence compares what sessions or runs said before with what they say now.
func CompareEvidence(before []*SuggestionEvidence, now []*Observation) *EvidenceChange {
	c := &EvidenceChange{Counts: map[ids.ID]*SuggestionCounts{}, Queries: map[ids.ID]*Observation{}, Touched: map[ids.ID]bool{}}
	old := make(map[ids.ID]*SuggestionEvidence, len(before))
	for _, e := range before {
		old[e.ID] = e
	}
	for _, o := range now {
		if !o.place() {
			continue
		}
		was, known := old[o.ID]
		delete(old, o.ID)
		c.Touched[o.SuggestionID] = true // the same question may be spelled otherwise now
		if known && was.SuggestionID == o.SuggestionID && was.Kind == o.Kind && was.ObservedAt.Equal(o.ObservedAt) && equalPtr(was.InvocationType, o.InvocationType) {
			continue
		}
		if known {
			c.drop(was)
		}
		c.Put, c.Queries[o.SuggestionID] = append(c.Put, o), o
		c.count(&o.SuggestionEvidence, 1)
	}
	for _, e := range old {
		c.drop(e)
	}
	return c
}

func (c *EvidenceChange) drop(e *SuggestionEvidence) {
	c.Drop = append(c.Drop, e.ID)
	c.count(e, -1)
}

func (c *EvidenceChange) count(e *SuggestionEvidence, n int) {
	c.Touched[e.SuggestionID] = true
	s, ok := c.Counts[e.SuggestionID]
	if !ok {
		s = &SuggestionCounts{}
		c.Counts[e.SuggestionID] = s
	}
	switch e.Kind {
	case ProvenanceMissedQuery:
		s.Missed += n
	case ProvenanceFailedEvaluation:
		s.Failed += n
	case ProvenanceRunFailure:
		s.RunFailures += n
	case ProvenanceRunRegression:
		s.RunRegressions += n
	default:
		s.Good += n
	}
}

// SuggestionList is which suggestions to list, in which order. It is comparable.
type SuggestionList struct {
	Window
	Order         SuggestionOrder
	Status        SuggestionStatus // "": all
	Source        EvidenceSource   // "": all
	Provenance    Provenance       // "": all
	ShouldTrigger string           // "": all; else true or false
	MinObserved   int
	Contains      string
}

// NewSuggestionList checks what a caller asks for.
func NewSuggestionList(args PageArgs, f SuggestionFilter, by SuggestionOrder) (SuggestionList, error) {
	w, err := args.Window()
	l := SuggestionList{Window: w, Order: by}
	if err != nil {
		return l, err
	}
	if v := f.Status.Value(); v != nil {
		l.Status = *v
	}
	if v := f.Source.Value(); v != nil {
		l.Source = *v
	}
	if v := f.Provenance.Value(); v != nil {
		l.Provenance = *v
	}
	if v := f.ShouldTrigger.Value(); v != nil {
		l.ShouldTrigger = strconv.FormatBool(*v)
	}
	if v := f.MinObserved.Value(); v != nil {
		l.MinObserved = *v
	}
	if v := f.QueryContains.Value(); v != nil {
		l.Contains = *v
		return l, checkText(errs.At("filter", "queryContains"), *v, 1, 200)
	}
	return l, nil
}

// minSimilarity is from when on queries are similar.
const minSimilarity = 0.3

// SimilarSuggestion is a suggestion with a similar query.
type SimilarSuggestion struct {
	Similarity   float64
	SuggestionID ids.ID
}

// MostSimilar ranks candidates by how similar their queries are, and leaves out those that are not.
func MostSimilar(query string, candidates []*EvalSuggestion, first int) []*SimilarSuggestion {
	var out []*SimilarSuggestion
	of := trigrams(FoldQuery(query))
	for _, c := range candidates {
		if s := similarity(of, trigrams(FoldQuery(c.Query))); s >= minSimilarity {
			out = append(out, &SimilarSuggestion{Similarity: s, SuggestionID: c.ID})
		}
	}
	slices.SortFunc(out, func(a, b *SimilarSuggestion) int {
		if a.Similarity != b.Similarity {
			if a.Similarity > b.Similarity {
				return -1
			}
			return 1
		}
		return slices.Compare(a.SuggestionID[:], b.SuggestionID[:])
	})
	return out[:min(first, len(out))]
}
