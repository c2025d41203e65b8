package store

import (
	"context"

	"skillgraph/internal/ids"
	"skillgraph/models"
)

// Content is what somebody has brought for a source: files that are kept in a blob already, and what the rules say of them.
type Content struct {
	Source    *models.CloudSource // a new one, or
	SourceID  ids.ID              // one that is there
	SkillID   *ids.ID             // to link that one to; nil leaves it
	Files     []*models.SnapshotFile
	BlobHash  string
	SourceRef *string
	Skipped   []models.SkippedEntry
	Findings  Findings
}

// Findings are what one version of the rules says of a snapshot.
type Findings struct {
	RulesVersion int
	SkillName    string // "" where there is no valid one
	Issues       []*models.ValidationIssue
}

// Saved is what became of content.
type Saved struct {
	Source   *models.CloudSource
	Snapshot *models.Snapshot
	Report   *models.ValidationReport
	IsNew    bool // false: the source held this already
}

// SaveContent makes a snapshot of what was brought, unless it is what the source holds already. Whoever brings something for the
// same source waits for the other, so that the same content twice is one snapshot.
func (o Org) SaveContent(ctx context.Context, c Content) (*Saved, error) {
	return inTx(ctx, o, func(o Org) (*Saved, error) {
		out, last := &Saved{Source: c.Source}, 0
		if c.Source != nil {
			if err := o.insertSource(ctx, c.Source); err != nil {
				return nil, err
			}
		} else {
			if err := o.lockSource(ctx, c, out); err != nil {
				return nil, err
			}
			if out.Snapshot != nil {
				last = out.Snapshot.Number
			}
		}
		hash := models.ContentHash(c.Files)
		if out.Snapshot != nil && out.Snapshot.ContentHash == hash {
			reports, err := o.ReportsOfSnapshots(ctx, []ids.ID{out.Snapshot.ID})
			out.Report = reports[out.Snapshot.ID]
			return out, err
		}
		out.IsNew, out.Snapshot = true, o.newSnapshot(c, out.Source.ID, last+1, hash)
		return out, o.insertSnapshot(ctx, c, out)
	})
}

// lockSource reads the source and its present snapshot, and keeps others from changing them.
func (o Org) lockSource(ctx context.Context, c Content, out *Saved) (err error) {
	if out.Source, err = o.source(ctx, c.SourceID, " FOR NO KEY UPDATE"); err != nil {
		return err
	}
	if c.SkillID != nil {
		if err := o.link(ctx, out.Source, *c.SkillID); err != nil {
			return err
		}
	}
	current, err := o.CurrentSnapshots(ctx, []ids.ID{c.SourceID})
	out.Snapshot = current[c.SourceID]
	return err
}

func (o Org) newSnapshot(c Content, source ids.ID, number int, hash string) *models.Snapshot {
	now := o.now()
	s := &models.Snapshot{
		OrgID: o.id, ID: ids.New(ids.Snapshot, now), SourceID: source, Number: number, ContentHash: hash, FileCount: len(c.Files),
		SourceRef: c.SourceRef, BlobHash: c.BlobHash, Skipped: c.Skipped, RulesVersion: c.Findings.RulesVersion, CreatedByID: o.by(), CreatedAt: now,
	}
	if s.Skipped == nil {
		s.Skipped = []models.SkippedEntry{}
	}
	for _, f := range c.Files {
		s.TotalBytes += f.Size
	}
	return s
}

func (o Org) insertSnapshot(ctx context.Context, c Content, out *Saved) error {
	s := out.Snapshot
	if _, err := o.db.NewInsert().Model(s).Exec(ctx); err != nil {
		return err
	}
	paths, sizes, hashes := make([]string, len(c.Files)), make([]int64, len(c.Files)), make([]string, len(c.Files))
	for i, f := range c.Files {
		paths[i], sizes[i], hashes[i] = f.Path, f.Size, f.SHA256
	}
	if _, err := exec(ctx, o.pg, `INSERT INTO snapshot_files (org_id, snapshot_id, path, size, sha256)
		SELECT $1, $2, f.path, f.size, f.sha256 FROM unnest($3::text[], $4::bigint[], $5::text[]) AS f(path, size, sha256)`, o.id, s.ID, paths, sizes, hashes); err != nil {
		return err
	}
	out.Report = o.newReport(s, c.Findings)
	if _, err := o.db.NewInsert().Model(out.Report).Exec(ctx); err != nil {
		return err
	}
	if err := o.linkByName(ctx, out.Source, out.Report, c.Findings.SkillName); err != nil {
		return err
	}
	return o.event(ctx, "snapshot.created", s.ID, map[string]any{
		"source_id": s.SourceID, "number": s.Number, "content_hash": s.ContentHash, "validation": out.Report.Status.Wire(),
	})
}

