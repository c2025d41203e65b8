package store

import (
	"bytes"
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// RecordRun stores a run with its results and what they say about queries, or finds it by its key.
func (o Org) RecordRun(ctx context.Context, in models.RecordRunInput) (run *models.EvalRun, isNew bool, err error) {
	r, results, err := in.Run()
	if err != nil {
		return nil, false, err
	}
	err = o.tx(ctx, func(o Org) error {
		if run, err = o.runByKey(ctx, r); err != nil || run != nil {
			return err
		}
		suite, err := o.suite(ctx, r.SuiteID, " FOR KEY SHARE") // who deletes it waits
		if err != nil {
			return err
		}
		cases, err := o.settleRun(ctx, suite, r, results)
		if err != nil {
			return err
		}
		inserted, err := o.db.NewInsert().Model(r).On("CONFLICT ON CONSTRAINT eval_runs_key DO NOTHING").Exec(ctx)
		if err != nil {
			return err
		}
		if n, _ := inserted.RowsAffected(); n == 0 { // somebody was quicker
			run, err = o.runByKey(ctx, r)
			return err
		}
		if err := o.copyResults(ctx, r, results); err != nil {
			return err
		}
		if err := o.observeRun(ctx, suite, r, cases, results); err != nil {
			return err
		}
		run, isNew = r, true
		return o.event(ctx, "run.recorded", r.ID, map[string]any{"suite_id": r.SuiteID, "run_key": r.RunKey, "status": r.Status.Wire(), "passed": r.Passed, "failed": r.Failed})
	})
	if err != nil {
		return nil, false, err
	}
	return run, isNew, nil
}

// runByKey is the run that was recorded under the key, or nil; it must be the same run.
func (o Org) runByKey(ctx context.Context, in *models.EvalRun) (*models.EvalRun, error) {
	rows, err := query[models.EvalRun](ctx, o.pg, "SELECT "+columns[models.EvalRun]()+" FROM eval_runs t WHERE t.org_id = $1 AND t.run_key = $2", o.id, in.RunKey)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	if !bytes.Equal(rows[0].BodyHash, in.BodyHash) {
		return nil, errs.New(errs.Conflict, "Another run was recorded with the run_key %q", in.RunKey)
	}
	return rows[0], nil
}

// settleRun holds a run against the revision of the suite that it is of, and returns its cases.
func (o Org) settleRun(ctx context.Context, suite *models.EvalSuite, r *models.EvalRun, results []*models.EvalResult) ([]models.EvalCase, error) {
	if r.Revision == 0 {
		r.Revision = suite.Revision
	}
	revisions, err := query[models.SuiteRevision](ctx, o.pg, "SELECT "+columns[models.SuiteRevision]()+" FROM suite_revisions t WHERE t.org_id = $1 AND t.suite_id = $2 AND t.number = $3", o.id, suite.ID, r.Revision)
	if err != nil {
		return nil, err
	}
	if len(revisions) == 0 {
		return nil, errs.At("revision").Because("the suite has no revision %d; the present one is %d", r.Revision, suite.Revision)
	}
	if r.VersionID != nil {
		if err := o.ownVersion(ctx, *r.VersionID); err != nil {
			return nil, err
		}
	}
	if r.SnapshotID != nil {
		if err := o.ownSnapshot(ctx, *r.SnapshotID); err != nil {
			return nil, err
		}
	}
	raw, err := o.CasesOfRevisions(ctx, []ids.ID{revisions[0].ID})
	if err != nil {
		return nil, err
	}
	cases, err := models.ReadCases(raw[revisions[0].ID])
	if err != nil {
		return nil, err
	}
	now := o.now()
	r.OrgID, r.ID, r.CreatedByID, r.CreatedAt = o.id, ids.New(ids.Run, now), o.by(), now
	for _, x := range results {
		x.OrgID, x.ID, x.RunID = o.id, ids.New(ids.RunResult, now), r.ID
	}
	return cases, r.Settle(suite, revisions[0], cases, results)
}

// ownSnapshot fails with NOT_FOUND for a snapshot that is not the organization's.
func (o Org) ownSnapshot(ctx context.Context, id ids.ID) error {
	_, err := queryOne[struct{}](ctx, o.pg, ids.Snapshot, id, "SELECT t.id FROM snapshots t WHERE t.org_id = $1 AND t.id = $2", o.id, id)
	return err
}

func (o Org) copyResults(ctx context.Context, r *models.EvalRun, results []*models.EvalResult) error {
	_, err := o.pg.CopyFrom(ctx, pgx.Identifier{"eval_results"}, []string{
		"org_id", "id", "run_id", "case_id", "position", "outcome", "reported", "judged_by", "judgement", "score", "output", "output_bytes", "error", "duration_ms",
	}, pgx.CopyFromSlice(len(results), func(i int) ([]any, error) {
		x := results[i]
		return []any{
			o.id, x.ID, r.ID, x.CaseKey, x.Position, x.Outcome, x.ReportedOutcome, x.JudgedBy, x.Judgement, x.Score, x.OutputExcerpt, x.OutputBytes, x.Error, x.DurationMs,
		}, nil
	}))
	return fail(ctx, err)
}

// observeRun takes what a run says about queries into the suggestions of the suite's source.
func (o Org) observeRun(ctx context.Context, suite *models.EvalSuite, r *models.EvalRun, cases []models.EvalCase, results []*models.EvalResult) error {
	if suite.SourceID == nil {
		return nil
	}
	before, err := o.passedBefore(ctx, r)
	if err != nil {
		return err
	}
	now := r.Observe(*suite.SourceID, cases, results, before)
	if len(now) == 0 {
		return nil
	}
	if err := o.lockSuggestions(ctx); err != nil {
		return err
	}
	return o.applyEvidence(ctx, models.CompareEvidence(nil, now))
}

// passedBefore are the cases that passed in the run before.
func (o Org) passedBefore(ctx context.Context, r *models.EvalRun) (map[string]bool, error) {
	last, err := o.PreviousRuns(ctx, []ids.ID{r.ID})
	if err != nil || last[r.ID] == nil {
		return nil, err
	}
	results, err := o.resultsOf(ctx, last[r.ID].ID)
	out := map[string]bool{}
	for _, x := range results {
		out[x.CaseKey] = x.Outcome == models.CaseOutcomePassed
	}
	return out, err
}

func (o Org) resultsOf(ctx context.Context, run ids.ID) ([]*models.EvalResult, error) {
	return query[models.EvalResult](ctx, o.pg, "SELECT "+columns[models.EvalResult]()+" FROM eval_results t WHERE t.org_id = $1 AND t.run_id = $2 ORDER BY t.position", o.id, run)
}

// forgetRuns takes the runs of a suite out of the suggestions: it is about to be deleted, and they with it.
func (o Org) forgetRuns(ctx context.Context, suite ids.ID) error {
	if err := o.lockSuggestions(ctx); err != nil {
		return err
	}
	before, err := query[models.SuggestionEvidence](ctx, o.pg, "SELECT "+columns[models.SuggestionEvidence]()+` FROM suggestion_evidence t
		JOIN eval_runs r ON r.org_id = t.org_id AND r.id = t.run_id WHERE t.org_id = $1 AND r.suite_id = $2`, o.id, suite)
	if err != nil {
		return err
	}
	return o.applyEvidence(ctx, models.CompareEvidence(before, nil))
}

// Run is one run.
func (o Org) Run(ctx context.Context, id ids.ID) (*models.EvalRun, error) {
	found, err := o.RunsByID(ctx, []ids.ID{id})
	return orNotFound(found[id], err, ids.Run, id)
}

// RunsByID is the batch for every edge to a run.
func (o Org) RunsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.EvalRun, error) {
	return batch(ctx, o, runID, "eval_runs t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

func runID(r *models.EvalRun) ids.ID { return r.ID }

// PreviousRuns is the batch for the last run before each, of the same suite and variant, that is not invalid.
func (o Org) PreviousRuns(ctx context.Context, runs []ids.ID) (map[ids.ID]*models.EvalRun, error) {
	rows, err := query[child[models.EvalRun]](ctx, o.pg, `SELECT k.id AS parent_key, n.* FROM eval_runs k CROSS JOIN LATERAL (
			SELECT `+columns[models.EvalRun]()+` FROM eval_runs t
			WHERE t.org_id = k.org_id AND t.suite_id = k.suite_id AND t.variant = k.variant AND t.status <> 'INVALID' AND t.seq < k.seq ORDER BY t.seq DESC LIMIT 1
		) n WHERE k.org_id = $1 AND k.id = ANY($2)`, o.id, runs)
	return childOf(rows, err)
}

func runListing(from, parent string, f models.RunFilter) listing[models.EvalRun] {
	l := listing[models.EvalRun]{from: from, parent: parent, order: newest(runID)}
	for column, id := range map[string]*ids.ID{"t.suite_id": f.SuiteID.Value(), "t.version_id": f.VersionID.Value(), "t.snapshot_id": f.SnapshotID.Value()} {
		if id != nil {
			l.filter(column+" = ?", *id)
		}
	}
	if v := f.Variant.Value(); v != nil {
		l.filter("t.variant = ?", *v)
	}
	if s := f.Status.Value(); s != nil {
		l.filter("t.status = ?", *s)
	}
	return l
}

// Runs lists the organization's runs, newest first.
func (o Org) Runs(ctx context.Context, f models.RunFilter, w models.Window) (*models.EvalRunConnection, error) {
	return page(ctx, o, runListing("eval_runs t", "t.org_id", f), w)
}

// RunsOf lists the runs of suites, newest first.
func (o Org) RunsOf(ctx context.Context, suites []ids.ID, in models.RunList) (map[ids.ID]*models.EvalRunConnection, error) {
	return pages(ctx, o, runListing("eval_runs t", "t.suite_id", in.Filter()), suites, in.Window)
}

// RunsOfRevisions lists the runs of revisions of suites, newest first.
func (o Org) RunsOfRevisions(ctx context.Context, revisions []ids.ID, in models.RunList) (map[ids.ID]*models.EvalRunConnection, error) {
	const from = "eval_runs t JOIN suite_revisions r ON r.org_id = t.org_id AND r.suite_id = t.suite_id AND r.number = t.revision"
	return pages(ctx, o, runListing(from, "r.id", in.Filter()), revisions, in.Window)
}

// RunsOfSnapshots lists the runs of snapshots, newest first.
func (o Org) RunsOfSnapshots(ctx context.Context, snapshots []ids.ID, in models.RunList) (map[ids.ID]*models.EvalRunConnection, error) {
	return pages(ctx, o, runListing("eval_runs t", "t.snapshot_id", in.Filter()), snapshots, in.Window)
}

// RunsOfVersions lists the runs of versions, newest first.
func (o Org) RunsOfVersions(ctx context.Context, versions []ids.ID, in models.RunList) (map[ids.ID]*models.EvalRunConnection, error) {
	return pages(ctx, o, runListing("eval_runs t", "t.version_id", in.Filter()), versions, in.Window)
}

// RunsOfEntries lists the runs of the versions of entries, newest first.
func (o Org) RunsOfEntries(ctx context.Context, entries []ids.ID, in models.RunList) (map[ids.ID]*models.EvalRunConnection, error) {
	return pages(ctx, o, runListing("eval_runs t JOIN registry_versions v ON v.org_id = t.org_id AND v.id = t.version_id", "v.entry_id", in.Filter()), entries, in.Window)
}

// RunsOfSources lists the runs of the suites and of the snapshots of sources, newest first.
func (o Org) RunsOfSources(ctx context.Context, sources []ids.ID, in models.RunList) (map[ids.ID]*models.EvalRunConnection, error) {
	const from = `(SELECT r.*, s.source_id AS of_id FROM eval_runs r JOIN eval_suites s ON s.org_id = r.org_id AND s.id = r.suite_id
		UNION SELECT r.*, n.source_id FROM eval_runs r JOIN snapshots n ON n.org_id = r.org_id AND n.id = r.snapshot_id) t`
	return pages(ctx, o, runListing(from, "t.of_id", in.Filter()), sources, in.Window)
}

// RunsOfSkills lists the runs of the suites of the sources of skills, and of the versions of their entries, newest first.
func (o Org) RunsOfSkills(ctx context.Context, skills []ids.ID, in models.RunList) (map[ids.ID]*models.EvalRunConnection, error) {
	const from = `(SELECT r.*, c.skill_id AS of_id FROM eval_runs r JOIN eval_suites s ON s.org_id = r.org_id AND s.id = r.suite_id
			JOIN cloud_sources c ON c.org_id = s.org_id AND c.id = s.source_id
		UNION SELECT r.*, e.skill_id FROM eval_runs r JOIN registry_versions v ON v.org_id = r.org_id AND v.id = r.version_id
			JOIN registry_entries e ON e.org_id = v.org_id AND e.id = v.entry_id) t`
	return pages(ctx, o, runListing(from, "t.of_id", in.Filter()), skills, in.Window)
}

// RunsBy lists the runs that members recorded, newest first.
func (o Org) RunsBy(ctx context.Context, users []ids.ID, in models.RunList) (map[ids.ID]*models.EvalRunConnection, error) {
	return pages(ctx, o, runListing("eval_runs t", "t.created_by", in.Filter()), users, in.Window)
}

// RevisionsOfRuns is the batch for the revisions that were run.
func (o Org) RevisionsOfRuns(ctx context.Context, runs []ids.ID) (map[ids.ID]*models.SuiteRevision, error) {
	rows, err := query[child[models.SuiteRevision]](ctx, o.pg, "SELECT r.id AS parent_key, "+columns[models.SuiteRevision]()+` FROM eval_runs r
		JOIN suite_revisions t ON t.org_id = r.org_id AND t.suite_id = r.suite_id AND t.number = r.revision WHERE r.org_id = $1 AND r.id = ANY($2)`, o.id, runs)
	return childOf(rows, err)
}

// CasesOfRuns is the batch for the cases that were run.
func (o Org) CasesOfRuns(ctx context.Context, runs []ids.ID) (map[ids.ID]map[string]models.EvalCase, error) {
	rows, err := query[caseRow](ctx, o.pg, `SELECT r.id, t.cases FROM eval_runs r JOIN suite_revisions t ON t.org_id = r.org_id AND t.suite_id = r.suite_id AND t.number = r.revision
		WHERE r.org_id = $1 AND r.id = ANY($2)`, o.id, runs)
	out := make(map[ids.ID]map[string]models.EvalCase, len(rows))
	for _, r := range rows {
		if out[r.ID], err = models.IndexCases(r.Cases); err != nil {
			return nil, err
		}
	}
	return out, err
}

// ResultsByID is the batch for every edge to a result.
func (o Org) ResultsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.EvalResult, error) {
	return batch(ctx, o, func(r *models.EvalResult) ids.ID { return r.ID }, "eval_results t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

// ResultsOf lists the results of runs, in the order of the cases.
func (o Org) ResultsOf(ctx context.Context, runs []ids.ID, in models.ResultList) (map[ids.ID]*models.EvalResultConnection, error) {
	l := listing[models.EvalResult]{from: "eval_results t", parent: "t.run_id", order: order[models.EvalResult]{
		name: "position", columns: []string{"t.position"}, types: []string{"int"},
		key: func(r *models.EvalResult) []string { return []string{strconv.Itoa(r.Position)} },
		id:  func(r *models.EvalResult) ids.ID { return r.ID },
	}}
	if in.Outcome != "" {
		l.filter("t.outcome = ?", in.Outcome)
	}
	if in.Disagrees != "" {
		l.filter("(t.outcome <> t.reported) = ?", in.Disagrees == "true")
	}
	return pages(ctx, o, l, runs, in.Window)
}

// CompareRuns says what changed between two runs of the same suite.
func (o Org) CompareRuns(ctx context.Context, base, head ids.ID) (*models.RunComparison, error) {
	found, err := o.RunsByID(ctx, []ids.ID{base, head})
	if err != nil {
		return nil, err
	}
	for _, id := range []ids.ID{base, head} {
		if found[id] == nil {
			return nil, id.NotFound(ids.Run)
		}
	}
	before, err := o.resultsOf(ctx, base)
	if err != nil {
		return nil, err
	}
	now, err := o.resultsOf(ctx, head)
	if err != nil {
		return nil, err
	}
	return models.CompareRuns(found[base], found[head], before, now)
}
