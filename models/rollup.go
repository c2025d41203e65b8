package models

import (
	"math"
	"time"

	"skillgraph/internal/ids"
)

// SessionSkill is what one session says about one skill: the smallest unit of every rollup.
type SessionSkill struct {
	SessionID   string     `bun:"session_id"`
	SkillID     ids.ID     `bun:"skill_id"`
	Day         time.Time  `bun:"day"`
	Seen        bool       `bun:"seen"` // false: it was only graded
	FirstAt     time.Time  `bun:"first_at"`
	LastAt      time.Time  `bun:"last_at"`
	Triggers    int        `bun:"triggers"`
	Scored      int        `bun:"scored"`
	Confidence  int        `bun:"confidence"`
	Rate        *float64   `bun:"rate"`
	GradedAt    *time.Time `bun:"graded_at"`
	GradingID   *string    `bun:"grading_id"`
	VersionHash string     `bun:"version_hash"`
	Platform    string     `bun:"platform"`
	Model       string     `bun:"model"`
}

// passedFrom is the rate from which a graded session counts as passed.
const passedFrom = 0.5

// Sums is the row's share in every rollup it belongs to.
func (s *SessionSkill) Sums() Sums {
	var out Sums
	if s.Seen {
		out.Sessions = 1
	}
	if s.Triggers > 0 {
		out.TriggeredSessions = 1
	}
	out.Triggers, out.Scored, out.Confidence = s.Triggers, s.Scored, s.Confidence
	if s.Rate != nil {
		out.Graded, out.Rate = 1, int(math.Round(*s.Rate*Billionths))
		if *s.Rate >= passedFrom {
			out.Passed = 1
		}
	}
	return out
}

func (s *SessionSkill) key() pair { return pair{s.SessionID, s.SkillID} }

func (s *SessionSkill) equal(o *SessionSkill) bool {
	return s.Day.Equal(o.Day) && s.Seen == o.Seen && s.FirstAt.Equal(o.FirstAt) && s.LastAt.Equal(o.LastAt) &&
		s.Triggers == o.Triggers && s.Scored == o.Scored && s.Confidence == o.Confidence &&
		equalPtr(s.Rate, o.Rate) && equalPtr(s.GradingID, o.GradingID) &&
		s.VersionHash == o.VersionHash && s.Platform == o.Platform && s.Model == o.Model
}

type pair struct {
	session string
	skill   ids.ID
}

// Keys of rollups.
type (
	// DayKey is a skill on a day.
	DayKey struct {
		Skill ids.ID
		Day   time.Time
	}
	// BreakdownKey is a skill by one version, platform or model.
	BreakdownKey struct {
		Skill     ids.ID
		Dimension Dimension
		Value     string
	}
	// ConfusionKey is a skill that did not fire, and one that did.
	ConfusionKey struct{ Skill, Other ids.ID }
)

// SkillChange is what changes in a skill's own row.
type SkillChange struct {
	Sessions, Graded int
	Sight            Sight // of rows that are new or changed
	Lost             Sight // of rows that are gone
	Regraded         bool  // the pass rate has to be read again
}

// Sight is when a skill was first and last seen; nil when it was not.
type Sight struct{ FirstAt, LastAt *time.Time }

func (s *Sight) add(row *SessionSkill) {
	if !row.Seen {
		return
	}
	if s.FirstAt == nil || row.FirstAt.Before(*s.FirstAt) {
		s.FirstAt = &row.FirstAt
	}
	if s.LastAt == nil || row.LastAt.After(*s.LastAt) {
		s.LastAt = &row.LastAt
	}
}

// Rollup is the difference that some sessions make.
type Rollup struct {
	Drop       []*SessionSkill // gone, or as they were before they changed
	Put        []*SessionSkill // new, or as they are now
	Days       map[DayKey]Sums
	Breakdowns map[BreakdownKey]Sums
	Confusions map[ConfusionKey]int
	Skills     map[ids.ID]*SkillChange
}

// Difference compares what sessions said before with what they say now. Both must hold all skills of the same sessions.
func Difference(before, now []*SessionSkill) *Rollup {
	r := &Rollup{Days: map[DayKey]Sums{}, Breakdowns: map[BreakdownKey]Sums{}, Confusions: map[ConfusionKey]int{}, Skills: map[ids.ID]*SkillChange{}}
	old := make(map[pair]*SessionSkill, len(before))
	for _, s := range before {
		old[s.key()] = s
	}
	for _, s := range now {
		was, known := old[s.key()]
		delete(old, s.key())
		if known && was.equal(s) {
			continue
		}
		if known {
			r.count(was, -1)
			r.Drop = append(r.Drop, was)
		}
		r.count(s, 1)
		r.Put = append(r.Put, s)
		r.skill(s.SkillID).Sight.add(s)
	}
	for _, s := range old {
		r.count(s, -1)
		r.Drop = append(r.Drop, s)
		r.skill(s.SkillID).Lost.add(s)
	}
	r.confuse(before, -1)
	r.confuse(now, 1)
	return r
}

func (r *Rollup) count(s *SessionSkill, n int) {
	sums := s.Sums()
	add(r.Days, DayKey{s.SkillID, s.Day}, sums, n)
	for dimension, value := range map[Dimension]string{DimensionVersion: s.VersionHash, DimensionPlatform: s.Platform, DimensionModel: s.Model} {
		add(r.Breakdowns, BreakdownKey{s.SkillID, dimension, value}, sums, n)
	}
	c := r.skill(s.SkillID)
	c.Sessions += n * sums.Sessions
	c.Graded += n * sums.Graded
	c.Regraded = c.Regraded || sums.Graded > 0
}

func (r *Rollup) skill(id ids.ID) *SkillChange {
	c, ok := r.Skills[id]
	if !ok {
		c = &SkillChange{}
		r.Skills[id] = c
	}
	return c
}

func add[K comparable](m map[K]Sums, key K, sums Sums, n int) {
	v := m[key]
	v.Add(sums, n)
	if v == (Sums{}) {
		delete(m, key)
	} else {
		m[key] = v
	}
}

// confuse counts, session by session, which skills fired where another was seen and did not.
func (r *Rollup) confuse(rows []*SessionSkill, n int) {
	sessions := map[string][]*SessionSkill{}
	for _, s := range rows {
		sessions[s.SessionID] = append(sessions[s.SessionID], s)
	}
	for _, skills := range sessions {
		for _, quiet := range skills {
			if !quiet.Seen || quiet.Triggers > 0 {
				continue
			}
			for _, loud := range skills {
				if loud.Triggers > 0 {
					k := ConfusionKey{quiet.SkillID, loud.SkillID}
					if r.Confusions[k] += n; r.Confusions[k] == 0 {
						delete(r.Confusions, k)
					}
				}
			}
		}
	}
}
