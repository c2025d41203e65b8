package repohost_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/archive"
	"skillgraph/internal/errs"
	"skillgraph/internal/repohost"
	"skillgraph/internal/repohost/gitrepo"
	"skillgraph/models"
)

var (
	acme = repohost.Account{InstallationID: 7, Login: "acme"}
	noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
)

func commit(t *testing.T, root, repo, branch string, tree gitrepo.Tree) string {
	t.Helper()
	hash, err := gitrepo.Commit(filepath.Join(root, repo+".git"), branch, tree, noon)
	require.NoError(t, err)
	return hash
}

// read is what a folder holds at the head of main.
func read(t *testing.T, l *repohost.Local, folder string) (map[string]string, []models.SkippedEntry) {
	t.Helper()
	hash, err := l.Resolve(t.Context(), acme, "acme/skills", "main")
	require.NoError(t, err)
	files := map[string]string{}
	skipped, err := l.Read(t.Context(), acme, "acme/skills", hash, folder, func(path string, size int64, content io.Reader) error {
		b, err := io.ReadAll(content)
		require.NoError(t, err)
		require.Len(t, b, int(size), path)
		files[path] = string(b)
		return nil
	})
	require.NoError(t, err)
	return files, skipped
}

func requireConflict(t *testing.T, err error, words string) {
	t.Helper()
	require.EqualError(t, err, words)
	require.Equal(t, errs.Conflict, errs.CodeOf(err))
}

func TestRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := repohost.NewLocal(root)
	large := strings.Repeat("0123456789abcdef", 600<<10) // more than is held in memory
	first := commit(t, root, "acme/skills", "main", gitrepo.Tree{
		"README.md":           {Content: "hello"},
		"pdf/SKILL.md":        {Content: "skill"},
		"pdf/scripts/fill.sh": {Content: "#!/bin/sh", Mode: filemode.Executable},
		"pdf/old.txt":         {Content: "old", Mode: filemode.Deprecated},
		"pdf/link":            {Content: "../README.md", Mode: filemode.Symlink},
		"pdf/lib":             {Content: "0123456789012345678901234567890123456789", Mode: filemode.Submodule},
		"pdf/data.bin":        {Content: large},
	})
	files, skipped := read(t, l, "pdf")
	require.Equal(t, map[string]string{"SKILL.md": "skill", "scripts/fill.sh": "#!/bin/sh", "old.txt": "old", "data.bin": large}, files)
	require.Equal(t, []models.SkippedEntry{{Path: "lib", Kind: "submodule"}, {Path: "link", Kind: "symlink"}}, skipped)
	files, _ = read(t, l, "./pdf/scripts")
	require.Equal(t, map[string]string{"fill.sh": "#!/bin/sh"}, files)
	files, _ = read(t, l, ".")
	require.Len(t, files, 5)

	// A branch moves; a commit stays what it is.
	second := commit(t, root, "acme/skills", "main", gitrepo.Files(map[string]string{"pdf/SKILL.md": "better"}))
	require.NotEqual(t, first, second)
	files, skipped = read(t, l, "pdf")
	require.Equal(t, map[string]string{"SKILL.md": "better"}, files)
	require.Empty(t, skipped)
	visited := 0
	_, err := l.Read(t.Context(), acme, "acme/skills", first, "pdf", func(string, int64, io.Reader) error { visited++; return nil })
	require.NoError(t, err)
	require.Equal(t, 4, visited)

	for _, folder := range []string{"docx", "README.md", "pdf/SKILL.md", "pdf/link", "../acme", "pdf/../pdf", "/pdf"} {
		_, err := l.Read(t.Context(), acme, "acme/skills", second, folder, nil)
		requireConflict(t, err, "The repository acme/skills has no folder \""+folder+"\" at commit "+second[:7])
	}
	for _, branch := range []string{"master", "", "../main", "main/", "refs/heads/main", "HEAD", "a b", "\x00"} {
		_, err := l.Resolve(t.Context(), acme, "acme/skills", branch)
		require.Equal(t, errs.Conflict, errs.CodeOf(err), "%q: %v", branch, err)
		require.ErrorContains(t, err, "has no branch")
	}
}

