package store

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// roll brings every rollup up to date with the raw records of some sessions.
func (o Org) roll(ctx context.Context, sessions []string) error {
	if len(sessions) == 0 {
		return nil
	}
	before, err := query[models.SessionSkill](ctx, o.pg, "SELECT "+columns[models.SessionSkill]()+" FROM session_skills t WHERE t.org_id = $1 AND t.session_id = ANY($2)", o.id, sessions)
	if err != nil {
		return err
	}
	now, err := o.countSessions(ctx, sessions)
	if err != nil {
		return err
	}
	r := models.Difference(before, now)
	for _, step := range []func(context.Context, *models.Rollup) error{o.replaceSessionSkills, o.addDays, o.addBreakdowns, o.addConfusions, o.addSkills, o.resight, o.regrade} {
		if err := step(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// countSessions reads what raw records say about the skills of sessions that have arrived. It is planned for each push: a plan made
// for a few sessions of an empty table, and kept, takes minutes for a thousand.
func (o Org) countSessions(ctx context.Context, sessions []string) ([]*models.SessionSkill, error) {
	return query[models.SessionSkill](ctx, o.pg, `
		WITH seen AS (
			SELECT i.session_id, i.skill_id, min(i.occurred_at) AS first_at, max(i.occurred_at) AS last_at,
				count(*) FILTER (WHERE i.triggered) AS triggers,
				count(i.confidence) FILTER (WHERE i.triggered) AS scored,
				coalesce(sum(round(i.confidence * 1e9)::bigint) FILTER (WHERE i.triggered), 0)::bigint AS confidence,
				(array_agg(i.version_hash ORDER BY i.occurred_at DESC, i.invocation_id DESC) FILTER (WHERE i.version_hash IS NOT NULL))[1] AS version_hash
			FROM invocations i WHERE i.org_id = $1 AND i.session_id = ANY($2) GROUP BY 1, 2
		), graded AS (
			SELECT DISTINCT ON (g.session_id, g.skill_id) g.session_id, g.skill_id, g.rate, g.graded_at, g.grading_id
			FROM gradings g WHERE g.org_id = $1 AND g.session_id = ANY($2) AND g.rate IS NOT NULL
			ORDER BY g.session_id, g.skill_id, g.graded_at DESC, g.grading_id DESC
		)
		SELECT session_id, skill_id, (coalesce(n.first_at, g.graded_at) AT TIME ZONE 'UTC')::date AS day, n.first_at IS NOT NULL AS seen,
			coalesce(n.first_at, g.graded_at) AS first_at, coalesce(n.last_at, g.graded_at) AS last_at,
			coalesce(n.triggers, 0) AS triggers, coalesce(n.scored, 0) AS scored, coalesce(n.confidence, 0) AS confidence,
			g.rate, g.graded_at, g.grading_id, coalesce(n.version_hash, '') AS version_hash,
			coalesce(s.platform, '') AS platform, coalesce(s.model, '') AS model
		FROM seen n FULL JOIN graded g USING (session_id, skill_id)
		JOIN sessions s USING (session_id) WHERE s.org_id = $1 AND s.session_id = ANY($2)`, pgx.QueryExecModeCacheDescribe, o.id, sessions)
}

// replaceSessionSkills writes what sessions say now. Nobody else writes here while the lock is held, so a COPY will do.
func (o Org) replaceSessionSkills(ctx context.Context, r *models.Rollup) error {
	type R = models.SessionSkill
	if len(r.Drop) > 0 {
		if _, err := exec(ctx, o.pg, `DELETE FROM session_skills t USING unnest($2::text[], $3::uuid[]) AS g(session_id, skill_id)
			WHERE t.org_id = $1 AND t.session_id = g.session_id AND t.skill_id = g.skill_id`,
			o.id, column(r.Drop, func(s *R) string { return s.SessionID }), column(r.Drop, func(s *R) ids.ID { return s.SkillID })); err != nil {
			return err
		}
	}
	if len(r.Put) == 0 {
		return nil
	}
	_, err := o.pg.CopyFrom(ctx, pgx.Identifier{"session_skills"}, []string{
		"org_id", "session_id", "skill_id", "day", "seen", "first_at", "last_at", "triggers", "scored", "confidence",
		"rate", "graded_at", "grading_id", "version_hash", "platform", "model",
	}, pgx.CopyFromSlice(len(r.Put), func(i int) ([]any, error) {
		s := r.Put[i]
		return []any{
			o.id, s.SessionID, s.SkillID, s.Day, s.Seen, s.FirstAt, s.LastAt, s.Triggers, s.Scored, s.Confidence,
			s.Rate, s.GradedAt, s.GradingID, s.VersionHash, s.Platform, s.Model,
		}, nil
	}))
	return fail(ctx, err)
}

// sumSet adds to the sums of a rollup, sumArrays are the arrays that bring them; they take parameters from $n on.
const sumSet = `sessions = t.sessions + excluded.sessions, triggered_sessions = t.triggered_sessions + excluded.triggered_sessions,
	triggers = t.triggers + excluded.triggers, scored = t.scored + excluded.scored, confidence = t.confidence + excluded.confidence,
	graded = t.graded + excluded.graded, passed = t.passed + excluded.passed, rate = t.rate + excluded.rate`

const sumColumns = "sessions, triggered_sessions, triggers, scored, confidence, graded, passed, rate"

// sumArguments are the arrays for sumColumns.
func sumArguments(sums []models.Sums) []any {
	out := make([][]int, 8)
	for _, s := range sums {
		for i, v := range []int{s.Sessions, s.TriggeredSessions, s.Triggers, s.Scored, s.Confidence, s.Graded, s.Passed, s.Rate} {
			out[i] = append(out[i], v)
		}
	}
	args := make([]any, len(out))
	for i := range out {
		args[i] = out[i]
	}
	return args
}

func (o Org) addDays(ctx context.Context, r *models.Rollup) error {
	if len(r.Days) == 0 {
		return nil
	}
	var skills []ids.ID
	var days []time.Time
	var sums []models.Sums
	for k, s := range r.Days {
		skills, days, sums = append(skills, k.Skill), append(days, k.Day), append(sums, s)
	}
	_, err := exec(ctx, o.pg, `INSERT INTO skill_days AS t (org_id, skill_id, day, `+sumColumns+`)
		SELECT $1, r.* FROM unnest($2::uuid[], $3::date[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[]) AS r
		ON CONFLICT (org_id, skill_id, day) DO UPDATE SET `+sumSet, append([]any{o.id, skills, days}, sumArguments(sums)...)...)
	return err
}

func (o Org) addBreakdowns(ctx context.Context, r *models.Rollup) error {
	if len(r.Breakdowns) == 0 {
		return nil
	}
	var skills []ids.ID
	var dimensions, values []string
	var sums []models.Sums
	for k, s := range r.Breakdowns {
		skills, dimensions, values, sums = append(skills, k.Skill), append(dimensions, string(k.Dimension)), append(values, k.Value), append(sums, s)
	}
	_, err := exec(ctx, o.pg, `INSERT INTO skill_breakdowns AS t (org_id, skill_id, dimension, value, `+sumColumns+`)
		SELECT $1, r.* FROM unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[]) AS r
		ON CONFLICT (org_id, skill_id, dimension, value) DO UPDATE SET `+sumSet, append([]any{o.id, skills, dimensions, values}, sumArguments(sums)...)...)
	return err
}

func (o Org) addConfusions(ctx context.Context, r *models.Rollup) error {
	if len(r.Confusions) == 0 {
		return nil
	}
	var skills, others []ids.ID
	var counts []int
	for k, n := range r.Confusions {
		skills, others, counts = append(skills, k.Skill), append(others, k.Other), append(counts, n)
	}
	_, err := exec(ctx, o.pg, `INSERT INTO skill_confusions AS t (org_id, skill_id, other_id, sessions)
		SELECT $1, r.* FROM unnest($2::uuid[], $3::uuid[], $4::bigint[]) AS r
		ON CONFLICT (org_id, skill_id, other_id) DO UPDATE SET sessions = t.sessions + excluded.sessions`, o.id, skills, others, counts)
	return err
}

func (o Org) addSkills(ctx context.Context, r *models.Rollup) error {
	if len(r.Skills) == 0 {
		return nil
	}
	var skills []ids.ID
	var sessions, graded []int
	var first, last []*time.Time
	for id, c := range r.Skills {
		skills, sessions, graded = append(skills, id), append(sessions, c.Sessions), append(graded, c.Graded)
		first, last = append(first, c.Sight.FirstAt), append(last, c.Sight.LastAt)
	}
	// least and greatest leave nulls out.
	_, err := exec(ctx, o.pg, `UPDATE skills t SET unique_sessions = t.unique_sessions + c.sessions, graded_sessions = t.graded_sessions + c.graded,
			first_seen_at = least(t.first_seen_at, c.first_at), last_seen_at = greatest(t.last_seen_at, c.last_at),
			unseen = least(t.unseen, coalesce(-floor(extract(epoch FROM c.last_at) * 1000), 0)::bigint)
		FROM unnest($2::uuid[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::timestamptz[]) AS c(id, sessions, graded, first_at, last_at)
		WHERE t.org_id = $1 AND t.id = c.id`, o.id, skills, sessions, graded, first, last)
	return err
}

// resight reads anew when skills were seen whose first or last sight is gone.
func (o Org) resight(ctx context.Context, r *models.Rollup) error {
	var skills []ids.ID
	var first, last []*time.Time
	for id, c := range r.Skills {
		if c.Lost.FirstAt != nil {
			skills, first, last = append(skills, id), append(first, c.Lost.FirstAt), append(last, c.Lost.LastAt)
		}
	}
	if len(skills) == 0 {
		return nil
	}
	_, err := exec(ctx, o.pg, `UPDATE skills t SET first_seen_at = n.first_at, last_seen_at = n.last_at, unseen = coalesce(-floor(extract(epoch FROM n.last_at) * 1000), 0)::bigint
		FROM (
			SELECT k.id,
				CASE WHEN k.first_seen_at < c.first_at THEN k.first_seen_at
					ELSE (SELECT min(s.first_at) FROM session_skills s WHERE s.org_id = $1 AND s.skill_id = k.id AND s.seen) END AS first_at,
				CASE WHEN k.last_seen_at > c.last_at THEN k.last_seen_at
					ELSE (SELECT max(s.last_at) FROM session_skills s WHERE s.org_id = $1 AND s.skill_id = k.id AND s.seen) END AS last_at
			FROM unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[]) AS c(id, first_at, last_at) JOIN skills k ON k.org_id = $1 AND k.id = c.id
		) n WHERE t.org_id = $1 AND t.id = n.id`, o.id, skills, first, last)
	return err
}

// recentSessions is how many graded sessions a pass rate is the mean of.
const recentSessions = 20

// regrade reads the pass rate of skills anew, as one quotient of whole numbers, so that three times 0.7 is 0.7 and no less,
// and tells when one's status changes.
func (o Org) regrade(ctx context.Context, r *models.Rollup) error {
	var skills []ids.ID
	for id, c := range r.Skills {
		if c.Regraded {
			skills = append(skills, id)
		}
	}
	if len(skills) == 0 {
		return nil
	}
	slices.SortFunc(skills, func(a, b ids.ID) int { return slices.Compare(a[:], b[:]) })
	graded, err := query[models.Skill](ctx, o.pg, `UPDATE skills t SET pass_rate = g.rate, recent_graded = g.n FROM (
			SELECT k.id, x.rate, x.n FROM unnest($2::uuid[]) AS k(id) CROSS JOIN LATERAL (
				SELECT sum(round(r.rate * 1e9)::bigint)::float8 / (count(*) * 1e9::float8) AS rate, count(*) AS n FROM (
					SELECT s.rate FROM session_skills s WHERE s.org_id = $1 AND s.skill_id = k.id AND s.rate IS NOT NULL
					ORDER BY s.graded_at DESC, s.grading_id DESC LIMIT $3) r
			) x
		) g WHERE t.org_id = $1 AND t.id = g.id RETURNING `+columns[models.Skill](), o.id, skills, recentSessions)
	if err != nil {
		return err
	}
	return o.judge(ctx, graded)
}

// judge gives skills the status that their figures deserve.
func (o Org) judge(ctx context.Context, skills []*models.Skill) error {
	var changed []ids.ID
	var statuses []string
	var data []map[string]any
	for _, s := range skills {
		if status := models.StatusOf(s.PassRate, s.RecentGraded, s.Baseline); status != s.Status {
			changed, statuses = append(changed, s.ID), append(statuses, string(status))
			data = append(data, map[string]any{"name": s.Name, "from": s.Status.Wire(), "to": status.Wire(), "pass_rate": s.PassRate})
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if _, err := exec(ctx, o.pg, `UPDATE skills t SET status = c.status FROM unnest($2::uuid[], $3::text[]) AS c(id, status)
		WHERE t.org_id = $1 AND t.id = c.id`, o.id, changed, statuses); err != nil {
		return err
	}
	return o.events(ctx, "skill.status_changed", changed, data)
}
