package store_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// A source is linked by name at its first snapshot without errors, once; an explicit link stays.
func TestSourceLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	skillOf := func(s *store.Saved) string {
		if s.Source.SkillID == nil {
			return ""
		}
		found, err := w.acme.SkillsByID(t.Context(), []ids.ID{*s.Source.SkillID})
		require.NoError(t, err)
		return found[*s.Source.SkillID].Name
	}
	s := w.hostedSource(t, w.acme, "folder", "", "SKILL.md=broken")
	id := s.Source.ID
	require.Empty(t, skillOf(s), "something is wrong with it")
	require.Equal(t, "pdf", skillOf(w.save(t, w.acme, into(id, w.content(t, "pdf", "SKILL.md=1")))), "a skill that nobody knew")
	require.Equal(t, "pdf", skillOf(w.save(t, w.acme, into(id, w.content(t, "docx", "SKILL.md=2")))), "renamed, and still the same")

	warned := w.content(t, "docx", "SKILL.md=3")
	warned.Source = &models.CloudSource{Label: "l", SourceType: models.SourceTypeUpload}
	warned.Findings.Issues = []*models.ValidationIssue{{Level: models.IssueLevelWarning}}
	docx := w.save(t, w.acme, warned)
	require.Equal(t, "docx", skillOf(docx), "a warning is no error")

	explicit := w.content(t, "pdf", "SKILL.md=4")
	explicit.Source = &models.CloudSource{Label: "l", SourceType: models.SourceTypeUpload, SkillID: docx.Source.SkillID}
	require.Equal(t, "docx", skillOf(w.save(t, w.acme, explicit)))
	relinked := into(id, w.content(t, "pdf", "SKILL.md=2"))
	relinked.SkillID = docx.Source.SkillID
	same := w.save(t, w.acme, relinked)
	require.False(t, same.IsNew)
	require.Equal(t, "docx", skillOf(same), "because somebody said so")

	for _, unknown := range []ids.ID{ids.New(ids.Skill, time.Now()), id} {
		_, err := w.acme.CreateSource(t.Context(), &models.CloudSource{Label: "l", SourceType: models.SourceTypeUpload, SkillID: &unknown})
		requireCode(t, errs.NotFound, err)
		_, err = w.acme.UpdateSource(t.Context(), id, models.UpdateSourceInput{SkillID: set(&unknown)})
		requireCode(t, errs.NotFound, err)
	}
}

func TestUpdateSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pdf, docx := w.hostedSource(t, w.acme, "one", "pdf", "SKILL.md=1").Source, w.hostedSource(t, w.acme, "two", "docx", "SKILL.md=1").Source
	before := len(events(t, w.acme))
	got, err := w.acme.UpdateSource(t.Context(), pdf.ID, models.UpdateSourceInput{Label: set(new("one")), SkillID: set(pdf.SkillID)})
	require.NoError(t, err)
	require.Equal(t, pdf, got)
	require.Len(t, events(t, w.acme), before, "nothing has changed")

	got, err = w.acme.UpdateSource(t.Context(), pdf.ID, models.UpdateSourceInput{Label: set(new("first")), SkillID: set(docx.SkillID)})
	require.NoError(t, err)
	stored, err := w.acme.Source(t.Context(), pdf.ID)
	require.NoError(t, err)
	require.Equal(t, got, stored)
	require.Equal(t, "first", stored.Label)
	require.Equal(t, docx.SkillID, stored.SkillID)
	require.Equal(t, []string{"source.linked", "source.renamed"}, happened(t, w.acme)[before:])
	_, err = w.acme.UpdateSource(t.Context(), pdf.ID, models.UpdateSourceInput{Label: set(new(" "))})
	requireCode(t, errs.Invalid, err)
	_, err = w.acme.UpdateSource(t.Context(), pdf.ID, models.UpdateSourceInput{SkillID: set[*ids.ID](nil)})
	requireCode(t, errs.Invalid, err)
	require.Len(t, events(t, w.acme), before+2)
}