// The visitor may stop the walk, and so may the caller.
func TestReadStops(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := repohost.NewLocal(root)
	hash := commit(t, root, "acme/skills", "main", gitrepo.Files(map[string]string{"a": "", "b": ""}))
	_, err := l.Read(t.Context(), acme, "acme/skills", hash, ".", func(string, int64, io.Reader) error { return io.ErrClosedPipe })
	require.ErrorIs(t, err, io.ErrClosedPipe)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Read(ctx, acme, "acme/skills", hash, ".", nil)
	require.ErrorIs(t, err, context.Canceled)
}

// An account sees its own folder, and nothing through a link or a step up.
func TestConfined(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := repohost.NewLocal(filepath.Join(root, "repos"))
	secret := gitrepo.Files(map[string]string{"SKILL.md": "secret"})
	theirs := commit(t, root, "repos/other/secret", "main", secret)
	commit(t, root, "outside/secret", "main", secret)
	own := commit(t, root, "repos/acme/skills", "main", secret)
	require.Equal(t, theirs, own, "the same commit, so that whoever looks there finds it")
	link := func(to, from string) { require.NoError(t, os.Symlink(to, filepath.Join(root, "repos", from))) }
	link("../other/secret.git", "acme/linked.git")
	link("../../outside/secret.git", "acme/out.git")
	link("other", "alias")
	link("../outside", "gone")

	for account, repos := range map[string][]string{
		"acme":  {"acme/linked", "acme/out", "acme/nothing", "other/secret", "acme/../other/secret", "../outside/secret", "acme/", "acme", "", "/", "acme/.", "acme/skills.git"},
		"alias": {"alias/secret", "other/secret"},
		"gone":  {"gone/secret"},
		"..":    {"../outside/secret", "../secret"},
		".":     {"./secret"},
		"":      {"/secret", "secret"},
		"Acme":  {"Acme/skills"},
	} {
		a := repohost.Account{Login: account}
		for _, repo := range repos {
			_, err := l.Resolve(t.Context(), a, repo, "main")
			requireConflict(t, err, "There is no repository "+repo+" that the installation of "+account+" may read")
			_, err = l.Read(t.Context(), a, repo, own, ".", nil)
			requireConflict(t, err, "There is no repository "+repo+" that the installation of "+account+" may read")
		}
		list, err := l.Repositories(t.Context(), a)
		require.NoError(t, err)
		if account == "acme" {
			require.Len(t, list, 1)
			require.Equal(t, "acme/skills", list[0].FullName())
		} else {
			require.Empty(t, list, account)
		}
	}

	// Not through what is inside a repository either: a folder of objects that is elsewhere, or a branch that is a file elsewhere.
	hollow := filepath.Join(root, "repos", "acme", "hollow.git")
	_, err := git.PlainInit(hollow, true)
	require.NoError(t, err)
	objects := filepath.Join(root, "repos", "other", "secret.git", "objects")
	require.NoError(t, os.MkdirAll(filepath.Join(hollow, "objects", "info"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(hollow, "objects", "info", "alternates"), []byte(objects+"\n../../other/secret.git/objects\n"), 0o600))
	_, err = l.Read(t.Context(), acme, "acme/hollow", own, ".", nil)
	require.Error(t, err)
	require.NoError(t, os.RemoveAll(filepath.Join(hollow, "objects")))
	require.NoError(t, os.Symlink(objects, filepath.Join(hollow, "objects")))
	_, err = l.Read(t.Context(), acme, "acme/hollow", own, ".", nil)
	require.Error(t, err)
}

func TestRepositories(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := repohost.NewLocal(root)
	commit(t, root, "acme/b", "trunk", gitrepo.Files(map[string]string{"a": ""}))
	_, err := gitrepo.Commit(filepath.Join(root, "acme/b.git"), "later", gitrepo.Files(map[string]string{"a": ""}), noon.Add(time.Hour))
	require.NoError(t, err)
	_, err = git.PlainInit(filepath.Join(root, "acme", "a.git"), true)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "acme", "no-repository.git"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "acme", "folder"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "acme", "file.git"), nil, 0o600))

	list, err := l.Repositories(t.Context(), acme)
	require.NoError(t, err)
	later := noon.Add(time.Hour)
	require.Equal(t, []repohost.Repository{
		{ID: list[0].ID, Owner: "acme", Name: "a", DefaultBranch: "master", Visibility: "private"},
		{ID: list[1].ID, Owner: "acme", Name: "b", DefaultBranch: "trunk", Visibility: "private", PushedAt: &later},
	}, list)
	for _, r := range list {
		require.Positive(t, r.ID)
		require.Less(t, r.ID, int64(1)<<53)
	}
	require.NotEqual(t, list[0].ID, list[1].ID)
	again, err := repohost.NewLocal(root).Repositories(t.Context(), acme)
	require.NoError(t, err)
	require.Equal(t, list, again)

	none, err := repohost.NewLocal(filepath.Join(root, "nowhere")).Repositories(t.Context(), acme)
	require.NoError(t, err)
	require.Empty(t, none)
}

