package registry_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/blob"
	"skillgraph/internal/registry"
	"skillgraph/models"
)

// tree stores an archive and returns what is known of it.
func (s *shop) tree(t *testing.T, files ...file) registry.Tree {
	t.Helper()
	archive := packed(t, files...)
	a, err := registry.Inspect(bytes.NewReader(archive))
	require.NoError(t, err)
	require.NoError(t, s.Blobs.Put(t.Context(), a.Hash, int64(a.Size), bytes.NewReader(archive)))
	out := registry.Tree{Hash: a.Hash}
	for i := range a.Files {
		out.Files = append(out.Files, &a.Files[i])
	}
	return out
}

// noise is text of a size that has nothing in common with other noise.
func noise(kind string, size int) string {
	line := kind + strings.Repeat(" line", 20) + "\n"
	return strings.Repeat(line, size/len(line)+1)[:size]
}

const kib = 1 << 10

func TestFile(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	limit, more := noise("l", 200*kib), noise("m", 200*kib+1)
	tree := s.tree(t, file{"./SKILL.md", "# Skill\r\n🦊"}, file{"empty", ""}, file{"nul", "a\x00b"}, file{"latin", "caf\xe9"}, file{"limit", limit}, file{"more", more}, file{"docs/a/b.md", "deep"})
	for path, text := range map[string]*string{
		"SKILL.md": new("# Skill\r\n🦊"), "empty": new(""), "nul": nil, "latin": nil, "limit": &limit, "more": nil, "docs/a/b.md": new("deep"),
	} {
		got, err := s.File(t.Context(), tree, path)
		require.NoError(t, err)
		require.NotNil(t, got, path)
		require.Equal(t, path, got.Path)
		require.Equal(t, text, got.Text, path)
		for _, f := range tree.Files {
			if f.Path == path {
				require.Equal(t, f.Size, got.Size)
				require.Equal(t, f.SHA256, got.Sha256)
			}
		}
	}
	for _, path := range []string{"", "skill.md", "./SKILL.md", "docs", "docs/", "../SKILL.md", "SKILL.md/", "a\x00"} {
		got, err := s.File(t.Context(), tree, path)
		require.NoError(t, err)
		require.Nil(t, got, path)
	}
	got, err := s.File(t.Context(), registry.Tree{}, "SKILL.md")
	require.NoError(t, err)
	require.Nil(t, got)
}

func TestDiff(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	before := s.tree(t, file{"same", "same"}, file{"SKILL.md", "one\ntwo\nthree\n"}, file{"old-name", "moved\n"}, file{"gone", "gone\n"}, file{"image", "\x00\x01"}, file{"becomes-binary", "text"}, file{"becomes-text", "\x00"}, file{"end", "no newline"}, file{"folder/x", "x"})
	after := s.tree(t, file{"folder", "x"}, file{"same", "same"}, file{"SKILL.md", "one\n2\nthree\n"}, file{"new-name", "moved\n"}, file{"added", "added\n"}, file{"empty", ""}, file{"image", "\x00\x02"}, file{"becomes-binary", "\x00"}, file{"becomes-text", "text"}, file{"end", "no newline\n"})
	got, err := s.Diff(t.Context(), before, after)
	require.NoError(t, err)
	lines := func(s ...string) *string { return new(strings.Join(s, "\n") + "\n") }
	want := []*models.FileChange{
		{Path: "SKILL.md", Kind: models.FileChangeKindChanged, OldSize: new(14), NewSize: new(12), Unified: lines("--- a/SKILL.md", "+++ b/SKILL.md", "@@ -1,3 +1,3 @@", " one", "-two", "+2", " three")},
		{Path: "added", Kind: models.FileChangeKindAdded, NewSize: new(6), Unified: lines("--- /dev/null", "+++ b/added", "@@ -0,0 +1 @@", "+added")},
		{Path: "becomes-binary", Kind: models.FileChangeKindChanged, OldSize: new(4), NewSize: new(1)},
		{Path: "becomes-text", Kind: models.FileChangeKindChanged, OldSize: new(1), NewSize: new(4)},
		{Path: "empty", Kind: models.FileChangeKindAdded, NewSize: new(0), Unified: new("")},
		{Path: "end", Kind: models.FileChangeKindChanged, OldSize: new(10), NewSize: new(11), Unified: lines("--- a/end", "+++ b/end", "@@ -1 +1 @@", "-no newline", `\ No newline at end of file`, "+no newline")},
		{Path: "folder", Kind: models.FileChangeKindAdded, NewSize: new(1), Unified: lines("--- /dev/null", "+++ b/folder", "@@ -0,0 +1 @@", "+x", `\ No newline at end of file`)},
		{Path: "folder/x", Kind: models.FileChangeKindRemoved, OldSize: new(1), Unified: lines("--- a/folder/x", "+++ /dev/null", "@@ -1 +0,0 @@", "-x", `\ No newline at end of file`)},
		{Path: "gone", Kind: models.FileChangeKindRemoved, OldSize: new(5), Unified: lines("--- a/gone", "+++ /dev/null", "@@ -1 +0,0 @@", "-gone")},
		{Path: "image", Kind: models.FileChangeKindChanged, OldSize: new(2), NewSize: new(2)},
		{Path: "new-name", Kind: models.FileChangeKindAdded, NewSize: new(6), Unified: lines("--- /dev/null", "+++ b/new-name", "@@ -0,0 +1 @@", "+moved")},
		{Path: "old-name", Kind: models.FileChangeKindRemoved, OldSize: new(6), Unified: lines("--- a/old-name", "+++ /dev/null", "@@ -1 +0,0 @@", "-moved")},
	}
	require.Equal(t, want, got.Files)
	require.Equal(t, [3]int{4, 3, 5}, [3]int{got.Added, got.Removed, got.Changed})

	same, err := s.Diff(t.Context(), before, before)
	require.NoError(t, err)
	require.Equal(t, &models.FileChanges{}, same)
	first, err := s.Diff(t.Context(), registry.Tree{}, before)
	require.NoError(t, err)
	require.Equal(t, [3]int{len(before.Files), 0, 0}, [3]int{first.Added, first.Removed, first.Changed})
	last, err := s.Diff(t.Context(), after, registry.Tree{})
	require.NoError(t, err)
	require.Equal(t, [3]int{0, len(after.Files), 0}, [3]int{last.Added, last.Removed, last.Changed})
}

