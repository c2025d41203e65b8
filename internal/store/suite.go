package store

import (
	"bytes"
	"context"
	"slices"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Suite is one suite.
func (o Org) Suite(ctx context.Context, id ids.ID) (*models.EvalSuite, error) {
	return o.suite(ctx, id, "")
}

func (o Org) suite(ctx context.Context, id ids.ID, lock string) (*models.EvalSuite, error) {
	return queryOne[models.EvalSuite](ctx, o.pg, ids.Suite, id, "SELECT "+columns[models.EvalSuite]()+" FROM eval_suites t WHERE t.org_id = $1 AND t.id = $2"+lock, o.id, id)
}

// SuitesByID is the batch for every edge to a suite.
func (o Org) SuitesByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.EvalSuite, error) {
	return batch(ctx, o, func(s *models.EvalSuite) ids.ID { return s.ID }, "eval_suites t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

var suiteOrders = map[models.SuiteOrder]order[models.EvalSuite]{
	models.SuiteOrderCreatedAt: newest(suiteID),
	models.SuiteOrderUpdatedAt: {
		name: "updated", columns: []string{"t.updated_at"}, types: []string{"timestamptz"}, desc: true, id: suiteID,
		key: func(s *models.EvalSuite) []string { return []string{timeKey(s.UpdatedAt)} },
	},
	models.SuiteOrderName: {
		name: "name", columns: []string{"t.name"}, types: []string{"text"}, id: suiteID,
		key: func(s *models.EvalSuite) []string { return []string{s.Name} },
	},
}

func suiteID(s *models.EvalSuite) ids.ID { return s.ID }

func suiteListing(from, parent string, f models.SuiteFilter, by models.SuiteOrder) listing[models.EvalSuite] {
	l := listing[models.EvalSuite]{from: from, parent: parent, order: suiteOrders[by]}
	if archived := f.Archived.Value(); archived != nil && *archived {
		l.filter("t.archived_at IS NOT NULL")
	} else {
		l.filter("t.archived_at IS NULL")
	}
	if id := f.SourceID.Value(); id != nil {
		l.filter("t.source_id = ?", *id)
	}
	if kind := f.SourceKind.Value(); kind != nil {
		l.filter("t.source_kind = ?", *kind)
	}
	if kind := f.VerifierKind.Value(); kind != nil {
		l.filter("t.verifier_kind = ?", *kind)
	}
	if name := f.NameContains.Value(); name != nil {
		l.filter("t.name ILIKE ?", contains(*name))
	}
	if runnable := f.Runnable.Value(); runnable != nil {
		l.filter(`(t.verifier_kind <> 'STRUCTURED_RUBRIC' AND
			(t.source_kind = 'MANUAL' OR t.source_kind = 'IMPORTED' AND t.suite_kind = 'TASK_PACKAGE')) = ?`, *runnable)
	}
	return l
}

// Suites lists the organization's suites.
func (o Org) Suites(ctx context.Context, f models.SuiteFilter, by models.SuiteOrder, w models.Window) (*models.EvalSuiteConnection, error) {
	return page(ctx, o, suiteListing("eval_suites t", "t.org_id", f, by), w)
}

// SuitesOfSkills lists the suites of the sources of skills.
func (o Org) SuitesOfSkills(ctx context.Context, skills []ids.ID, in models.SuiteList) (map[ids.ID]*models.EvalSuiteConnection, error) {
	const from = "eval_suites t JOIN cloud_sources c ON c.org_id = t.org_id AND c.id = t.source_id"
	return pages(ctx, o, suiteListing(from, "c.skill_id", in.Filter(), in.Order), skills, in.Window)
}

// SuitesBy lists the suites that members made.
func (o Org) SuitesBy(ctx context.Context, users []ids.ID, in models.SuiteList) (map[ids.ID]*models.EvalSuiteConnection, error) {
	return pages(ctx, o, suiteListing("eval_suites t", "t.created_by", in.Filter(), in.Order), users, in.Window)
}

// CreateSuite saves a suite with its first revision.
func (o Org) CreateSuite(ctx context.Context, in models.CreateSuiteInput) (*models.EvalSuite, error) {
	now := o.now()
	s, cases, err := in.Suite(o.newCaseID)
	if err != nil {
		return nil, err
	}
	s.OrgID, s.ID, s.Revision = o.id, ids.New(ids.Suite, now), 1
	s.CreatedByID, s.CreatedAt, s.UpdatedAt = o.by(), now, now
	return inTx(ctx, o, func(o Org) (*models.EvalSuite, error) {
		if s.SourceID != nil {
			if err := o.ownSource(ctx, *s.SourceID); err != nil {
				return nil, err
			}
		}
		if _, err := o.db.NewInsert().Model(s).Exec(ctx); err != nil {
			return nil, err
		}
		if err := o.revise(ctx, s, cases, models.AllSuiteField); err != nil {
			return nil, err
		}
		return s, o.event(ctx, "suite.created", s.ID, map[string]any{"name": s.Name, "case_count": s.CaseCount})
	})
}

func (o Org) newCaseID() string { return ids.New(ids.Case, o.now()).String() }

// UpdateSuite changes a suite and keeps the former state in the history. A change that changes nothing leaves no trace.
func (o Org) UpdateSuite(ctx context.Context, id ids.ID, in models.UpdateSuiteInput, ifRevision []int) (*models.EvalSuite, error) {
	return inTx(ctx, o, func(o Org) (*models.EvalSuite, error) {
		s, err := o.suite(ctx, id, " FOR UPDATE")
		if err != nil {
			return nil, err
		}
		if ifRevision != nil && !slices.Contains(ifRevision, s.Revision) {
			return nil, errs.New(errs.Stale, "The suite has changed: it is at revision %d now. Read it again, then repeat the change", s.Revision)
		}
		if s.ArchivedAt != nil {
			return nil, errs.New(errs.Conflict, "The suite is archived: restore it before changing it")
		}
		former, err := o.CasesOfSuites(ctx, []ids.ID{id})
		if err != nil {
			return nil, err
		}
		next, cases, err := in.Apply(s, former[id], o.newCaseID)
		if err != nil {
			return nil, err
		}
		changed := s.Changes(next, !bytes.Equal(cases, former[id]))
		if len(changed) == 0 {
			return s, nil
		}
		s.SuiteSettings, s.Revision, s.UpdatedAt = next, s.Revision+1, o.now()
		return s, o.saveSuite(ctx, s, cases, changed)
	})
}

func (o Org) saveSuite(ctx context.Context, s *models.EvalSuite, cases models.JSON, changed []models.SuiteField) error {
	if _, err := o.db.NewUpdate().Model(s).WherePK().Exec(ctx); err != nil {
		return err
	}
	if err := o.revise(ctx, s, cases, changed); err != nil {
		return err
	}
	return o.event(ctx, "suite.updated", s.ID, map[string]any{"revision": s.Revision, "changed": models.WireOf(changed)})
}

// revise writes the present state of a suite into its history.
func (o Org) revise(ctx context.Context, s *models.EvalSuite, cases models.JSON, changed []models.SuiteField) error {
	type row struct {
		models.SuiteRevision
		Cases models.JSON `bun:"cases"`
	}
	r := row{Cases: cases, SuiteRevision: models.SuiteRevision{
		OrgID: o.id, ID: ids.New(ids.SuiteRevision, s.UpdatedAt), SuiteID: s.ID, Number: s.Revision,
		SuiteSettings: s.SuiteSettings, Changed: changed, CreatedByID: o.by(), CreatedAt: s.UpdatedAt,
	}}
	_, err := o.db.NewInsert().Model(&r).ModelTableExpr("suite_revisions").Exec(ctx)
	return err
}

// ArchiveSuite puts a suite away or, with false, takes it back; once more changes nothing.
func (o Org) ArchiveSuite(ctx context.Context, id ids.ID, archive bool) (*models.EvalSuite, error) {
	return inTx(ctx, o, func(o Org) (*models.EvalSuite, error) {
		s, err := o.suite(ctx, id, " FOR UPDATE")
		if err != nil || (s.ArchivedAt != nil) == archive {
			return s, err
		}
		now, event := o.now(), "suite.restored"
		s.ArchivedAt = nil
		if archive {
			s.ArchivedAt, event = &now, "suite.archived"
		}
		if _, err := exec(ctx, o.pg, "UPDATE eval_suites SET archived_at = $3 WHERE org_id = $1 AND id = $2", o.id, id, s.ArchivedAt); err != nil {
			return nil, err
		}
		return s, o.event(ctx, event, id, map[string]any{"name": s.Name})
	})
}

// DeleteSuite deletes a suite with its history and its runs.
func (o Org) DeleteSuite(ctx context.Context, id ids.ID) error {
	return o.tx(ctx, func(o Org) error {
		s, err := o.suite(ctx, id, " FOR UPDATE")
		if err != nil {
			return err
		}
		if err := o.releaseReviews(ctx, id); err != nil {
			return err
		}
		if err := o.forgetRuns(ctx, id); err != nil {
			return err
		}
		if _, err := exec(ctx, o.pg, "DELETE FROM eval_suites WHERE org_id = $1 AND id = $2", o.id, id); err != nil {
			return err
		}
		return o.event(ctx, "suite.deleted", id, map[string]any{"name": s.Name})
	})
}

// RevisionsOf lists the states of suites, newest first.
func (o Org) RevisionsOf(ctx context.Context, suites []ids.ID, w models.Window) (map[ids.ID]*models.SuiteRevisionConnection, error) {
	return pages(ctx, o, listing[models.SuiteRevision]{
		from: "suite_revisions t", parent: "t.suite_id",
		order: byNumber(func(r *models.SuiteRevision) ids.ID { return r.ID }, func(r *models.SuiteRevision) int { return r.Number }),
	}, suites, w)
}

// RevisionsByID is the batch for nodes.
func (o Org) RevisionsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.SuiteRevision, error) {
	return batch(ctx, o, func(r *models.SuiteRevision) ids.ID { return r.ID }, "suite_revisions t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

// caseRow is the wide part of a revision, read only where somebody asks for cases.
type caseRow struct {
	ID    ids.ID      `bun:"id"`
	Cases models.JSON `bun:"cases"`
}

// CasesOfSuites is the batch for the present cases of suites.
func (o Org) CasesOfSuites(ctx context.Context, suites []ids.ID) (map[ids.ID]models.JSON, error) {
	rows, err := query[caseRow](ctx, o.pg, `SELECT t.id, r.cases FROM eval_suites t
		JOIN suite_revisions r ON r.org_id = t.org_id AND r.suite_id = t.id AND r.number = t.revision
		WHERE t.org_id = $1 AND t.id = ANY($2)`, o.id, suites)
	return caseMap(rows), err
}

// CasesOfRevisions is the batch for the cases of revisions.
func (o Org) CasesOfRevisions(ctx context.Context, revisions []ids.ID) (map[ids.ID]models.JSON, error) {
	rows, err := query[caseRow](ctx, o.pg, "SELECT t.id, t.cases FROM suite_revisions t WHERE t.org_id = $1 AND t.id = ANY($2)", o.id, revisions)
	return caseMap(rows), err
}

func caseMap(rows []*caseRow) map[ids.ID]models.JSON {
	out := make(map[ids.ID]models.JSON, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Cases
	}
	return out
}
