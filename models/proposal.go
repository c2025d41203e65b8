package models

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/ids"
)

// Proposal is a change of a skill that signals speak for.
type Proposal struct {
	bun.BaseModel `bun:"table:proposals,alias:t"`

	OrgID        ids.ID         `bun:"org_id,pk"`
	ID           ids.ID         `bun:"id,pk"`
	SkillName    string         `bun:"skill_name"`
	SkillID      *ids.ID        `bun:"skill_id,scanonly"` // nil: only signals name the skill
	ProposalType ProposalType   `bun:"proposal_type"`
	Status       ProposalStatus `bun:"status"`
	Confidence   float64        `bun:"confidence"`
	Reason       string         `bun:"reason"`
	EvidenceJSON JSON           `bun:"evidence"`
	CreatedAt    time.Time      `bun:"created_at"`
	UpdatedAt    time.Time      `bun:"updated_at"`
	DecidedByID  *ids.ID        `bun:"decided_by"`
	DecidedAt    *time.Time     `bun:"decided_at"`
	AppliedByID  *ids.ID        `bun:"applied_by"`
	AppliedAt    *time.Time     `bun:"applied_at"`
	VersionID    *ids.ID        `bun:"version_id"`
}

// ProposalEvidence is what a proposal is drawn from.
type ProposalEvidence struct {
	TotalSignals   int             `json:"total_signals"`
	TriggeredCount int             `json:"triggered_count"`
	MissedCount    int             `json:"missed_count"`
	Rate           *Rate           `json:"rate"`
	Weeks          []*EvidenceWeek `json:"weeks"`
}

// EvidenceWeek is a week that a proposal is drawn from.
type EvidenceWeek struct {
	Monday         time.Time `json:"week"`
	TotalSignals   int       `json:"total_signals"`
	TriggeredCount int       `json:"triggered_count"`
	MissedCount    int       `json:"missed_count"`
}

// Week is the day on which it begins.
func (w *EvidenceWeek) Week() Date { return Date(w.Monday) }

// Evidence is what was written down.
func (p *Proposal) Evidence() (*ProposalEvidence, error) {
	out := &ProposalEvidence{}
	return out, json.Unmarshal(p.EvidenceJSON, out)
}

const (
	// missedLimit is the share of misses beyond which a skill's words are to blame.
	missedLimit   = 0.2
	evidenceWeeks = 8
)

// tooManyMisses reports whether the share of misses is above the limit beyond doubt.
func tooManyMisses(missed *Rate) bool { return missed != nil && missed.Low > missedLimit }

// Propose draws proposals from what can be shown of a skill's signals. Their ids stay the same while the evidence grows.
func (d *SignalDetail) Propose(org ids.ID) []*Proposal {
	var out []*Proposal
	if missed := d.MissedShare(); tooManyMisses(missed) {
		out = append(out, d.proposal(org, ProposalTypeWordingChange, "", sure(missed.Value-missedLimit, missedLimit, missed.Count),
			fmt.Sprintf("%d of %d signals tell that the skill should have fired and did not: %s of all at least. Say in other words what it is for.",
				*d.MissedCount, *d.TotalSignals, percent(missed.Low)),
			&d.SignalFigure, missed, d.shownWeeks()))
	}
	weeks := d.shownWeeks()
	if len(weeks) < 2 {
		return out
	}
	before, last := weeks[len(weeks)-2], weeks[len(weeks)-1]
	was, is := NewRate(before.TriggerRate, *before.TotalSignals), NewRate(last.TriggerRate, *last.TotalSignals)
	if was == nil || is == nil || is.Value >= was.Low {
		return out
	}
	both := float64(*before.TriggeredCount+*last.TriggeredCount) / float64(was.Count+is.Count)
	confidence := normal((was.Value - is.Value) / math.Sqrt(both*(1-both)*(1/float64(was.Count)+1/float64(is.Count))))
	return append(out, d.proposal(org, ProposalTypeInvestigateRegression, last.Label, confidence,
		fmt.Sprintf("The skill fired in %s of the signals of the week of %s, and in %s of those of the week of %s. Find out what changed.",
			percent(is.Value), last.Label, percent(was.Value), before.Label),
		&last.SignalFigure, is, weeks[len(weeks)-2:]))
}

// shownWeeks are the last weeks whose figures can be shown.
func (d *SignalDetail) shownWeeks() (out []*SignalWeek) {
	for _, w := range d.ByWeek {
		if w.TotalSignals != nil {
			out = append(out, w)
		}
	}
	return out[max(0, len(out)-evidenceWeeks):]
}

// proposal is one of its kind for a skill or, with a label, for a week of it.
func (d *SignalDetail) proposal(org ids.ID, kind ProposalType, label string, confidence float64, reason string, from *SignalFigure, rate *Rate, weeks []*SignalWeek) *Proposal {
	e := ProposalEvidence{
		TotalSignals: *from.TotalSignals, TriggeredCount: *from.TriggeredCount, MissedCount: *from.MissedCount, Rate: rate, Weeks: []*EvidenceWeek{},
	}
	for _, w := range weeks {
		e.Weeks = append(e.Weeks, &EvidenceWeek{Monday: w.Week().Time(), TotalSignals: *w.TotalSignals, TriggeredCount: *w.TriggeredCount, MissedCount: *w.MissedCount})
	}
	raw, _ := json.Marshal(e) // plain values
	return &Proposal{
		ID:        ids.Derive(ids.Proposal, []byte(org.String()+"\x00"+d.SkillName+"\x00"+string(kind)+"\x00"+label)),
		SkillName: d.SkillName, ProposalType: kind, Confidence: confidence, Reason: reason, EvidenceJSON: raw,
	}
}

// sure is how likely a share of n that is so much above p is more than chance.
func sure(above, p float64, n int) float64 { return normal(above / math.Sqrt(p*(1-p)/float64(n))) }

// normal is the distribution function of the standard normal distribution.
func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

func percent(v float64) string { return fmt.Sprintf("%.0f%%", 100*v) }
