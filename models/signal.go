package models

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
)

// Signal is what one use of a skill looked like to an opted-in contributor, as far as anybody is to know.
type Signal struct {
	SourceKey   string
	SkillName   *string
	SignalType  string
	UserCohort  *string
	Confidence  *float64
	Triggered   *bool // nil: it does not tell
	Missed      bool
	QueryBucket *string
	Hour        *time.Time // nil: the present

	Cohort []byte // the store's hash of UserCohort or of the sender
}

const (
	maxSignals    = 1000
	missedTrigger = "missed_trigger"
)

// Parse reads and checks signals: a list, an object with a list, or one alone. A bad one refuses them all, with its path.
func (in SubmitSignalsInput) Parse() ([]*Signal, error) {
	raw := bytes.TrimSpace(in.Signals)
	at, list := errs.At("signals"), json.RawMessage(raw)
	if bytes.HasPrefix(raw, []byte("{")) {
		f := readFields(nil, json.RawMessage(raw))
		switch {
		case bytes.HasPrefix(f.raw["signals"], []byte("[")):
			list = f.raw["signals"]
		case !f.has("source_key") && !f.has("signal_type"):
			return nil, at.Because("must be a list of 1 to %d signals, unless the body is one signal", maxSignals)
		default:
			s, err := readSignal(nil, json.RawMessage(raw))
			return []*Signal{s}, err
		}
	}
	var items []json.RawMessage
	if json.Unmarshal(list, &items) != nil || len(items) == 0 || len(items) > maxSignals {
		return nil, at.Because("must be a list of 1 to %d signals", maxSignals)
	}
	out := make([]*Signal, len(items))
	for i, item := range items {
		s, err := readSignal(at.At(i), item)
		if err != nil {
			return nil, err
		}
		out[i] = s
	}
	return out, nil
}

func readSignal(at errs.Path, raw json.RawMessage) (*Signal, error) {
	f := readFields(at, raw)
	if f.err != nil {
		return nil, f.err
	}
	if version := read[float64](f, "version", "1"); f.has("version") && version != 1 {
		f.refuse("version", "must be 1")
	}
	s := &Signal{SourceKey: f.word("source_key", maxRecordID), SignalType: f.word("signal_type", 64), Confidence: f.fraction("confidence")}
	s.SkillName, s.UserCohort = f.optionalWord("skill_name", 200), f.optionalWord("user_cohort", 200)
	if bucket := f.optional("timestamp_bucket"); bucket != nil {
		s.Hour = bucketHour(*bucket)
	}
	s.Missed = s.SignalType == missedTrigger
	if f.has("signals") {
		in := f.inner("signals")
		if in.has("triggered") {
			s.Triggered = new(in.flag("triggered", false))
		}
		s.Missed = in.flag("miss_detected", false) || s.Missed
		s.QueryBucket = in.optionalWord("query_bucket", 200)
		f.check(in.err)
	}
	return s, f.err
}

// word is a required text of one line.
func (f *fields) word(key string, maxLen int) string {
	s := f.anyText(key)
	f.check(checkText(f.at.At(key), s, 1, maxLen))
	return s
}

func (f *fields) optionalWord(key string, maxLen int) *string {
	if !f.has(key) {
		return nil
	}
	s := f.word(key, maxLen)
	return &s
}

// bucketLayouts are the precisions of a time in ISO 8601.
var bucketLayouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15Z07:00", "2006-01-02T15", "2006-01-02", "2006-01"}

var isoWeek = regexp.MustCompile(`^(\d{4})-?W(\d\d)$`)

// bucketHour reads a bucket of time, whichever way a client cuts them; nil where it is no time that we know.
func bucketHour(s string) *time.Time {
	s = strings.Replace(strings.TrimSpace(s), " ", "T", 1)
	for _, layout := range bucketLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			t = t.UTC().Truncate(time.Hour)
			return &t
		}
	}
	if m := isoWeek.FindStringSubmatch(s); m != nil {
		year, _ := time.Parse("2006", m[1])
		for t := weekOf(year.AddDate(0, 0, 3)); t.Year() <= year.Year(); t = t.AddDate(0, 0, 7) { // the week of January 4 is the first
			if _, n := t.ISOWeek(); m[2] == twoDigits(n) {
				return &t
			}
		}
	}
	return nil
}