// What a source has goes with it. Its suites stay, and so do the bytes that somebody else refers to.
func TestDeleteSource(t *testing.T) {
	t.Parallel()
	w := newWorldAt(t, nil)
	gone, stays := w.hostedSource(t, w.acme, "gone", "pdf", "SKILL.md=1"), w.hostedSource(t, w.acme, "stays", "pdf", "SKILL.md=1")
	c := into(gone.Source.ID, w.content(t, "pdf", "SKILL.md=2"))
	c.BlobHash = w.blobOf(t, 2)
	w.save(t, w.acme, c)
	in := newSuite("of the source")
	in.SourceID = set(&gone.Source.ID)
	suite, err := w.acme.CreateSuite(t.Context(), in)
	require.NoError(t, err)

	collected := func() []string {
		removed := []string{}
		_, err := w.CollectBlobs(t.Context(), -time.Hour, func(_ context.Context, hash string) error { removed = append(removed, hash); return nil })
		require.NoError(t, err)
		return removed
	}
	require.Empty(t, collected(), "both are needed")
	require.NoError(t, w.acme.DeleteSource(t.Context(), gone.Source.ID))
	_, err = w.acme.Source(t.Context(), gone.Source.ID)
	requireCode(t, errs.NotFound, err)
	requireCode(t, errs.NotFound, w.acme.DeleteSource(t.Context(), gone.Source.ID))
	for table, want := range map[string]int{"cloud_sources": 1, "snapshots": 1, "snapshot_files": 1, "validation_reports": 1, "eval_suites": 1} {
		require.Equal(t, want, w.count(t, "SELECT count(*) FROM "+table), table)
	}
	kept, err := w.acme.Suite(t.Context(), suite.ID)
	require.NoError(t, err)
	require.Nil(t, kept.SourceID)
	kept.SourceID = suite.SourceID
	require.Equal(t, suite, kept, "and nothing else of it has changed")
	require.Equal(t, []string{fmt.Sprintf("%064x", 2)}, collected())
	_, err = w.acme.Snapshot(t.Context(), stays.Snapshot.ID)
	require.NoError(t, err)
	require.Equal(t, "source.deleted", happened(t, w.acme)[len(events(t, w.acme))-1])
}

