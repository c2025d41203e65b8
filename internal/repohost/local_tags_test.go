package repohost_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"skillgraph/internal/archive"
	"skillgraph/internal/repohost"
	"skillgraph/internal/repohost/gitrepo"
)

// gitCommand is git in a folder, at a time of its own.
func gitCommand(dir string, at time.Time, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE="+at.Format(time.RFC3339),
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_COMMITTER_DATE="+at.Format(time.RFC3339))
	return cmd
}

func runGit(t *testing.T, dir string, at time.Time, args ...string) string {
	t.Helper()
	out, err := gitCommand(dir, at, args...).CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
}

// bareRepository is acme/skills below root, with a clone to work in.
func bareRepository(t *testing.T, root string) (bare, work string) {
	t.Helper()
	needGit(t)
	bare, work = filepath.Join(root, "acme", "skills.git"), filepath.Join(t.TempDir(), "work")
	runGit(t, root, noon, "init", "-q", "--bare", "-b", "main", bare)
	runGit(t, root, noon, "clone", "-q", bare, work)
	runGit(t, work, noon, "checkout", "-q", "-b", "main")
	return bare, work
}

func TestTags(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := repohost.NewLocal(root)
	bare, work := bareRepository(t, root)
	hour := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	none, err := l.Tags(t.Context(), acme, "acme/skills")
	require.NoError(t, err)
	require.Empty(t, none)

	runGit(t, work, hour(0), "commit", "-q", "--allow-empty", "-m", "first")
	first := runGit(t, work, noon, "rev-parse", "HEAD")
	runGit(t, work, hour(5), "commit", "-q", "--allow-empty", "-m", "second")
	second := runGit(t, work, noon, "rev-parse", "HEAD")
	runGit(t, work, noon, "tag", "v2", second)                                                            // lightweight: as old as its commit
	runGit(t, work, hour(9), "tag", "-a", "-m", "late", "v1-late", first)                                 // annotated: made later
	runGit(t, work, hour(3), "tag", "-a", "-m", "inner", "inner", first)                                  // a tag
	runGit(t, work, hour(7), "tag", "-a", "-m", "outer", "release/outer", "inner")                        // of a tag
	runGit(t, work, hour(1), "tag", "-a", "-m", "tree", "of-a-tree", first+"^{tree}")                     // leads to no commit
	runGit(t, work, hour(1), "tag", "of-a-blob", runGit(t, work, noon, "hash-object", "-w", "/dev/null")) // nor does this
	nobody := exec.Command("git", "hash-object", "-w", "-t", "tag", "--stdin")
	nobody.Dir, nobody.Stdin = work, strings.NewReader("object "+second+"\ntype commit\ntag nobody\n\nwithout a tagger, as git made them once\n")
	hash, err := nobody.Output()
	require.NoError(t, err)
	runGit(t, work, noon, "update-ref", "refs/tags/nobody", strings.TrimSpace(string(hash)))
	runGit(t, work, noon, "push", "-q", "origin", "main", "--tags")

	check := func(how string) {
		tags, err := l.Tags(t.Context(), acme, "acme/skills")
		require.NoError(t, err, how)
		require.Equal(t, []repohost.Tag{
			{Name: "inner", Commit: first, At: hour(3)},
			{Name: "nobody", Commit: second, At: hour(5)},
			{Name: "v2", Commit: second, At: hour(5)},
			{Name: "release/outer", Commit: first, At: hour(7)},
			{Name: "v1-late", Commit: first, At: hour(9)},
		}, tags, how)
		for _, tag := range tags {
			commit, err := l.ResolveTag(t.Context(), acme, "acme/skills", tag.Name)
			require.NoError(t, err, how)
			require.Equal(t, tag.Commit, commit, how)
		}
		for _, tag := range []string{"of-a-tree", "of-a-blob", "v3", "V2", "release", "main", "", "refs/tags/v2", "../tags/v2", "v2.lock", "a b"} {
			_, err := l.ResolveTag(t.Context(), acme, "acme/skills", tag)
			requireConflict(t, err, fmt.Sprintf("The repository acme/skills has no tag %q that leads to a commit", tag))
		}
	}
	check("loose")
	runGit(t, bare, noon, "pack-refs", "--all")
	check("packed refs")
	runGit(t, bare, noon, "gc", "-q", "--aggressive", "--prune=now")
	check("packed objects")

	// What git leaves behind, or is just writing, when it is killed.
	for path, content := range map[string]string{
		"refs/tags/v9.lock": "", "refs/heads/main.lock": "", "packed-refs.lock": "#", "refs/tags/v8.lock": second + "\n",
		"objects/pack/pack-0123456789012345678901234567890123456789.pack": "PACK",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(bare, path), []byte(content), 0o600))
	}
	check("unfinished business")
	list, err := l.Repositories(t.Context(), acme)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, hour(5), *list[0].PushedAt)

	_, err = l.ResolveTag(t.Context(), acme, "other/skills", "v2")
	requireConflict(t, err, "There is no repository other/skills that the installation of acme may read")
	_, err = l.Tags(t.Context(), acme, "acme/nothing")
	requireConflict(t, err, "There is no repository acme/nothing that the installation of acme may read")
	_, err = l.Read(t.Context(), acme, "acme/skills", strings.Repeat("0", 39)+"1", ".", nil)
	requireConflict(t, err, `The repository acme/skills has no commit "0000000000000000000000000000000000000001"`)
}

