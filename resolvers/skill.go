package resolvers

import (
	"context"

	"skillgraph/graph/loader"
	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

func (query) Skill(ctx context.Context, id *ids.ID, name, idOrName *string) (*models.Skill, error) {
	key, err := models.NewSkillKey(id, name, idOrName)
	if err != nil {
		return nil, err
	}
	of := org(ctx).ID()
	return loader.SkillByKey.Of(ctx, &of, key)
}

func (query) Skills(ctx context.Context, first *int, after *string, page, perPage *int, filter *models.SkillFilter, orderBy *models.SkillOrder) (*models.SkillConnection, error) {
	f := or(filter, models.SkillFilter{})
	if err := f.Validate(); err != nil {
		return nil, err
	}
	w, err := pageArgs(first, after, page, perPage).Window()
	if err != nil {
		return nil, err
	}
	return org(ctx).Skills(ctx, f, or(orderBy, models.SkillOrderLastSeen), w)
}

func (skill) TriggerRate(ctx context.Context, s *models.Skill) (*float64, error) {
	return recent(ctx, s, (*models.Sums).TriggerRate)
}

func (skill) AvgConfidence(ctx context.Context, s *models.Skill) (*float64, error) {
	return recent(ctx, s, (*models.Sums).AvgConfidence)
}

func (skill) ConfidenceCoverage(ctx context.Context, s *models.Skill) (*float64, error) {
	return recent(ctx, s, (*models.Sums).ConfidenceCoverage)
}

func recent(ctx context.Context, s *models.Skill, rate func(*models.Sums) *float64) (*float64, error) {
	r, err := loader.One(ctx, loader.SkillRates, s)
	if err != nil {
		return nil, err
	}
	return rate(&r.Sums), nil
}

func (skill) Rates(ctx context.Context, s *models.Skill) (*models.SkillRates, error) {
	return loader.One(ctx, loader.SkillRates, s)
}

func (skill) DailyStats(ctx context.Context, s *models.Skill, since, until *models.Date) ([]*models.DailyStat, error) {
	return loader.SkillDays.Of(ctx, s, models.DayRange{Since: or(since, models.Date{}), Until: or(until, models.Date{})})
}

func (skill) Breakdown(ctx context.Context, s *models.Skill, by models.Dimension) ([]*models.SkillBreakdown, error) {
	return loader.SkillBreakdowns.Of(ctx, s, by)
}

func (skill) ConfusedWith(ctx context.Context, s *models.Skill, first *int) ([]*models.SkillConfusion, error) {
	n := or(first, 10)
	if n < 1 || n > 100 {
		return nil, errs.At("first").Because("must be between 1 and 100")
	}
	return loader.SkillConfusions.Of(ctx, s, n)
}

func (skillConfusion) Skill(ctx context.Context, c *models.SkillConfusion) (*models.Skill, error) {
	return loader.One(ctx, loader.ConfusionSkill, c)
}