func twoDigits(n int) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }

// weekOf is the Monday on which the week of t begins, in UTC.
func weekOf(t time.Time) time.Time {
	day := t.UTC().Truncate(24 * time.Hour)
	return day.AddDate(0, 0, -int(day.Weekday()+6)%7)
}

// Settle gives a signal its hour: its own where that lies in the horizon, else the present.
func (s *Signal) Settle(now time.Time, h Horizon) {
	if s.Hour == nil || !h.Has(s.Hour) {
		s.Hour = new(now.UTC().Truncate(time.Hour))
	}
}

// CellKey names a cell of the sums of signals. A line is a type, or "" for all types; see the migration.
type CellKey struct{ Dimension, SkillName, SignalType, Label string }

// Compare orders keys, so that writers lock in the same order.
func (k CellKey) Compare(other CellKey) int {
	return slices.Compare([]string{k.Dimension, k.SkillName, k.SignalType, k.Label}, []string{other.Dimension, other.SkillName, other.SignalType, other.Label})
}

// CellSums is what signals add to a cell.
type CellSums struct {
	Signals, Told, Triggered, Missed, Confidence int
	FirstAt, LastAt                              time.Time
	Cohorts                                      map[string]bool
}

// Cells sums signals up. A signal without a skill is in no cell.
func Cells(signals []*Signal) map[CellKey]*CellSums {
	out := map[CellKey]*CellSums{}
	for _, s := range signals {
		if s.SkillName == nil {
			continue
		}
		for _, line := range []string{"", s.SignalType} {
			for _, k := range s.cells(line) {
				c := out[k]
				if c == nil {
					c = &CellSums{FirstAt: *s.Hour, LastAt: *s.Hour, Cohorts: map[string]bool{}}
					out[k] = c
				}
				c.add(s)
			}
		}
	}
	return out
}

// cells are those of a line that a signal is in.
func (s *Signal) cells(line string) []CellKey {
	bucket := ""
	if s.QueryBucket != nil {
		bucket = *s.QueryBucket
	}
	out := []CellKey{
		{"ALL", *s.SkillName, line, ""},
		{"WEEK", *s.SkillName, line, weekOf(*s.Hour).Format(time.DateOnly)},
		{"BUCKET", *s.SkillName, line, bucket},
	}
	if s.Confidence != nil {
		out = append(out, CellKey{"SCORED", *s.SkillName, line, ""})
	}
	return out
}

func (c *CellSums) add(s *Signal) {
	c.Signals++
	if s.Triggered != nil || s.Missed {
		c.Told++
	}
	switch {
	case s.Missed: // whatever else it says
		c.Missed++
	case s.Triggered != nil && *s.Triggered:
		c.Triggered++
	}
	if s.Confidence != nil {
		c.Confidence += int(*s.Confidence*Billionths + 0.5)
	}
	if s.Hour.Before(c.FirstAt) {
		c.FirstAt = *s.Hour
	}
	if s.Hour.After(c.LastAt) {
		c.LastAt = *s.Hour
	}
	c.Cohorts[string(s.Cohort)] = true
}

// SignalFigure is a row of the gate: figures that may be shown, or nulls.
type SignalFigure struct {
	SkillID        *ids.ID    `bun:"skill_id"` // the skill of this name
	Level          string     `bun:"level"`
	SkillName      string     `bun:"skill_name"`
	Label          string     `bun:"label"` // the type, week or bucket
	TotalSignals   *int       `bun:"total_signals"`
	Cohorts        *int       `bun:"cohorts"`
	TriggeredCount *int       `bun:"triggered_count"`
	MissedCount    *int       `bun:"missed_count"`
	TriggerRate    *float64   `bun:"trigger_rate"`
	AvgConfidence  *float64   `bun:"avg_confidence"`
	FirstSeenAt    *time.Time `bun:"first_seen_at"`
	LastSeenAt     *time.Time `bun:"last_seen_at"`
}

// State says whether the figures can be shown.
func (f *SignalFigure) State() SignalState {
	if f.TotalSignals == nil {
		return SignalStateBelowThreshold
	}
	return SignalStateAvailable
}

// MissedShare is null where the trigger rate is.
func (f *SignalFigure) MissedShare() *Rate {
	if f.TriggerRate == nil {
		return nil
	}
	return NewRate(share(*f.MissedCount, *f.TotalSignals), *f.TotalSignals)
}

