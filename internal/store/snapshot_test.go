package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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
		window, err = models.PageArgs{First: new(3), After: pages[s.ID].PageInfo.EndCursor()}.Window()
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
