package store

import (
	"context"
	"time"

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
		At  time.Time   `bun:"at"`
	}
	now, until := o.now(), o.store.today()
	// Each skill as it stood at the end of each day, or stands now: the last 20 sessions that were graded by then, and when
	// it was last seen. That is known to the moment while there are raw rows, and to the day for ever.
	rows, err := query[row](ctx, o.pg, `SELECT d.day::date AS day, e.at, k.id AS skill_id, g.pass_rate, g.recent_graded,
			CASE WHEN x.at >= l.day THEN x.at ELSE least((l.day + 1)::timestamptz, e.at) END AS last_seen_at
		FROM generate_series($3::date, $4::date, '1 day') AS d(day) CROSS JOIN LATERAL (SELECT least(d.day::timestamptz + interval '1 day', $6::timestamptz) AS at) e
		CROSS JOIN unnest($2::uuid[]) AS k(id)
		CROSS JOIN LATERAL (SELECT sum(round(r.rate * 1e9)::bigint)::float8 / (count(*) * 1e9::float8) AS pass_rate, count(*) AS recent_graded FROM (
			SELECT s.rate FROM session_skills s WHERE s.org_id = $1 AND s.skill_id = k.id AND s.rate IS NOT NULL AND s.graded_at < e.at
			ORDER BY s.graded_at DESC, s.grading_id DESC LIMIT $5) r) g
		CROSS JOIN LATERAL (SELECT max(s.day) AS day FROM skill_days s WHERE s.org_id = $1 AND s.skill_id = k.id AND s.day <= d.day::date AND s.sessions > 0) l
		CROSS JOIN LATERAL (SELECT max(s.last_at) AS at FROM session_skills s WHERE s.org_id = $1 AND s.skill_id = k.id AND s.last_at < e.at AND s.seen) x
		ORDER BY d.day, k.id`, o.id, column(skills, skillID), until.AddDate(0, 0, 1-days), until, recentSessions, now)
	if err != nil {
		return nil, err
	}
	out := []*models.DryRunDay{}
	for _, r := range rows {
		if value, breaks := a.Breaks(&r.Watched, r.At); breaks {
			out = append(out, &models.DryRunDay{Date: r.Day, SkillID: r.SkillID, Value: value})
		}
	}
	return out, nil
}