func (o Org) newReport(s *models.Snapshot, f Findings) *models.ValidationReport {
	now := o.now()
	r := &models.ValidationReport{
		OrgID: o.id, ID: ids.New(ids.Validation, now), SourceID: s.SourceID, SnapshotID: s.ID,
		Status: models.Outcome(f.Issues), Issues: f.Issues, RulesVersion: f.RulesVersion, CreatedAt: now,
	}
	if r.Issues == nil {
		r.Issues = []*models.ValidationIssue{}
	}
	return r
}

// linkByName links a source that nobody has linked to the skill that its content names, unless something is wrong with it.
func (o Org) linkByName(ctx context.Context, s *models.CloudSource, r *models.ValidationReport, name string) error {
	if s.SkillID != nil || name == "" || r.Status == models.ValidationStatusFailed {
		return nil
	}
	found, err := o.skillIDs(ctx, []string{name})
	if err != nil {
		return err
	}
	return o.link(ctx, s, found[name])
}

// StaleSnapshots lists snapshots of all organizations that were never held against these rules, in the order of their ids.
func (s *Store) StaleSnapshots(ctx context.Context, rules int, after ids.ID, limit int) ([]*models.Snapshot, error) {
	return query[models.Snapshot](ctx, s.pool, "SELECT "+columns[models.Snapshot]()+` FROM snapshots t
		WHERE t.rules_version < $1 AND t.id > $2 ORDER BY t.id LIMIT $3`, rules, after, limit)
}

// Revalidate adds a report by newer rules. It is fine when another server has done so, or when the snapshot has gone.
func (o Org) Revalidate(ctx context.Context, s *models.Snapshot, f Findings) error {
	return o.tx(ctx, func(o Org) error {
		found, err := query[models.CloudSource](ctx, o.pg, "SELECT "+columns[models.CloudSource]()+" FROM cloud_sources t WHERE t.org_id = $1 AND t.id = $2 FOR NO KEY UPDATE", o.id, s.SourceID)
		if err != nil || len(found) == 0 {
			return err
		}
		n, err := exec(ctx, o.pg, "UPDATE snapshots SET rules_version = $3 WHERE org_id = $1 AND id = $2 AND rules_version < $3", o.id, s.ID, f.RulesVersion)
		if err != nil || n == 0 {
			return err
		}
		former, err := o.ReportsOfSnapshots(ctx, []ids.ID{s.ID})
		if err != nil {
			return err
		}
		r := o.newReport(s, f)
		if _, err := o.db.NewInsert().Model(r).Exec(ctx); err != nil {
			return err
		}
		current, err := o.CurrentSnapshots(ctx, []ids.ID{s.SourceID})
		if err != nil {
			return err
		}
		if current[s.SourceID].ID == s.ID {
			if err := o.linkByName(ctx, found[0], r, f.SkillName); err != nil {
				return err
			}
		}
		if former[s.ID].Status == r.Status {
			return nil
		}
		return o.event(ctx, "snapshot.revalidated", s.ID, map[string]any{"from": former[s.ID].Status.Wire(), "to": r.Status.Wire(), "rules_version": f.RulesVersion})
	})
}