func TestGitrepoTags(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	hash := commit(t, root, "acme/skills", "main", gitrepo.Files(map[string]string{"a": ""}))
	dir := filepath.Join(root, "acme", "skills.git")
	require.NoError(t, gitrepo.AnnotatedTag(dir, "v1", hash, noon.Add(-time.Hour)))
	require.NoError(t, gitrepo.Tag(dir, "v2", hash))
	tags, err := repohost.NewLocal(root).Tags(t.Context(), acme, "acme/skills")
	require.NoError(t, err)
	require.Equal(t, []repohost.Tag{{Name: "v1", Commit: hash, At: noon.Add(-time.Hour)}, {Name: "v2", Commit: hash, At: noon}}, tags)
}

func TestLocalCannotWriteBack(t *testing.T) {
	t.Parallel()
	l := repohost.NewLocal(t.TempDir())
	require.NoError(t, l.Check(t.Context(), acme))
	require.ErrorIs(t, l.PostStatus(t.Context(), acme, "acme/skills", "", repohost.Status{}), repohost.ErrUnsupported)
	_, err := l.PostCheckRun(t.Context(), acme, "acme/skills", "", repohost.CheckRun{})
	require.ErrorIs(t, err, repohost.ErrUnsupported)
}

// Reading goes on while somebody pushes, packs and prunes, and nothing is missing: neither a tag that was there before nor a file.
func TestReadWhileGitPacks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	l := repohost.NewLocal(root)
	bare, work := bareRepository(t, root)
	const rounds, files = 12, 20
	push := func(round int) error {
		for i := range files {
			if err := os.WriteFile(filepath.Join(work, fmt.Sprintf("%02d.txt", i)), fmt.Appendf(nil, "%d %s", round, strings.Repeat("x ", 100*i)), 0o600); err != nil {
				return err
			}
		}
		name := fmt.Sprintf("v%02d", round)
		for _, args := range [][]string{{"add", "."}, {"commit", "-qm", "more"}, {"tag", "-a", "-m", "t", name}, {"push", "-q", "origin", "main", "--tags"}} {
			if out, err := gitCommand(work, noon.Add(time.Duration(round)*time.Minute), args...).CombinedOutput(); err != nil {
				return fmt.Errorf("%v: %w: %s", args, err, out)
			}
		}
		return nil
	}
	require.NoError(t, push(0))

	pushed := make(chan int, rounds) // rounds that are in the repository for sure
	pushed <- 0
	var g errgroup.Group
	g.Go(func() error {
		defer close(pushed)
		for round := 1; round < rounds; round++ {
			if err := push(round); err != nil {
				return err
			}
			pushed <- round
			pack := [][]string{{"gc", "-q", "--prune=now"}, {"repack", "-q", "-a", "-d", "-f"}, {"pack-refs", "--all", "--prune"}, {"prune-packed", "-q"}}[round%4]
			if out, err := gitCommand(bare, noon, pack...).CombinedOutput(); err != nil {
				return fmt.Errorf("%v: %w: %s", pack, err, out)
			}
		}
		return nil
	})
	for range 2 {
		g.Go(func() error {
			for atLeast := range pushed {
				for range 5 {
					if err := readAll(t, l, atLeast, files); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
}

// readAll reads the branch and every tag, and compares what it finds.
func readAll(t *testing.T, l *repohost.Local, atLeast, files int) error {
	tags, err := l.Tags(t.Context(), acme, "acme/skills")
	if err != nil {
		return err
	}
	if len(tags) <= atLeast {
		return fmt.Errorf("%d tags, but there were %d already", len(tags), atLeast+1)
	}
	head, err := l.Resolve(t.Context(), acme, "acme/skills", "main")
	if err != nil {
		return err
	}
	for _, commit := range []string{head, tags[0].Commit, tags[len(tags)-1].Commit} {
		var rounds []string
		got, err := archive.Manifest(func(v archive.Visit) error {
			_, err := l.Read(t.Context(), acme, "acme/skills", commit, ".", v)
			return err
		}, func(_ string, _ int64, content io.Reader) error {
			var round string
			_, err := fmt.Fscan(content, &round)
			rounds = append(rounds, round)
			return err
		})
		if err != nil {
			return err
		}
		if len(got) != files || strings.Join(rounds, "") != strings.Repeat(rounds[0], files) {
			return fmt.Errorf("%d files of the rounds %v", len(got), rounds)
		}
	}
	return nil
}