// A tree of a few hundred bytes may unfold into a billion files.
func TestTreeBomb(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := repohost.NewLocal(root)
	dir := filepath.Join(root, "acme", "bomb.git")
	hash, err := gitrepo.Commit(dir, "main", gitrepo.Files(map[string]string{"a": ""}), noon)
	require.NoError(t, err)
	for name, mode := range map[string]filemode.FileMode{"files": filemode.Regular, "submodules": filemode.Submodule} {
		visited := 0
		_, err = l.Read(t.Context(), acme, "acme/bomb", unfold(t, dir, hash, mode), ".", func(string, int64, io.Reader) error { visited++; return nil })
		require.EqualError(t, err, "The folder has more than 10000 entries", name)
		require.Equal(t, errs.TooLarge, errs.CodeOf(err))
		require.LessOrEqual(t, visited, archive.MaxEntries)
	}
}

// unfold makes a commit whose tree has ten folders which have ten folders, and so on, nine times.
func unfold(t *testing.T, dir, hash string, mode filemode.FileMode) string {
	t.Helper()
	r, err := git.PlainOpen(dir)
	require.NoError(t, err)
	c, err := r.CommitObject(plumbing.NewHash(hash))
	require.NoError(t, err)
	tree, err := c.Tree()
	require.NoError(t, err)
	save := func(o object.Object) plumbing.Hash {
		raw := r.Storer.NewEncodedObject()
		require.NoError(t, o.Encode(raw))
		h, err := r.Storer.SetEncodedObject(raw)
		require.NoError(t, err)
		return h
	}
	inner := object.TreeEntry{Mode: mode, Hash: tree.Entries[0].Hash}
	for range 9 {
		level := &object.Tree{}
		for i := range 10 {
			e := inner
			e.Name = string(rune('a' + i))
			level.Entries = append(level.Entries, e)
		}
		inner = object.TreeEntry{Mode: filemode.Dir, Hash: save(level)}
	}
	c.TreeHash = inner.Hash
	return save(c).String()
}

// What git itself has written and packed, with deltas, reads the same.
func TestPacked(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root, work := t.TempDir(), t.TempDir()
	bare := filepath.Join(root, "acme", "skills.git")
	run := func(dir string, args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
		return strings.TrimSpace(string(out))
	}
	run(root, "init", "-q", "--bare", "-b", "main", bare)
	run(work, "init", "-q", "-b", "main")
	var text bytes.Buffer
	for i := range 200 {
		text.WriteString(strings.Repeat("line ", 20) + "\n")
		require.NoError(t, os.WriteFile(filepath.Join(work, "SKILL.md"), text.Bytes(), 0o600))
		if i%20 == 0 {
			run(work, "add", ".")
			run(work, "commit", "-qm", "more")
		}
	}
	run(work, "add", ".")
	run(work, "commit", "-qm", "last")
	run(work, "push", "-q", bare, "main")
	run(bare, "gc", "-q", "--aggressive", "--prune=now")
	l := repohost.NewLocal(root)
	files, _ := read(t, l, ".")
	require.Equal(t, map[string]string{"SKILL.md": text.String()}, files)
	head, err := l.Resolve(t.Context(), acme, "acme/skills", "main") // from packed-refs
	require.NoError(t, err)
	require.Equal(t, run(work, "rev-parse", "HEAD"), head)
}