// Large files are not compared, and no more is shown than there is room for.
func TestDiffLimits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	files := []file{{"limit", noise("l", 200*kib)}, {"more", noise("m", 200*kib+1)}, {"z-last", "small\n"}}
	for n := range 10 {
		files = append(files, file{fmt.Sprint("n", n), noise(fmt.Sprint(n), 150*kib)})
	}
	got, err := s.Diff(t.Context(), registry.Tree{}, s.tree(t, files...))
	require.NoError(t, err)
	total, shown := 0, []string{}
	for _, c := range got.Files {
		if c.Unified != nil {
			total += len(*c.Unified)
			shown = append(shown, c.Path)
		}
	}
	require.Equal(t, 13, got.Added, "what is not shown is counted")
	require.LessOrEqual(t, total, 1<<20)
	require.Equal(t, []string{"limit", "n0", "n1", "n2", "n3", "n4", "z-last"}, shown)

	// A file that has become too large, or was.
	for _, sizes := range [][2]int{{10, 200*kib + 1}, {200*kib + 1, 10}} {
		got, err := s.Diff(t.Context(), s.tree(t, file{"f", noise("f", sizes[0])}), s.tree(t, file{"f", noise("f", sizes[1])}))
		require.NoError(t, err)
		require.Len(t, got.Files, 1)
		require.Nil(t, got.Files[0].Unified)
	}
}

// However many files have changed a little, no more of them are held in memory than a few megabytes.
func TestDiffOfManyFiles(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var was, is []file
	for n := range 30 {
		text := noise(fmt.Sprint(n), 190*kib)
		was, is = append(was, file{fmt.Sprintf("f%02d", n), text}), append(is, file{fmt.Sprintf("f%02d", n), "!" + text[1:]})
	}
	got, err := s.Diff(t.Context(), s.tree(t, was...), s.tree(t, is...))
	require.NoError(t, err)
	require.Equal(t, 30, got.Changed)
	for n, c := range got.Files {
		require.Equal(t, n < 8<<20/(2*190*kib), c.Unified != nil, c.Path)
	}
}

// Bytes that are damaged or gone are an error of ours, whatever is asked of them; somebody who has gone is not waited for.
func TestContentsOfDamagedBytes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	tree, other := s.tree(t, file{"SKILL.md", "text"}), s.tree(t, file{"SKILL.md", "other"})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	big := s.tree(t, file{"a", noise("a", 300*kib)}, file{"b", "b"})
	_, err := s.File(gone, big, "b")
	require.ErrorIs(t, err, context.Canceled)

	path := filepath.Join(s.folder, tree.Hash)
	require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o600))
	_, err = s.File(t.Context(), tree, "SKILL.md")
	require.ErrorIs(t, err, blob.ErrCorrupt)
	_, err = s.Diff(t.Context(), tree, other)
	require.ErrorIs(t, err, blob.ErrCorrupt)
	require.NoError(t, os.Remove(path))
	_, err = s.File(t.Context(), tree, "SKILL.md")
	require.ErrorIs(t, err, blob.ErrMissing)
	_, err = s.Diff(t.Context(), other, tree)
	require.ErrorIs(t, err, blob.ErrMissing)
}
