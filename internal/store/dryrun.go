package store

import (
	"context"

	"skillgraph/models"
)

// maxDryRunSkills bounds a dry run over every skill.
const maxDryRunSkills = 50

// DryRun tells on which past days an alert would have fired, oldest first.
func (o Org) DryRun(ctx context.Context, a *models.Alert, days int) ([]*models.DryRunDay, error) {
	skills, err := query[models.Skill](ctx, o.pg, "SELECT "+columns[models.Skill]()+` FROM skills t
		WHERE t.org_id = $1 AND ($2::uuid IS NULL OR t.id = $2) AND t.last_seen_at IS NOT NULL ORDER BY t.unseen LIMIT $3`, o.id, a.SkillID, maxDryRunSkills)
	if err != nil {
		return nil, err
	}
	type row struct {
		models.Watched
		Day models.Date `bun:"day"`
	}
	until := o.store.today()
	// Each skill as it stood at the end of each day: its last 20 graded sessions, and the last day it was seen.
	rows, err := query[row](ctx, o.pg, `SELECT d.day::date AS day, k.id AS skill_id, g.pass_rate, g.recent_graded, l.day::timestamptz AS last_seen_at
		FROM generate_series($3::date, $4::date, '1 day') AS d(day) CROSS JOIN unnest($2::uuid[]) AS k(id)
		CROSS JOIN LATERAL (SELECT avg(x.rate) AS pass_rate, count(*) AS recent_graded FROM (
			SELECT s.rate FROM session_skills s WHERE s.org_id = $1 AND s.skill_id = k.id AND s.rate IS NOT NULL AND s.graded_at < d.day + interval '1 day'
			ORDER BY s.graded_at DESC, s.grading_id DESC LIMIT $5) x) g
		CROSS JOIN LATERAL (SELECT max(s.day) AS day FROM skill_days s WHERE s.org_id = $1 AND s.skill_id = k.id AND s.day <= d.day AND s.sessions > 0) l
		ORDER BY d.day, k.id`, o.id, column(skills, skillID), until.AddDate(0, 0, 1-days), until, recentSessions)
	if err != nil {
		return nil, err
	}
	out := []*models.DryRunDay{}
	for _, r := range rows {
		if value, breaks := a.Breaks(&r.Watched, r.Day.Time()); breaks {
			out = append(out, &models.DryRunDay{Date: r.Day, SkillID: r.SkillID, Value: value})
		}
	}
	return out, nil
}
