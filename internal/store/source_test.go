package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/ids"
	"skillgraph/internal/store"
	"skillgraph/models"
)

// blobOf is a blob that is there, as far as the database knows; n tells one from the other.
func (w world) blobOf(t testing.TB, n int) string {
	hash := fmt.Sprintf("%064x", n)
	require.NoError(t, w.TouchBlob(context.WithoutCancel(t.Context()), hash, 1))
	return hash
}

// content is a folder with a valid SKILL.md of that name, where it has one, and files as "path=content".
func (w world) content(t testing.TB, name string, files ...string) store.Content {
	t.Helper()
	c := store.Content{BlobHash: w.blobOf(t, 1), Findings: store.Findings{RulesVersion: 1, SkillName: name}}
	if name == "" {
		c.Findings.Issues = []*models.ValidationIssue{{Level: models.IssueLevelError, Code: "name_missing", Message: "must have a name", Path: new("SKILL.md"), Line: new(1)}}
	}
	slices.Sort(files)
	for _, f := range files {
		path, text, _ := strings.Cut(f, "=")
		c.Files = append(c.Files, &models.SnapshotFile{Path: path, Size: int64(len(text)), SHA256: text})
	}
	return c
}

// into is content for a source that is there.
func into(id ids.ID, c store.Content) store.Content {
	c.SourceID = id
	return c
}

// hostedSource is a new source with content.
func (w world) hostedSource(t testing.TB, org store.Org, label, name string, files ...string) *store.Saved {
	t.Helper()
	c := w.content(t, name, files...)
	c.Source = &models.CloudSource{Label: label, SourceType: models.SourceTypeUpload}
	saved, err := org.SaveContent(t.Context(), c)
	require.NoError(t, err)
	return saved
}

func (w world) save(t testing.TB, org store.Org, c store.Content) *store.Saved {
	t.Helper()
	saved, err := org.SaveContent(t.Context(), c)
	require.NoError(t, err)
	return saved
}

func numbers(t *testing.T, org store.Org, source ids.ID) []int {
	t.Helper()
	pages, err := org.SnapshotsOf(t.Context(), []ids.ID{source}, everything)
	require.NoError(t, err)
	out := []int{}
	for _, s := range pages[source].Nodes {
		out = append(out, s.Number)
	}
	return out
}

// The same content makes no snapshot; what was there before the last one does.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.hostedSource(t, w.acme, "folder", "pdf", "SKILL.md=a", "b.txt=bb")
	id := first.Source.ID
	require.True(t, first.IsNew)
	require.Equal(t, 1, first.Snapshot.Number)
	require.Equal(t, 2, first.Snapshot.FileCount)
	require.Equal(t, int64(3), first.Snapshot.TotalBytes)
	require.Equal(t, models.ValidationStatusPassed, first.Report.Status)
	require.Empty(t, first.Report.Issues)

	again := w.save(t, w.acme, into(id, w.content(t, "pdf", "b.txt=bb", "SKILL.md=a")))
	require.False(t, again.IsNew)
	require.Equal(t, first.Snapshot, again.Snapshot, "to the letter, as it was stored")
	require.Equal(t, first.Report, again.Report)

	ref := "0123456789"
	c := into(id, w.content(t, "", "SKILL.md=c"))
	c.SourceRef, c.Skipped = &ref, []models.SkippedEntry{{Path: "l", Kind: "symlink"}}
	second := w.save(t, w.acme, c)
	require.True(t, second.IsNew)
	require.Equal(t, 2, second.Snapshot.Number)
	require.Equal(t, models.ValidationStatusFailed, second.Report.Status)
	third := w.save(t, w.acme, into(id, w.content(t, "pdf", "SKILL.md=a", "b.txt=bb")))
	require.True(t, third.IsNew, "it is not what the source held last")
	require.Equal(t, first.Snapshot.ContentHash, third.Snapshot.ContentHash)
	require.Equal(t, []int{3, 2, 1}, numbers(t, w.acme, id))

	current, err := w.acme.CurrentSnapshots(t.Context(), []ids.ID{id})
	require.NoError(t, err)
	require.Equal(t, third.Snapshot, current[id])
	stored, err := w.acme.Snapshot(t.Context(), second.Snapshot.ID)
	require.NoError(t, err)
	require.Equal(t, second.Snapshot, stored)
	reports, err := w.acme.ReportsByID(t.Context(), []ids.ID{second.Report.ID})
	require.NoError(t, err)
	require.Equal(t, second.Report, reports[second.Report.ID])
	require.Equal(t, []string{"source.created", "source.linked", "snapshot.created", "snapshot.created", "snapshot.created"}, happened(t, w.acme)[1:])
}

