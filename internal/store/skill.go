package store

import (
	"context"
	"strconv"
	"time"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// rateDays is how far back the rates of a skill look.
const rateDays = 30

// Skill is one skill, by its id or, where that is none of ours, by its exact name.
func (o Org) Skill(ctx context.Context, key models.SkillKey) (*models.Skill, error) {
	if key.Name == "" || !key.ID.IsZero() {
		found, err := o.SkillsByID(ctx, []ids.ID{key.ID})
		if err != nil || found[key.ID] != nil || key.Name == "" {
			return orNotFound(found[key.ID], err, ids.Skill, key.ID)
		}
	}
	found, err := query[models.Skill](ctx, o.pg, "SELECT "+selected[models.Skill](o)+" FROM skills t WHERE t.org_id = $1 AND t.name = $2", o.id, key.Name)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 && !key.ID.IsZero() {
		return nil, key.ID.NotFound(ids.Skill)
	}
	if len(found) == 0 {
		return nil, errs.New(errs.NotFound, "There is no skill %q", key.Name)
	}
	return found[0], nil
}

func orNotFound[T any](row *T, err error, want ids.Kind, id ids.ID) (*T, error) {
	if err == nil && row == nil {
		err = id.NotFound(want)
	}
	return row, err
}

// SkillsByID is the batch for every edge to a skill.
func (o Org) SkillsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.Skill, error) {
	return batch(ctx, o, skillID, "skills t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

func skillID(s *models.Skill) ids.ID { return s.ID }

var skillOrders = map[models.SkillOrder]order[models.Skill]{
	models.SkillOrderLastSeen: {
		name: "seen", columns: []string{"t.unseen", "t.name"}, types: []string{"bigint", "text"}, from: []string{"last_seen_at"}, id: skillID,
		key: func(s *models.Skill) []string {
			if s.LastSeenAt == nil {
				return []string{"0", s.Name}
			}
			return []string{strconv.FormatInt(-s.LastSeenAt.UnixMilli(), 10), s.Name}
		},
	},
	models.SkillOrderName: {
		name: "name", columns: []string{"t.name"}, types: []string{"text"}, id: skillID,
		key: func(s *models.Skill) []string { return []string{s.Name} },
	},
}

// Skills lists the organization's skills.
func (o Org) Skills(ctx context.Context, f models.SkillFilter, by models.SkillOrder, w models.Window) (*models.SkillConnection, error) {
	l := listing[models.Skill]{from: "skills t", parent: "t.org_id", order: skillOrders[by]}
	if status := f.Status.Value(); status != nil {
		l.filter("t.status = ?", *status)
	}
	if name := f.NameContains.Value(); name != nil {
		l.filter("t.name ILIKE ?", contains(*name))
	}
	if evidence := f.HasEvidence.Value(); evidence != nil {
		l.filter("(t.graded_sessions > 0) = ?", *evidence)
	}
	return page(ctx, o, l, w)
}

// RatesOf is the batch for the rates of skills.
func (o Org) RatesOf(ctx context.Context, skills []ids.ID) (map[ids.ID]*models.SkillRates, error) {
	rows, err := query[models.SkillRates](ctx, o.pg, `SELECT t.id AS skill_id, t.pass_rate, t.recent_graded, d.*
		FROM skills t CROSS JOIN LATERAL (SELECT coalesce(sum(d.sessions), 0)::bigint AS sessions, coalesce(sum(d.triggered_sessions), 0)::bigint AS triggered_sessions,
			coalesce(sum(d.triggers), 0)::bigint AS triggers, coalesce(sum(d.scored), 0)::bigint AS scored, coalesce(sum(d.confidence), 0)::bigint AS confidence,
			coalesce(sum(d.graded), 0)::bigint AS graded, coalesce(sum(d.passed), 0)::bigint AS passed, coalesce(sum(d.rate), 0)::bigint AS rate
			FROM skill_days d WHERE d.org_id = t.org_id AND d.skill_id = t.id AND d.day > $3) d
		WHERE t.org_id = $1 AND t.id = ANY($2)`, o.id, skills, o.store.today().AddDate(0, 0, -rateDays))
	return byID(rows, func(r *models.SkillRates) ids.ID { return r.SkillID }), err
}

// today is the present day, in UTC.
func (s *Store) today() time.Time { return s.now().Truncate(24 * time.Hour) }

// DaysOf is the batch for the days of skills, oldest first; days without anything are left out. As in a page, a nested loop
// keeps the order of what is sorted inside it.
func (o Org) DaysOf(ctx context.Context, skills []ids.ID, in models.DayRange) (map[ids.ID][]*models.DailyStat, error) {
	since, until, err := in.Bounds(o.store.today())
	if err != nil {
		return nil, err
	}
	rows, err := query[models.DailyStat](ctx, o.pg, `SELECT d.* FROM unnest($2::uuid[]) AS k(id) CROSS JOIN LATERAL (
			SELECT `+selected[models.DailyStat](o)+` FROM skill_days t
			WHERE t.org_id = $1 AND t.skill_id = k.id AND t.day BETWEEN $3 AND $4 AND (t.sessions > 0 OR t.graded > 0) ORDER BY t.day) d`, o.id, skills, since, until)
	return group(rows, func(d *models.DailyStat) ids.ID { return d.SkillID }), err
}

// maxBreakdowns bounds a list that clients can make as long as they like: every version hash is a line of it.
const maxBreakdowns = 100

// BreakdownsOf is the batch for skills by version, platform or model, most sessions first.
func (o Org) BreakdownsOf(ctx context.Context, skills []ids.ID, by models.Dimension) (map[ids.ID][]*models.SkillBreakdown, error) {
	rows, err := query[models.SkillBreakdown](ctx, o.pg, `SELECT b.* FROM unnest($2::uuid[]) AS k(id) CROSS JOIN LATERAL (
			SELECT `+columns[models.SkillBreakdown]()+` FROM skill_breakdowns t
			WHERE t.org_id = $1 AND t.skill_id = k.id AND t.dimension = $3 AND (t.sessions > 0 OR t.graded > 0)
			ORDER BY t.sessions DESC, t.value LIMIT $4) b ORDER BY b.skill_id, b.sessions DESC, b.value`, o.id, skills, by, maxBreakdowns)
	return group(rows, func(b *models.SkillBreakdown) ids.ID { return b.SkillID }), err
}

// ConfusionsOf is the batch for the skills that fired where others were seen and did not, most often first.
func (o Org) ConfusionsOf(ctx context.Context, skills []ids.ID, first int) (map[ids.ID][]*models.SkillConfusion, error) {
	rows, err := query[models.SkillConfusion](ctx, o.pg, `SELECT c.* FROM unnest($2::uuid[]) AS k(id) CROSS JOIN LATERAL (
			SELECT `+columns[models.SkillConfusion]()+` FROM skill_confusions t WHERE t.org_id = $1 AND t.skill_id = k.id AND t.sessions > 0
			ORDER BY t.sessions DESC, t.other_id LIMIT $3) c ORDER BY c.skill_id, c.sessions DESC, c.other_id`, o.id, skills, first)
	return group(rows, func(c *models.SkillConfusion) ids.ID { return c.SkillID }), err
}
