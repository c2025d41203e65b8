package models

import (
	"math"
	"time"

	"github.com/uptrace/bun"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// Skill is a skill that telemetry, the registry or a source has named.
type Skill struct {
	bun.BaseModel `bun:"table:skills,alias:t"`

	OrgID          ids.ID      `bun:"org_id,pk"`
	ID             ids.ID      `bun:"id,pk"`
	Name           string      `bun:"name"`
	FirstSeenAt    *time.Time  `bun:"first_seen_at"`
	LastSeenAt     *time.Time  `bun:"last_seen_at"`
	UniqueSessions int         `bun:"unique_sessions"`
	GradedSessions int         `bun:"graded_sessions"`
	RecentGraded   int         `bun:"recent_graded"`
	PassRate       *float64    `bun:"pass_rate"`
	Baseline       *float64    `bun:"baseline"` // the pass rate when the current version was published
	Status         SkillStatus `bun:"status"`
	CreatedAt      time.Time   `bun:"created_at"`
}

// HasEvidence reports whether a session was ever graded for the skill.
func (s *Skill) HasEvidence() bool { return s.GradedSessions > 0 }

const (
	minGraded    = 3
	criticalRate = 0.4
	warningRate  = 0.7
	// baselineDrop is how far the pass rate may fall below what it was when the current version was published.
	baselineDrop = 0.10
)

// CurrentRate is the pass rate where enough was graded to judge by it.
func (s *Skill) CurrentRate() *float64 {
	if s.RecentGraded < minGraded {
		return nil
	}
	return s.PassRate
}

// StatusOf judges a skill by the pass rate over its recent graded sessions; baseline is nil without a published version.
func StatusOf(passRate *float64, graded int, baseline *float64) SkillStatus {
	switch {
	case passRate == nil || graded < minGraded:
		return SkillStatusUnknown
	case *passRate < criticalRate, baseline != nil && fell(*baseline, *passRate) > baselineDrop*Billionths:
		return SkillStatusCritical
	case *passRate < warningRate:
		return SkillStatusWarning
	}
	return SkillStatusHealthy
}

// fell is by how many billionths: 0.51 to 0.41 is 0.1, which floating point makes a little more.
func fell(from, to float64) float64 { return math.Round((from - to) * Billionths) }

// Sums are what rollups add up: integers, so that every order gives the same.
type Sums struct {
	Sessions          int `bun:"sessions"`
	TriggeredSessions int `bun:"triggered_sessions"`
	Triggers          int `bun:"triggers"`
	Scored            int `bun:"scored"`     // triggers with a confidence
	Confidence        int `bun:"confidence"` // their sum, in billionths
	Graded            int `bun:"graded"`
	Passed            int `bun:"passed"`
	Rate              int `bun:"rate"` // sum of the rates of graded sessions, in billionths
}

// Add adds other n times; n is 1 or -1.
func (s *Sums) Add(other Sums, n int) {
	s.Sessions += n * other.Sessions
	s.TriggeredSessions += n * other.TriggeredSessions
	s.Triggers += n * other.Triggers
	s.Scored += n * other.Scored
	s.Confidence += n * other.Confidence
	s.Graded += n * other.Graded
	s.Passed += n * other.Passed
	s.Rate += n * other.Rate
}

// Billionths are the unit of sums of fractions.
const Billionths = 1e9

// TriggerRate is the share of sessions in which the skill fired; nil when it was not seen.
func (s *Sums) TriggerRate() *float64 { return share(s.TriggeredSessions, s.Sessions) }

// ConfidenceCoverage is the share of triggers that carried a score.
func (s *Sums) ConfidenceCoverage() *float64 { return share(s.Scored, s.Triggers) }

// AvgConfidence is the mean score of triggers that carried one.
func (s *Sums) AvgConfidence() *float64 { return mean(s.Confidence, s.Scored) }

// PassRate is the mean rate of graded sessions.
func (s *Sums) PassRate() *float64 { return mean(s.Rate, s.Graded) }

func share(part, whole int) *float64 {
	if whole == 0 {
		return nil
	}
	v := float64(part) / float64(whole)
	return &v
}

// mean is one quotient of whole numbers, so that three times 0.7 is 0.7.
func mean(sum, n int) *float64 {
	if n == 0 {
		return nil
	}
	v := float64(sum) / (Billionths * float64(n))
	return &v
}

// The rates of one version, platform or model, with their counts.

// Value is null where telemetry did not say.
func (b *SkillBreakdown) Value() *string {
	if b.Label == "" {
		return nil
	}
	return &b.Label
}

// TriggerRate is the share of sessions in which the skill fired.
func (b *SkillBreakdown) TriggerRate() *Rate { return NewRate(b.Sums.TriggerRate(), b.Sessions) }

// PassRate is the mean rate of graded sessions.
func (b *SkillBreakdown) PassRate() *Rate { return NewRate(b.Sums.PassRate(), b.Graded) }

// AvgConfidence is the mean score of triggers that carried one.
func (b *SkillBreakdown) AvgConfidence() *Rate { return NewRate(b.Sums.AvgConfidence(), b.Scored) }

// SkillRates are the rates of a skill: of the last 30 days and, for the pass rate, of its last graded sessions.
type SkillRates struct {
	SkillID        ids.ID `bun:"skill_id"`
	Sums           `bun:",inline"`
	RecentPassRate *float64 `bun:"pass_rate"`
	RecentGraded   int      `bun:"recent_graded"`
}

// TriggerRate is the share of sessions in which the skill fired.
func (r *SkillRates) TriggerRate() *Rate { return NewRate(r.Sums.TriggerRate(), r.Sessions) }

// ConfidenceCoverage is the share of triggers that carried a score.
func (r *SkillRates) ConfidenceCoverage() *Rate {
	return NewRate(r.Sums.ConfidenceCoverage(), r.Triggers)
}

// AvgConfidence is the mean score of triggers that carried one.
func (r *SkillRates) AvgConfidence() *Rate { return NewRate(r.Sums.AvgConfidence(), r.Scored) }

// PassRate is the mean rate of the last graded sessions.
func (r *SkillRates) PassRate() *Rate { return NewRate(r.RecentPassRate, r.RecentGraded) }

// NewRate puts a share beside the number it was counted from and its Wilson interval at 95%: 2 of 3 is not 67%.
func NewRate(value *float64, n int) *Rate {
	if value == nil || n == 0 {
		return nil
	}
	const z = 1.959963984540054
	p, size := *value, float64(n)
	middle := (p + z*z/(2*size)) / (1 + z*z/size)
	half := z / (1 + z*z/size) * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	return &Rate{Value: p, Count: int(n), Low: max(0, middle-half), High: min(1, middle+half)}
}

// DailyStat is one day of a skill.
type DailyStat struct {
	SkillID ids.ID `bun:"skill_id"`
	Date    Date   `bun:"day"`
	Sums
}

// SkillBreakdown is a skill seen by one version, platform or model.
type SkillBreakdown struct {
	SkillID ids.ID `bun:"skill_id"`
	Label   string `bun:"value"`
	Sums
}

// SkillConfusion is another skill that fired where this one was seen and did not.
type SkillConfusion struct {
	SkillID  ids.ID `bun:"skill_id"`
	OtherID  ids.ID `bun:"other_id"`
	Sessions int    `bun:"sessions"`
}

// SkillKey names a skill: by its id, by its name, or by a word that may be either.
type SkillKey struct {
	ID   ids.ID
	Name string
}

// NewSkillKey checks that exactly one way of naming is used.
func NewSkillKey(id *ids.ID, name, idOrName *string) (SkillKey, error) {
	given := 0
	for _, set := range []bool{id != nil, name != nil, idOrName != nil} {
		if set {
			given++
		}
	}
	switch {
	case given != 1:
		return SkillKey{}, errs.At("id").Because("name the skill by one of id, name and idOrName")
	case id != nil:
		return SkillKey{ID: *id}, nil
	case name != nil:
		return SkillKey{Name: *name}, nil
	}
	key := SkillKey{Name: *idOrName}
	if id, err := ids.Parse(*idOrName); err == nil {
		key.ID = id
	}
	return key, nil
}

// DayRange is a stretch of days, both ends included; a zero end is filled in. It is comparable.
type DayRange struct{ Since, Until Date }

const (
	defaultDays = 90
	maxDays     = 400
)

// Bounds fills in the last 90 days and refuses a stretch that is too long.
func (r DayRange) Bounds(today time.Time) (since, until time.Time, err error) {
	since, until = time.Time(r.Since), time.Time(r.Until)
	if until.IsZero() {
		until = today
	}
	if since.IsZero() {
		since = until.AddDate(0, 0, 1-defaultDays)
	}
	if until.Before(since) || until.After(since.AddDate(0, 0, maxDays)) {
		return since, until, errs.At("until").Because("must be at most %d days after since", maxDays)
	}
	return since, until, nil
}

// Validate bounds the filter.
func (f SkillFilter) Validate() error {
	if name := f.NameContains.Value(); name != nil {
		return checkText(errs.At("filter", "nameContains"), *name, 1, 200)
	}
	return nil
}
