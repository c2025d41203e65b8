package store

import (
	"context"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// ownSource fails with FORBIDDEN for another organization's source and with NOT_FOUND for one that nobody has.
func (o Org) ownSource(ctx context.Context, id ids.ID) error {
	type owner struct {
		OrgID ids.ID `bun:"org_id"`
	}
	src, err := queryOne[owner](ctx, o.pg, ids.Source, id, "SELECT t.org_id FROM cloud_sources t WHERE t.id = $1", id)
	if err == nil && src.OrgID != o.id {
		return errs.New(errs.Forbidden, "This cloud source belongs to another organization")
	}
	return err
}

// Source is one source.
func (o Org) Source(ctx context.Context, id ids.ID) (*models.CloudSource, error) {
	return o.source(ctx, id, "")
}

func (o Org) source(ctx context.Context, id ids.ID, lock string) (*models.CloudSource, error) {
	if err := o.ownSource(ctx, id); err != nil {
		return nil, err
	}
	return queryOne[models.CloudSource](ctx, o.pg, ids.Source, id, "SELECT "+columns[models.CloudSource]()+" FROM cloud_sources t WHERE t.org_id = $1 AND t.id = $2"+lock, o.id, id)
}

// SourcesByID is the batch for every edge to a source.
func (o Org) SourcesByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.CloudSource, error) {
	return batch(ctx, o, sourceID, "cloud_sources t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

func sourceID(s *models.CloudSource) ids.ID { return s.ID }

func sourceListing(parent string, f models.SourceFilter) listing[models.CloudSource] {
	l := listing[models.CloudSource]{from: "cloud_sources t", parent: parent, order: newest(sourceID)}
	if kind := f.Type.Value(); kind != nil {
		l.filter("t.source_type = ?", *kind)
	}
	if id := f.SkillID.Value(); id != nil {
		l.filter("t.skill_id = ?", *id)
	}
	if label := f.LabelContains.Value(); label != nil {
		l.filter("t.label ILIKE ?", contains(*label))
	}
	return l
}

// Sources lists the organization's sources, newest first.
func (o Org) Sources(ctx context.Context, f models.SourceFilter, w models.Window) (*models.Connection[models.CloudSource], error) {
	return page(ctx, o, sourceListing("t.org_id", f), w)
}

// SourcesOf lists the sources of skills, newest first.
func (o Org) SourcesOf(ctx context.Context, skills []ids.ID, in models.SourceList) (map[ids.ID]*models.Connection[models.CloudSource], error) {
	return pages(ctx, o, sourceListing("t.skill_id", in.Filter()), skills, in.Window)
}

// SourcesBy lists the sources that members made, newest first.
func (o Org) SourcesBy(ctx context.Context, users []ids.ID, in models.SourceList) (map[ids.ID]*models.Connection[models.CloudSource], error) {
	return pages(ctx, o, sourceListing("t.created_by", in.Filter()), users, in.Window)
}

// SourcesOfInstallations lists the sources that are read through installations of the code host, newest first.
func (o Org) SourcesOfInstallations(ctx context.Context, installations []ids.ID, in models.SourceList) (map[ids.ID]*models.Connection[models.CloudSource], error) {
	return pages(ctx, o, sourceListing("t.repo_installation_id", in.Filter()), installations, in.Window)
}

// SkillsOfSources is the batch for the skills that sources are about.
func (o Org) SkillsOfSources(ctx context.Context, sources []ids.ID) (map[ids.ID]*models.Skill, error) {
	return childOf(query[child[models.Skill]](ctx, o.pg, "SELECT c.id AS parent_key, "+columns[models.Skill]()+` FROM cloud_sources c
		JOIN skills t ON t.org_id = c.org_id AND t.id = c.skill_id WHERE c.org_id = $1 AND c.id = ANY($2)`, o.id, sources))
}

// SuitesOf lists the suites of sources, newest first.
func (o Org) SuitesOf(ctx context.Context, sources []ids.ID, w models.Window) (map[ids.ID]*models.EvalSuiteConnection, error) {
	return pages(ctx, o, listing[models.EvalSuite]{from: "eval_suites t", parent: "t.source_id", order: newest(suiteID)}, sources, w)
}

// CreateSource saves a checked source, which has no content yet.
func (o Org) CreateSource(ctx context.Context, s *models.CloudSource) (*models.CloudSource, error) {
	return inTx(ctx, o, func(o Org) (*models.CloudSource, error) { return s, o.insertSource(ctx, s) })
}

func (o Org) insertSource(ctx context.Context, s *models.CloudSource) error {
	now := o.now()
	s.OrgID, s.ID, s.CreatedByID, s.CreatedAt = o.id, ids.New(ids.Source, now), o.by(), now
	if err := o.ownSkill(ctx, s.SkillID); err != nil {
		return err
	}
	if _, err := o.db.NewInsert().Model(s).Exec(ctx); err != nil {
		return err
	}
	return o.event(ctx, "source.created", s.ID, map[string]any{"label": s.Label, "source_type": s.SourceType.Wire()})
}

// ownSkill fails for a skill that the organization does not have; nil is none.
func (o Org) ownSkill(ctx context.Context, id *ids.ID) error {
	if id == nil {
		return nil
	}
	_, err := o.Skill(ctx, models.SkillKey{ID: *id})
	return err
}

// UpdateSource changes a source. A change that changes nothing leaves no trace.
func (o Org) UpdateSource(ctx context.Context, id ids.ID, in models.UpdateSourceInput) (*models.CloudSource, error) {
	return inTx(ctx, o, func(o Org) (*models.CloudSource, error) {
		s, err := o.source(ctx, id, " FOR NO KEY UPDATE")
		if err != nil {
			return nil, err
		}
		was := s.Label
		if link := in.SkillID.Value(); link != nil {
			if err := o.link(ctx, s, *link); err != nil {
				return nil, err
			}
		}
		if err := in.Apply(s); err != nil || s.Label == was {
			return s, err
		}
		if _, err := exec(ctx, o.pg, "UPDATE cloud_sources SET label = $3 WHERE org_id = $1 AND id = $2", o.id, id, s.Label); err != nil {
			return nil, err
		}
		return s, o.event(ctx, "source.renamed", id, map[string]any{"from": was, "to": s.Label})
	})
}

// link says which skill a source is about.
func (o Org) link(ctx context.Context, s *models.CloudSource, skill ids.ID) error {
	if s.SkillID != nil && *s.SkillID == skill {
		return nil
	}
	if err := o.ownSkill(ctx, &skill); err != nil {
		return err
	}
	s.SkillID = &skill
	if _, err := exec(ctx, o.pg, "UPDATE cloud_sources SET skill_id = $3 WHERE org_id = $1 AND id = $2", o.id, s.ID, skill); err != nil {
		return err
	}
	return o.event(ctx, "source.linked", s.ID, map[string]any{"skill_id": skill})
}

// DeleteSource deletes a source with its snapshots and reports. Its suites stay, without a source.
func (o Org) DeleteSource(ctx context.Context, id ids.ID) error {
	return o.tx(ctx, func(o Org) error {
		s, err := o.source(ctx, id, " FOR UPDATE")
		if err != nil {
			return err
		}
		if _, err := exec(ctx, o.pg, "DELETE FROM cloud_sources WHERE org_id = $1 AND id = $2", o.id, id); err != nil {
			return err
		}
		return o.event(ctx, "source.deleted", id, map[string]any{"label": s.Label})
	})
}