// Whoever brings the same at the same time brings one snapshot; others wait for their number.
func TestSnapshotsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	same, others := w.hostedSource(t, w.acme, "same", "pdf", "SKILL.md=0").Source.ID, w.hostedSource(t, w.acme, "others", "pdf", "SKILL.md=0").Source.ID
	contents := []store.Content{}
	for n := range 8 {
		contents = append(contents, into(same, w.content(t, "pdf", "SKILL.md=1")), into(others, w.content(t, "pdf", fmt.Sprint("SKILL.md=", n+1))))
	}
	saved := make([]*store.Saved, len(contents))
	var wait sync.WaitGroup
	for i, c := range contents {
		wait.Go(func() {
			var err error
			if saved[i], err = w.acme.SaveContent(context.WithoutCancel(t.Context()), c); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	require.False(t, t.Failed())
	made := 0
	for _, s := range saved {
		require.NotNil(t, s.Report)
		if s.Source.ID == same {
			require.Equal(t, 2, s.Snapshot.Number)
			if s.IsNew {
				made++
			}
		}
	}
	require.Equal(t, 1, made)
	require.Equal(t, []int{2, 1}, numbers(t, w.acme, same))
	require.Equal(t, []int{9, 8, 7, 6, 5, 4, 3, 2, 1}, numbers(t, w.acme, others))
}

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

// Paths come byte by byte, whatever the database's language.
func TestFilesOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paths := []string{"B=1", "SKILL.md=1", "a=1", "a-b=1", "a.b=1", "a/b=1", "b=1", "ä=1"}
	s := w.hostedSource(t, w.acme, "folder", "pdf", slices.Clone(paths)...).Snapshot
	seen, window := []string{}, models.Window{Limit: 3}
	for {
		pages, err := w.acme.FilesOf(t.Context(), []ids.ID{s.ID}, window)
		require.NoError(t, err)
		for _, f := range pages[s.ID].Nodes {
			seen = append(seen, f.Path+"=1")
			require.Equal(t, s.BlobHash, f.BlobHash)
		}
		if !pages[s.ID].PageInfo.HasNextPage {
			break
		}
		window, err = models.PageArgs{First: new(3), After: pages[s.ID].PageInfo.EndCursor}.Window()
		require.NoError(t, err)
	}
	require.Equal(t, paths, seen)

	at, err := w.acme.FileAt(t.Context(), []ids.ID{s.ID}, "a/b")
	require.NoError(t, err)
	require.Equal(t, &models.SnapshotFile{SnapshotID: s.ID, Path: "a/b", Size: 1, SHA256: "1", BlobHash: s.BlobHash}, at[s.ID])
	at, err = w.acme.FileAt(t.Context(), []ids.ID{s.ID}, "A/b")
	require.NoError(t, err)
	require.Empty(t, at)
}

func TestFileChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.hostedSource(t, w.acme, "a", "pdf", "SKILL.md=1", "gone=22", "same=3").Snapshot
	b := w.hostedSource(t, w.acme, "b", "pdf", "SKILL.md=22", "new=1", "same=3").Snapshot
	got, err := w.acme.FileChanges(t.Context(), a.ID, b.ID)
	require.NoError(t, err)
	require.Equal(t, []*models.FileChange{
		{Path: "SKILL.md", Status: models.FileStatusChanged, OldSize: new(int64(1)), NewSize: new(int64(2)), OldSHA256: new("1"), NewSHA256: new("22")},
		{Path: "gone", Status: models.FileStatusRemoved, OldSize: new(int64(2)), OldSHA256: new("22")},
		{Path: "new", Status: models.FileStatusAdded, NewSize: new(int64(1)), NewSHA256: new("1")},
	}, got)
	none, err := w.acme.FileChanges(t.Context(), a.ID, a.ID)
	require.NoError(t, err)
	require.Empty(t, none)
}