// SnapshotsByID is the batch for every edge to a snapshot.
func (o Org) SnapshotsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.Snapshot, error) {
	return batch(ctx, o, snapshotID, "snapshots t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

func snapshotID(s *models.Snapshot) ids.ID { return s.ID }

// Snapshot is one snapshot.
func (o Org) Snapshot(ctx context.Context, id ids.ID) (*models.Snapshot, error) {
	found, err := o.SnapshotsByID(ctx, []ids.ID{id})
	return orNotFound(found[id], err, ids.Snapshot, id)
}

// CurrentSnapshots is the batch for the newest snapshots of sources.
func (o Org) CurrentSnapshots(ctx context.Context, sources []ids.ID) (map[ids.ID]*models.Snapshot, error) {
	rows, err := query[models.Snapshot](ctx, o.pg, `SELECT s.* FROM unnest($2::uuid[]) AS k(id) CROSS JOIN LATERAL (
			SELECT `+columns[models.Snapshot]()+` FROM snapshots t WHERE t.org_id = $1 AND t.source_id = k.id ORDER BY t.number DESC LIMIT 1) s`, o.id, sources)
	return byID(rows, func(s *models.Snapshot) ids.ID { return s.SourceID }), err
}

// SnapshotsOf lists the snapshots of sources, newest first.
func (o Org) SnapshotsOf(ctx context.Context, sources []ids.ID, w models.Window) (map[ids.ID]*models.SnapshotConnection, error) {
	return pages(ctx, o, listing[models.Snapshot]{from: "snapshots t", parent: "t.source_id", order: byNumber(snapshotID, func(s *models.Snapshot) int { return s.Number })}, sources, w)
}

// ReportsByID is the batch for nodes.
func (o Org) ReportsByID(ctx context.Context, keys []ids.ID) (map[ids.ID]*models.ValidationReport, error) {
	return batch(ctx, o, reportID, "validation_reports t WHERE t.org_id = $1 AND t.id = ANY($2)", keys)
}

func reportID(r *models.ValidationReport) ids.ID { return r.ID }

// ReportsOf lists the reports on the snapshots of sources, newest first.
func (o Org) ReportsOf(ctx context.Context, sources []ids.ID, w models.Window) (map[ids.ID]*models.ValidationReportConnection, error) {
	return pages(ctx, o, listing[models.ValidationReport]{from: "validation_reports t", parent: "t.source_id", order: newest(reportID)}, sources, w)
}

// ReportsOfSnapshots is the batch for the reports on snapshots by the newest rules.
func (o Org) ReportsOfSnapshots(ctx context.Context, snapshots []ids.ID) (map[ids.ID]*models.ValidationReport, error) {
	rows, err := query[models.ValidationReport](ctx, o.pg, "SELECT DISTINCT ON (t.snapshot_id) "+columns[models.ValidationReport]()+` FROM validation_reports t
		WHERE t.org_id = $1 AND t.snapshot_id = ANY($2) ORDER BY t.snapshot_id, t.rules_version DESC`, o.id, snapshots)
	return byID(rows, func(r *models.ValidationReport) ids.ID { return r.SnapshotID }), err
}

// filesOfSnapshots has every file with the archive that it is in.
const filesOfSnapshots = `(SELECT f.*, s.blob_hash FROM snapshot_files f JOIN snapshots s ON s.org_id = f.org_id AND s.id = f.snapshot_id) t`

// FilesOf lists the files of snapshots, by path.
func (o Org) FilesOf(ctx context.Context, snapshots []ids.ID, w models.Window) (map[ids.ID]*models.SnapshotFileConnection, error) {
	return pages(ctx, o, listing[models.SnapshotFile]{
		from: filesOfSnapshots, parent: "t.snapshot_id", idCol: "t.snapshot_id", // a path is there once, so nothing is left to break ties
		order: order[models.SnapshotFile]{
			name: "path", columns: []string{"t.path"}, types: []string{`text COLLATE "C"`},
			key: func(f *models.SnapshotFile) []string { return []string{f.Path} },
			id:  func(f *models.SnapshotFile) ids.ID { return f.SnapshotID },
		},
	}, snapshots, w)
}

// FileAt is the batch for the file at one path of several snapshots.
func (o Org) FileAt(ctx context.Context, snapshots []ids.ID, path string) (map[ids.ID]*models.SnapshotFile, error) {
	return batch(ctx, o, func(f *models.SnapshotFile) ids.ID { return f.SnapshotID }, filesOfSnapshots+" WHERE t.org_id = $1 AND t.snapshot_id = ANY($2) AND t.path = $3", snapshots, path)
}

// FileChanges are the files in which two snapshots differ, by path.
func (o Org) FileChanges(ctx context.Context, from, to ids.ID) ([]*models.FileChange, error) {
	return query[models.FileChange](ctx, o.pg, `SELECT coalesce(a.path, b.path) AS path, a.size AS old_size, b.size AS new_size, a.sha256 AS old_sha256, b.sha256 AS new_sha256,
			CASE WHEN a.path IS NULL THEN 'ADDED' WHEN b.path IS NULL THEN 'REMOVED' ELSE 'CHANGED' END AS status
		FROM (SELECT t.* FROM snapshot_files t WHERE t.org_id = $1 AND t.snapshot_id = $2) a
		FULL JOIN (SELECT t.* FROM snapshot_files t WHERE t.org_id = $1 AND t.snapshot_id = $3) b ON a.path = b.path
		WHERE a.sha256 IS DISTINCT FROM b.sha256 ORDER BY 1`, o.id, from, to)
}