// hosting is the part of the table of tenancy that is about sources: here the other organization has one with a snapshot.
var hosting = map[string]func(t *testing.T, o store.Org, f foreign){
	"SourcesByID":        func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.SourcesByID, f.source) },
	"SnapshotsByID":      func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.SnapshotsByID, f.snapshot) },
	"CurrentSnapshots":   func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.CurrentSnapshots, f.source) },
	"ReportsByID":        func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.ReportsByID, f.report) },
	"ReportsOfSnapshots": func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.ReportsOfSnapshots, f.snapshot) },
	"RepoInstallationsByID": func(t *testing.T, o store.Org, f foreign) {
		requireNone(t, o.RepoInstallationsByID, f.repoInstallation)
	},
	"Source": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.Source(t.Context(), f.source)
		requireCode(t, errs.Forbidden, err) // the interface says so for sources
	},
	"Snapshot": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.Snapshot(t.Context(), f.snapshot)
		requireCode(t, errs.NotFound, err)
	},
	"Sources": func(t *testing.T, o store.Org, f foreign) {
		for _, filter := range []models.SourceFilter{{}, {SkillID: set(&f.skill)}} {
			page, err := o.Sources(t.Context(), filter, everything)
			requireEmptyPage(t, page, err)
		}
	},
	"SourcesOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.SourcesOf(t.Context(), []ids.ID{f.skill}, models.SourceList{Window: everything})
		requireEmptyPage(t, pages[f.skill], err)
	},
	"SuitesOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.SuitesOf(t.Context(), []ids.ID{f.source}, everything)
		requireEmptyPage(t, pages[f.source], err)
	},
	"SnapshotsOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.SnapshotsOf(t.Context(), []ids.ID{f.source}, everything)
		requireEmptyPage(t, pages[f.source], err)
	},
	"ReportsOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.ReportsOf(t.Context(), []ids.ID{f.source}, everything)
		requireEmptyPage(t, pages[f.source], err)
	},
	"FilesOf": func(t *testing.T, o store.Org, f foreign) {
		pages, err := o.FilesOf(t.Context(), []ids.ID{f.snapshot}, everything)
		requireEmptyPage(t, pages[f.snapshot], err)
	},
	"FileAt": func(t *testing.T, o store.Org, f foreign) {
		found, err := o.FileAt(t.Context(), []ids.ID{f.snapshot}, "SKILL.md")
		require.NoError(t, err)
		require.Empty(t, found)
	},
	"FileChanges": func(t *testing.T, o store.Org, f foreign) {
		found, err := o.FileChanges(t.Context(), f.snapshot, ids.New(ids.Snapshot, time.Now()))
		require.NoError(t, err)
		require.Empty(t, found)
	},
	"CreateSource": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.CreateSource(t.Context(), &models.CloudSource{Label: "mine", SourceType: models.SourceTypeUpload, SkillID: &f.skill})
		requireCode(t, errs.NotFound, err)
	},
	"UpdateSource": func(t *testing.T, o store.Org, f foreign) {
		_, err := o.UpdateSource(t.Context(), f.source, models.UpdateSourceInput{Label: set(new("mine"))})
		requireCode(t, errs.Forbidden, err)
	},
	"DeleteSource": func(t *testing.T, o store.Org, f foreign) {
		requireCode(t, errs.Forbidden, o.DeleteSource(t.Context(), f.source))
	},
	"SaveContent": func(t *testing.T, o store.Org, f foreign) {
		c := store.Content{SourceID: f.source, BlobHash: fmt.Sprintf("%064x", 1), Files: []*models.SnapshotFile{{Path: "SKILL.md"}}}
		_, err := o.SaveContent(t.Context(), c)
		requireCode(t, errs.Forbidden, err)
		c.Source = &models.CloudSource{Label: "mine", SourceType: models.SourceTypeUpload, SkillID: &f.skill}
		_, err = o.SaveContent(t.Context(), c)
		requireCode(t, errs.NotFound, err)
	},
	"Revalidate": func(t *testing.T, o store.Org, f foreign) {
		require.NoError(t, o.Revalidate(t.Context(), &models.Snapshot{ID: f.snapshot, SourceID: f.source}, store.Findings{RulesVersion: 99}))
	},
	"RepoInstallations": func(t *testing.T, o store.Org, _ foreign) {
		page, err := o.RepoInstallations(t.Context(), everything)
		requireEmptyPage(t, page, err)
	},
	"RepoInstallation": func(t *testing.T, o store.Org, _ foreign) {
		_, err := o.RepoInstallation(t.Context(), 7)
		requireCode(t, errs.Invalid, err)
	},
	"BindInstallation": func(t *testing.T, o store.Org, _ foreign) {
		_, _, err := o.BindInstallation(t.Context(), bind(7, "acme"), true)
		requireCode(t, errs.Conflict, err)
	},
}

func init() { maps.Copy(tenancy, hosting) }

// hosted adds a source with a snapshot and an installation to an organization's objects.
func (w world) hosted(t *testing.T, org store.Org, f *foreign) {
	t.Helper()
	s := w.hostedSource(t, org, "secret", "secret", "SKILL.md=secret")
	f.source, f.skill, f.snapshot, f.report = s.Source.ID, *s.Source.SkillID, s.Snapshot.ID, s.Report.ID
	name := "other"
	if org.ID() == w.acme.ID() {
		name = "acme"
	}
	i, _, err := org.BindInstallation(t.Context(), bind(7, name), true)
	require.NoError(t, err)
	f.repoInstallation = i.ID
}

