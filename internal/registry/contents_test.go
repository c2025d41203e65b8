package registry_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/blob"
	"skillgraph/internal/ids"
	"skillgraph/models"
)

// tree publishes an archive.
func (s *shop) tree(t *testing.T, files ...file) *models.RegistryVersion {
	t.Helper()
	if s.shelf == nil {
		out := s.entry(t, s.acme, packed(t, file{"first", "first"}))
		s.shelf = &out.Entry.ID
	}
	return s.push(t, s.acme, *s.shelf, ids.New(ids.Unknown, s.now()).String(), packed(t, files...))
}

// shown are the changes of a diff with their texts.
func shown(t *testing.T, d *models.SnapshotDiff) (out []string) {
	t.Helper()
	for _, c := range d.Files {
		text, err := c.UnifiedDiff(t.Context())
		require.NoError(t, err)
		line := fmt.Sprintf("%s %s", c.Status, c.Path)
		if text != nil {
			line += ": " + strings.ReplaceAll(*text, "\n", "|")
		}
		out = append(out, line)
	}
	return out
}

// noise is text of a size that has nothing in common with other noise.
func noise(kind string, size int) string {
	var b strings.Builder
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, "%s line %d\n", kind, n)
	}
	return b.String()[:size]
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
		got, err := s.File(t.Context(), s.acme, tree, path)
		require.NoError(t, err)
		require.NotNil(t, got, path)
		require.Equal(t, path, got.Path)
		require.Equal(t, text, got.Text, path)
	}
	for _, path := range []string{"", "skill.md", "./SKILL.md", "docs", "docs/", "../SKILL.md", "SKILL.md/", "a\x00"} {
		got, err := s.File(t.Context(), s.acme, tree, path)
		require.NoError(t, err)
		require.Nil(t, got, path)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	before := s.tree(t, file{"same", "same"}, file{"SKILL.md", "one\ntwo\nthree\n"}, file{"old-name", "moved\n"}, file{"gone", "gone\n"}, file{"image", "\x00\x01"}, file{"becomes-binary", "text"}, file{"becomes-text", "\x00"}, file{"end", "no newline"}, file{"folder/x", "x"})
	after := s.tree(t, file{"folder", "x"}, file{"same", "same"}, file{"SKILL.md", "one\n2\nthree\n"}, file{"new-name", "moved\n"}, file{"added", "added\n"}, file{"empty", ""}, file{"image", "\x00\x02"}, file{"becomes-binary", "\x00"}, file{"becomes-text", "text"}, file{"end", "no newline\n"})
	got, err := s.Diff(t.Context(), s.acme, before, after)
	require.NoError(t, err)
	require.Equal(t, []string{
		"CHANGED SKILL.md: --- a/SKILL.md|+++ b/SKILL.md|@@ -1,3 +1,3 @@| one|-two|+2| three|",
		"ADDED added: --- /dev/null|+++ b/added|@@ -0,0 +1 @@|+added|",
		"CHANGED becomes-binary", "CHANGED becomes-text",
		"ADDED empty: ",
		`CHANGED end: --- a/end|+++ b/end|@@ -1 +1 @@|-no newline|\ No newline at end of file|+no newline|`,
		`ADDED folder: --- /dev/null|+++ b/folder|@@ -0,0 +1 @@|+x|\ No newline at end of file|`,
		`REMOVED folder/x: --- a/folder/x|+++ /dev/null|@@ -1 +0,0 @@|-x|\ No newline at end of file|`,
		"REMOVED gone: --- a/gone|+++ /dev/null|@@ -1 +0,0 @@|-gone|",
		"CHANGED image",
		"ADDED new-name: --- /dev/null|+++ b/new-name|@@ -0,0 +1 @@|+moved|",
		"REMOVED old-name: --- a/old-name|+++ /dev/null|@@ -1 +0,0 @@|-moved|",
	}, shown(t, got))
	require.Equal(t, [3]int{4, 3, 5}, [3]int{got.Added, got.Removed, got.Changed})

	same, err := s.Diff(t.Context(), s.acme, before, before)
	require.NoError(t, err)
	require.Empty(t, same.Files)
	first, err := s.Diff(t.Context(), s.acme, nil, before)
	require.NoError(t, err)
	require.Equal(t, [3]int{before.FileCount, 0, 0}, [3]int{first.Added, first.Removed, first.Changed})
	require.Contains(t, shown(t, first), "ADDED gone: --- /dev/null|+++ b/gone|@@ -0,0 +1 @@|+gone|")

	revoked, err := s.acme.RevokeVersion(t.Context(), before.ID, nil)
	require.NoError(t, err)
	closed, err := s.Diff(t.Context(), s.acme, revoked.Version, after)
	require.NoError(t, err)
	require.Contains(t, shown(t, closed), "CHANGED SKILL.md", "the texts of a revoked version are closed")
	file, err := s.File(t.Context(), s.acme, revoked.Version, "SKILL.md")
	require.NoError(t, err)
	require.Nil(t, file.Text)
}

// Large files are not compared, and no more is read than a few megabytes, however many files have changed.
func TestDiffLimits(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, sizes := range [][2]int{{10, 200*kib + 1}, {200*kib + 1, 10}} {
		got, err := s.Diff(t.Context(), s.acme, s.tree(t, file{"f", noise("f", sizes[0])}), s.tree(t, file{"f", noise("f", sizes[1])}))
		require.NoError(t, err)
		require.Equal(t, []string{"CHANGED f"}, shown(t, got))
	}
	var was, is []file
	for n := range 60 {
		text := noise(fmt.Sprint(n), 190*kib)
		was, is = append(was, file{fmt.Sprintf("f%02d", n), text}), append(is, file{fmt.Sprintf("f%02d", n), "!" + text[1:]})
	}
	got, err := s.Diff(t.Context(), s.acme, s.tree(t, was...), s.tree(t, is...))
	require.NoError(t, err)
	require.Equal(t, 60, got.Changed)
	for n, line := range shown(t, got) {
		require.Equal(t, n < 4<<20/(2*190*kib), strings.Contains(line, ":"), line)
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
	_, err := s.File(gone, s.acme, big, "b")
	require.ErrorIs(t, err, context.Canceled)

	path := filepath.Join(s.folder, tree.ContentHash)
	require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o600))
	_, err = s.File(t.Context(), s.acme, tree, "SKILL.md")
	require.ErrorIs(t, err, blob.ErrCorrupt)
	d, err := s.Diff(t.Context(), s.acme, tree, other)
	require.NoError(t, err)
	_, err = d.Files[0].UnifiedDiff(t.Context())
	require.ErrorIs(t, err, blob.ErrCorrupt)
	require.NoError(t, os.Remove(path))
	_, err = s.File(t.Context(), s.acme, tree, "SKILL.md")
	require.ErrorIs(t, err, blob.ErrMissing)
}