// Newer rules add a report to every snapshot, once, and may link a source.
func TestRevalidate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.hostedSource(t, w.acme, "folder", "", "SKILL.md=1")
	now := w.save(t, w.acme, into(old.Source.ID, w.content(t, "", "SKILL.md=2")))
	foreign := w.hostedSource(t, w.other, "folder", "pdf", "SKILL.md=1")
	stale := func(rules int) []ids.ID {
		out := []ids.ID{}
		for after := (ids.ID{}); ; {
			found, err := w.StaleSnapshots(t.Context(), rules, after, 2)
			require.NoError(t, err)
			if len(found) == 0 {
				return out
			}
			for _, s := range found {
				out, after = append(out, s.ID), s.ID
			}
		}
	}
	require.Empty(t, stale(1))
	want := []ids.ID{old.Snapshot.ID, now.Snapshot.ID, foreign.Snapshot.ID}
	slices.SortFunc(want, func(a, b ids.ID) int { return strings.Compare(a.String(), b.String()) })
	require.Equal(t, want, stale(2))

	fine := store.Findings{RulesVersion: 2, SkillName: "pdf"}
	before := len(events(t, w.acme))
	for range 2 { // the second time there is nothing to do
		require.NoError(t, w.acme.Revalidate(t.Context(), old.Snapshot, fine))
		s, err := w.acme.Source(t.Context(), old.Source.ID)
		require.NoError(t, err)
		require.Nil(t, s.SkillID, "it is not what the source holds")
	}
	require.NoError(t, w.acme.Revalidate(t.Context(), now.Snapshot, fine))
	s, err := w.acme.Source(t.Context(), old.Source.ID)
	require.NoError(t, err)
	require.NotNil(t, s.SkillID)
	require.Equal(t, []string{"snapshot.revalidated", "source.linked", "snapshot.revalidated"}, happened(t, w.acme)[before:])
	require.Equal(t, []ids.ID{foreign.Snapshot.ID}, stale(2))

	newest, err := w.acme.ReportsOfSnapshots(t.Context(), []ids.ID{old.Snapshot.ID})
	require.NoError(t, err)
	require.Equal(t, 2, newest[old.Snapshot.ID].RulesVersion)
	require.Equal(t, models.ValidationStatusPassed, newest[old.Snapshot.ID].Status)
	all, err := w.acme.ReportsOf(t.Context(), []ids.ID{old.Source.ID}, everything)
	require.NoError(t, err)
	require.Len(t, all[old.Source.ID].Nodes, 4, "the former reports stay")

	require.NoError(t, w.other.DeleteSource(t.Context(), foreign.Source.ID))
	require.NoError(t, w.other.Revalidate(t.Context(), foreign.Snapshot, fine), "somebody has deleted it meanwhile")
	require.Empty(t, stale(2))
}

func bind(number int64, login string) *models.RepoInstallation {
	return &models.RepoInstallation{InstallationID: number, AccountLogin: login, AccountType: models.AccountTypeOrganization}
}