// The same verbs find what is the organization's own.
func TestOwnSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var f foreign
	w.hosted(t, w.acme, &f)
	o := w.acme
	requireOne(t, o.SourcesByID, f.source)
	requireOne(t, o.SnapshotsByID, f.snapshot)
	requireOne(t, o.CurrentSnapshots, f.source)
	requireOne(t, o.ReportsByID, f.report)
	requireOne(t, o.ReportsOfSnapshots, f.snapshot)
	requireOne(t, o.RepoInstallationsByID, f.repoInstallation)
	changes, err := o.FileChanges(t.Context(), f.snapshot, ids.New(ids.Snapshot, time.Now()))
	require.NoError(t, err)
	require.Len(t, changes, 1)
	for filter, want := range map[*models.SourceFilter]int{
		{SkillID: set(&f.skill)}: 1, {SkillID: set(&f.source)}: 0, {Type: set(new(models.SourceTypeUpload))}: 1, {Type: set(new(models.SourceTypeRepohost))}: 0,
		{LabelContains: set(new("ECR"))}: 1, {LabelContains: set(new("%"))}: 0,
	} {
		page, err := o.Sources(t.Context(), *filter, everything)
		require.NoError(t, err)
		require.Len(t, page.Nodes, want)
	}
}

// The database itself refuses a link across organizations.
func TestForeignKeysOfSources(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mine, theirs foreign
	w.hosted(t, w.acme, &mine)
	require.NoError(t, w.GrantAccount(t.Context(), "other", "other"))
	s := w.hostedSource(t, w.other, "theirs", "theirs", "SKILL.md=1")
	theirs.source, theirs.skill, theirs.snapshot = s.Source.ID, *s.Source.SkillID, s.Snapshot.ID
	i, _, err := w.other.BindInstallation(t.Context(), bind(8, "other"), true)
	require.NoError(t, err)
	theirs.repoInstallation = i.ID
	conn := w.conn(t)
	for name, row := range map[string]struct {
		sql      string
		own, bad []any
	}{
		"source to skill":        {"UPDATE cloud_sources SET skill_id = $2 WHERE org_id = $1", []any{w.acme.ID(), mine.skill}, []any{w.acme.ID(), theirs.skill}},
		"source to installation": {"UPDATE cloud_sources SET repo_installation_id = $2 WHERE org_id = $1", []any{w.acme.ID(), mine.repoInstallation}, []any{w.acme.ID(), theirs.repoInstallation}},
		"source to maker":        {"UPDATE cloud_sources SET created_by = $2 WHERE org_id = $1", []any{w.acme.ID(), w.owner.UserID}, []any{w.acme.ID(), w.stranger.UserID}},
		"snapshot to source":     {"UPDATE snapshots SET source_id = $2 WHERE org_id = $1", []any{w.acme.ID(), mine.source}, []any{w.acme.ID(), theirs.source}},
		"snapshot to maker":      {"UPDATE snapshots SET created_by = $2 WHERE org_id = $1", []any{w.acme.ID(), w.owner.UserID}, []any{w.acme.ID(), w.stranger.UserID}},
		"file to snapshot":       {"UPDATE snapshot_files SET snapshot_id = $2 WHERE org_id = $1", []any{w.acme.ID(), mine.snapshot}, []any{w.acme.ID(), theirs.snapshot}},
		"report to snapshot":     {"UPDATE validation_reports SET snapshot_id = $2 WHERE org_id = $1", []any{w.acme.ID(), mine.snapshot}, []any{w.acme.ID(), theirs.snapshot}},
		"report to source":       {"UPDATE validation_reports SET source_id = $2 WHERE org_id = $1", []any{w.acme.ID(), mine.source}, []any{w.acme.ID(), theirs.source}},
		"snapshot to its bytes":  {"UPDATE snapshots SET blob_hash = $2 WHERE org_id = $1", []any{w.acme.ID(), fmt.Sprintf("%064x", 1)}, []any{w.acme.ID(), fmt.Sprintf("%064x", 7)}},
	} {
		_, err := conn.Exec(t.Context(), row.sql, row.own...)
		require.NoError(t, err, "%s: the statement is fine inside one organization", name)
		_, err = conn.Exec(t.Context(), row.sql, row.bad...)
		var pg *pgconn.PgError
		require.ErrorAs(t, err, &pg, name)
		require.Equal(t, "23503", pg.Code, "%s: %s", name, pg.Message)
	}
}
