package models

import (
	"time"

	"skillgraph/internal/ids"
)

// remindAfter is how long an incident lasts until somebody is told again.
const remindAfter = 24 * time.Hour

// Watched is a skill as an alert sees it.
type Watched struct {
	AlertID      ids.ID     `bun:"alert_id"`
	OrgID        ids.ID     `bun:"org_id"`
	SkillID      ids.ID     `bun:"skill_id"`
	PassRate     *float64   `bun:"pass_rate"`
	RecentGraded int        `bun:"recent_graded"`
	LastSeenAt   *time.Time `bun:"last_seen_at"`
}

// Breaks reports whether a skill breaks the alert's condition, and by what: its pass rate, or its days without data.
func (a *Alert) Breaks(w *Watched, now time.Time) (value float64, breaks bool) {
	switch a.Type {
	case AlertTypePassRateBelow:
		if w.PassRate == nil || w.RecentGraded < minGraded {
			return 0, false
		}
		return *w.PassRate, *w.PassRate < a.Threshold
	case AlertTypeNoData:
		if w.LastSeenAt == nil {
			return 0, false
		}
		days := now.Sub(*w.LastSeenAt).Hours() / 24
		limit := a.Threshold
		if limit == 0 {
			limit = 1
		}
		return days, days >= limit
	}
	return 0, false
}

// Step is what the evaluation of an alert does about one skill.
type Step struct {
	Alert    *Alert
	SkillID  ids.ID
	Incident *Incident // nil: a new one begins
	Kind     NotificationKind
	Value    float64
}

// Evaluate decides what becomes of the incidents of an alert. open are those that last.
func (a *Alert) Evaluate(skills []*Watched, open []*Incident, now time.Time) (steps []Step, state AlertState) {
	lasting := make(map[ids.ID]*Incident, len(open))
	for _, i := range open {
		lasting[i.SkillID] = i
	}
	muted := a.MutedUntil != nil && a.MutedUntil.After(now)
	firing := 0
	for _, w := range skills {
		value, breaks := a.Breaks(w, now)
		incident := lasting[w.SkillID]
		delete(lasting, w.SkillID)
		switch {
		case breaks && incident == nil && !muted:
			steps = append(steps, Step{a, w.SkillID, nil, NotificationKindOpened, value})
			firing++
		case breaks && incident != nil:
			firing++
			if !muted && now.Sub(incident.RemindedAt) >= remindAfter {
				steps = append(steps, Step{a, w.SkillID, incident, NotificationKindReminder, value})
			}
		case !breaks && incident != nil:
			steps = append(steps, Step{a, w.SkillID, incident, NotificationKindResolved, value})
		}
	}
	for _, incident := range lasting { // its skill is no longer watched
		steps = append(steps, Step{a, incident.SkillID, incident, NotificationKindResolved, incident.Value})
	}
	switch {
	case firing > 0:
		return steps, AlertStateFiring
	case a.State == AlertStateFiring || len(open) > 0: // some outlast an alert that is switched off and on again
		return steps, AlertStateResolved
	}
	return steps, a.State
}

// MaxAttempts is how often a notification is tried, and FailuresToDisable after how many incidents in a row that could not
// be told an alert is switched off.
const (
	MaxAttempts       = 8
	FailuresToDisable = 5
)

// retryAfter spreads the attempts over three days.
var retryAfter = [MaxAttempts - 1]time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour, 24 * time.Hour, 36 * time.Hour}

// RetryAfter is how long to wait after a failed attempt, numbered from 1.
func RetryAfter(attempt int) time.Duration {
	return retryAfter[min(max(attempt, 1), len(retryAfter))-1]
}