func TestBindInstallation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	first, isNew, err := w.acme.BindInstallation(ctx, bind(7, "acme"), true)
	require.NoError(t, err)
	require.True(t, isNew)
	change := bind(7, "acme")
	change.AccountType, change.Suspended = models.AccountTypeUser, true
	again, isNew, err := w.acme.BindInstallation(ctx, change, true)
	require.NoError(t, err)
	require.False(t, isNew)
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, first.CreatedAt, again.CreatedAt)
	require.True(t, again.Suspended)
	require.Equal(t, models.AccountTypeUser, again.AccountType)
	stored, err := w.acme.RepoInstallation(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, again, stored)

	// Whose it is comes first.
	_, _, err = w.other.BindInstallation(ctx, bind(7, "acme"), true)
	requireCode(t, errs.Conflict, err)
	_, _, err = w.other.BindInstallation(ctx, bind(8, "acme"), true)
	requireCode(t, errs.Forbidden, err)
	_, _, err = w.acme.BindInstallation(ctx, bind(7, "elsewhere"), true)
	requireCode(t, errs.Forbidden, err)
	stored, err = w.acme.RepoInstallation(ctx, 7)
	require.NoError(t, err)
	require.Equal(t, again, stored, "what is refused changes nothing")
	_, err = w.other.RepoInstallation(ctx, 8)
	require.EqualError(t, err, "no installation 8 is bound to this organization")

	for range 2 {
		require.NoError(t, w.GrantAccount(ctx, "other", "acme"))
	}
	_, isNew, err = w.other.BindInstallation(ctx, bind(8, "acme"), true)
	require.NoError(t, err)
	require.True(t, isNew)
	_, _, err = w.other.BindInstallation(ctx, bind(9, "Acme"), true)
	requireCode(t, errs.Forbidden, err)
	requireCode(t, errs.NotFound, w.GrantAccount(ctx, "nobody", "acme"))
	requireCode(t, errs.Invalid, w.GrantAccount(ctx, "other", "../acme"))
	require.Equal(t, []string{"key.created", "organization.account_granted", "installation.bound"}, happened(t, w.other))
	require.Equal(t, []string{"key.created", "installation.bound", "installation.changed"}, happened(t, w.acme))
}

// Two organizations that bind the same installation at once: one has it.
func TestBindAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for number := range int64(10) {
		var wait sync.WaitGroup
		errors := map[string]*error{"acme": new(error), "other": new(error)}
		for name, org := range map[string]store.Org{"acme": w.acme, "other": w.other} {
			wait.Go(func() {
				_, _, *errors[name] = org.BindInstallation(context.WithoutCancel(t.Context()), bind(number+1, name), true)
			})
		}
		wait.Wait()
		won := 0
		for _, err := range errors {
			if *err == nil {
				won++
			} else {
				requireCode(t, errs.Conflict, *err)
			}
		}
		require.Equal(t, 1, won)
	}
	require.Equal(t, 10, w.count(t, "SELECT count(*) FROM repo_installations"))
}

// hosting is the part of the table of tenancy that is about sources: here the other organization has one with a snapshot.
var hosting = map[string]func(t *testing.T, o store.Org, f foreign){
	"SourcesByID":           func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.SourcesByID, f.source) },
	"SnapshotsByID":         func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.SnapshotsByID, f.snapshot) },
	"CurrentSnapshots":      func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.CurrentSnapshots, f.source) },
	"ReportsByID":           func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.ReportsByID, f.report) },
	"ReportsOfSnapshots":    func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.ReportsOfSnapshots, f.snapshot) },
	"RepoInstallationsByID": func(t *testing.T, o store.Org, f foreign) { requireNone(t, o.RepoInstallationsByID, f.installation) },
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
		pages, err := o.SourcesOf(t.Context(), []ids.ID{f.skill}, everything)
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
	f.installation = i.ID
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
	requireOne(t, o.RepoInstallationsByID, f.installation)
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
	theirs.installation = i.ID
	conn := w.conn(t)
	for name, row := range map[string]struct {
		sql      string
		own, bad []any
	}{
		"source to skill":        {"UPDATE cloud_sources SET skill_id = $2 WHERE org_id = $1", []any{w.acme.ID(), mine.skill}, []any{w.acme.ID(), theirs.skill}},
		"source to installation": {"UPDATE cloud_sources SET repo_installation_id = $2 WHERE org_id = $1", []any{w.acme.ID(), mine.installation}, []any{w.acme.ID(), theirs.installation}},
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