// What a row of each level stands for.
type (
	// SignalAggregate is a type of signals about a skill.
	SignalAggregate struct{ SignalFigure }
	// SignalSkill is a skill.
	SignalSkill struct{ SignalFigure }
	// SignalWeek is a week of a skill.
	SignalWeek struct{ SignalFigure }
	// SignalBucket is a bucket of queries of a skill.
	SignalBucket struct{ SignalFigure }
)

// SignalType is what the row stands for.
func (a *SignalAggregate) SignalType() string { return a.Label }

// QueryBucket is what the row stands for.
func (b *SignalBucket) QueryBucket() string { return b.Label }

// Week is what the row stands for.
func (w *SignalWeek) Week() Date {
	day, _ := time.Parse(time.DateOnly, w.Label) // we wrote it
	return Date(day)
}

// SignalDetail is a skill with what its figures are made of.
type SignalDetail struct {
	SignalSkill
	ByType       []*SignalAggregate
	ByWeek       []*SignalWeek
	QueryBuckets []*SignalBucket
}

const (
	maxTypes   = 100
	maxWeeks   = 52
	maxBuckets = 100
)

// Details puts the rows of skills together. They come in the order of the lists, weeks oldest first.
func Details(rows []*SignalFigure) []*SignalDetail {
	byName := map[string]*SignalDetail{}
	var out []*SignalDetail
	for _, r := range rows {
		d := byName[r.SkillName]
		if d == nil {
			d = &SignalDetail{ByType: []*SignalAggregate{}, ByWeek: []*SignalWeek{}, QueryBuckets: []*SignalBucket{}}
			byName[r.SkillName] = d
			out = append(out, d)
		}
		switch r.Level {
		case "SKILL":
			d.SignalFigure = *r
		case "TYPE":
			d.ByType = append(d.ByType, &SignalAggregate{*r})
		case "WEEK":
			d.ByWeek = append(d.ByWeek, &SignalWeek{*r})
		case "BUCKET":
			d.QueryBuckets = append(d.QueryBuckets, &SignalBucket{*r})
		}
	}
	for _, d := range out {
		d.ByType = d.ByType[:min(len(d.ByType), maxTypes)]
		d.ByWeek = d.ByWeek[max(0, len(d.ByWeek)-maxWeeks):]
		d.QueryBuckets = d.QueryBuckets[:min(len(d.QueryBuckets), maxBuckets)]
	}
	return out
}

// SignalAggregates are signals by skill and type.
type SignalAggregates struct {
	Aggregates []*SignalAggregate
	Truncated  bool
}

// NewSignalAggregates cuts the list.
func NewSignalAggregates(rows []*SignalFigure) *SignalAggregates {
	out := &SignalAggregates{Aggregates: []*SignalAggregate{}, Truncated: len(rows) > maxList}
	for _, r := range rows[:min(len(rows), maxList)] {
		out.Aggregates = append(out.Aggregates, &SignalAggregate{*r})
	}
	return out
}

// SignalOverview is all skills at a glance.
type SignalOverview struct {
	TotalSignals     *int
	TotalSkills      *int
	TotalCohorts     *int
	ActionableSkills *int
	Skills           []*SignalSkill
	GeneratedAt      time.Time
	Truncated        bool
}

// NewSignalOverview adds up what can be shown. Cohorts are not added up: see the schema.
func NewSignalOverview(rows []*SignalFigure, now time.Time) *SignalOverview {
	out := &SignalOverview{Skills: []*SignalSkill{}, GeneratedAt: now, Truncated: len(rows) > maxList}
	var signals, skills, cohorts, actionable int
	for i, r := range rows {
		if i < maxList {
			out.Skills = append(out.Skills, &SignalSkill{*r})
		}
		if r.TotalSignals == nil {
			continue
		}
		signals, skills, cohorts = signals+*r.TotalSignals, skills+1, max(cohorts, *r.Cohorts)
		if tooManyMisses(r.MissedShare()) {
			actionable++
		}
	}
	if skills > 0 {
		out.TotalSignals, out.TotalSkills, out.TotalCohorts, out.ActionableSkills = &signals, &skills, &cohorts, &actionable
	}
	return out
}
