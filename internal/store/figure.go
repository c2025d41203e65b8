package store

import (
	"context"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Figures of signals come from the view signal_figures, each answer with one statement, so that what it shows is of one moment.

// figureOrder is that of every list: last seen first, what cannot be shown last and by name; weeks by their day.
const figureOrder = "t.last_seen_at DESC NULLS LAST, t.total_signals DESC NULLS LAST, t.skill_name, t.label"

// figureColumns are those of a row of the view.
const figureColumns = `t.level, t.skill_name, t.label, t.total_signals, t.cohorts, t.triggered_count, t.missed_count,
	t.trigger_rate, t.avg_confidence, t.first_seen_at, t.last_seen_at,
	(SELECT s.id FROM skills s WHERE s.org_id = t.org_id AND s.name = t.skill_name) AS skill_id`

// SignalAggregates are signals by skill and type, of one skill where it is named.
func (o Org) SignalAggregates(ctx context.Context, skill string) (*models.SignalAggregates, error) {
	of, args := "", []any{o.id, maxListed + 1}
	if skill != "" {
		of, args = " AND t.skill_name = $3", append(args, skill)
	}
	rows, err := query[models.SignalFigure](ctx, o.pg, "SELECT "+figureColumns+" FROM signal_figures t WHERE t.org_id = $1 AND t.level = 'TYPE'"+of+" ORDER BY "+figureOrder+" LIMIT $2", args...)
	return models.NewSignalAggregates(rows), err
}

// SignalOverview is all skills at a glance.
func (o Org) SignalOverview(ctx context.Context) (*models.SignalOverview, error) {
	rows, err := query[models.SignalFigure](ctx, o.pg, "SELECT "+figureColumns+" FROM signal_figures t WHERE t.org_id = $1 AND t.level = 'SKILL' ORDER BY "+figureOrder, o.id)
	return models.NewSignalOverview(rows, o.now()), err
}

// detailOrder is figureOrder with weeks oldest first.
const detailOrder = "CASE WHEN t.level = 'WEEK' THEN t.label ELSE '' END, " + figureOrder

// SignalSkill is what signals say about one skill.
func (o Org) SignalSkill(ctx context.Context, name string) (*models.SignalDetail, error) {
	rows, err := query[models.SignalFigure](ctx, o.pg, "SELECT "+figureColumns+" FROM signal_figures t WHERE t.org_id = $1 AND t.skill_name = $2 ORDER BY "+detailOrder, o.id, name)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errs.New(errs.NotFound, "There are no signals about a skill %q", name)
	}
	return models.Details(rows)[0], nil
}

// SignalsOf is the batch for what signals say about skills.
func (o Org) SignalsOf(ctx context.Context, skills []ids.ID) (map[ids.ID]*models.SignalDetail, error) {
	rows, err := query[models.SignalFigure](ctx, o.pg, "SELECT "+figureColumns+` FROM signal_figures t
		WHERE t.org_id = $1 AND t.skill_name = ANY(ARRAY(SELECT n.name FROM skills n WHERE n.org_id = $1 AND n.id = ANY($2))) ORDER BY `+detailOrder, o.id, skills)
	out := map[ids.ID]*models.SignalDetail{}
	for _, d := range models.Details(rows) {
		out[*d.SkillID] = d
	}
	return out, err
}
