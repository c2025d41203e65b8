package models

import "encoding/json"

// List is which part of a list to read, filtered how and in which order. It is comparable whatever the filter holds, so that parents that ask for
// the same share a batch.
type List[F any, O ~string] struct {
	Window
	Order  O
	filter string // as JSON; empty: everything
}

// NoOrder is the order of lists that have but one.
type NoOrder string

// The lists that take a filter.
type (
	AlertList    = List[AlertFilter, NoOrder]
	AttemptList  = List[AttemptFilter, NoOrder]
	EntryList    = List[EntryFilter, EntryOrder]
	EventList    = List[EventFilter, NoOrder]
	IncidentList = List[IncidentFilter, NoOrder]
	ProposalList = List[ProposalFilter, NoOrder]
	ReviewList   = List[ReviewFilter, NoOrder]
	RunList      = List[RunFilter, NoOrder]
	SkillList    = List[SkillFilter, SkillOrder]
	SourceList   = List[SourceFilter, NoOrder]
	SuiteList    = List[SuiteFilter, SuiteOrder]
)

// NewList checks what a caller asks for; a filter that has a rule is held against it.
func NewList[F any, O ~string](args PageArgs, f *F, by O) (List[F, O], error) {
	w, err := args.Window()
	l := List[F, O]{Window: w, Order: by}
	if err != nil || f == nil {
		return l, err
	}
	if rule, ok := any(*f).(interface{ Validate() error }); ok {
		if err := rule.Validate(); err != nil {
			return l, err
		}
	}
	raw, err := json.Marshal(f)
	l.filter = string(raw)
	return l, err
}

// Filter is what the list was made with.
func (l List[F, O]) Filter() (f F) {
	if l.filter != "" {
		_ = json.Unmarshal([]byte(l.filter), &f) // we wrote it
	}
	return f
}
