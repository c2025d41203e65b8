package repohost_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/stretchr/testify/require"

	"skillgraph/internal/errs"
	"skillgraph/internal/repohost"
	"skillgraph/internal/repohost/apphost"
	"skillgraph/internal/repohost/gitrepo"
	"skillgraph/models"
)

// answers is everything that a driver says about a repository.
type answers struct {
	Head, Tag string
	Tags      []repohost.Tag
	Files     map[string]string
	Skipped   []models.SkippedEntry
	Errors    [4]string
}

func ask(t *testing.T, d repohost.Driver, repo, branch, tag, folder string) (out answers) {
	t.Helper()
	words := func(i int, err error) {
		if err != nil {
			require.Equal(t, errs.Conflict, errs.CodeOf(err), "%v", err)
			out.Errors[i] = err.Error()
		}
	}
	var err error
	out.Head, err = d.Resolve(t.Context(), acme, repo, branch)
	words(0, err)
	out.Tag, err = d.ResolveTag(t.Context(), acme, repo, tag)
	words(1, err)
	out.Tags, err = d.Tags(t.Context(), acme, repo)
	words(2, err)
	commit := out.Head
	if commit == "" {
		commit = strings.Repeat("a", 40)
	}
	out.Files = map[string]string{}
	out.Skipped, err = d.Read(t.Context(), acme, repo, commit, folder, func(path string, size int64, content io.Reader) error {
		b, err := io.ReadAll(content)
		if int64(len(b)) != size {
			return fmt.Errorf("%s has %d bytes, not %d", path, len(b), size)
		}
		out.Files[path] = string(b)
		return err
	})
	words(3, err)
	return out
}

// Through the API of a host everything is as it is in the repository itself.
func TestDriversAgree(t *testing.T) {
	t.Parallel()
	needGit(t)
	h, app := apphost.New(t)
	local := repohost.NewLocal(h.Root)
	first := commit(t, h.Root, "acme/skills", "main", gitrepo.Files(map[string]string{"a": "", "pdf/SKILL.md": "old"}))
	second := commit(t, h.Root, "acme/skills", "main", gitrepo.Tree{
		"README.md":            {Content: "hello"},
		"SKILL.md":             {Content: "---\nname: all\n---\n"},
		"pdf/SKILL.md":         {Content: "skill"},
		"pdf/scripts/fill.sh":  {Content: "#!/bin/sh", Mode: filemode.Executable},
		"pdf/a/b/c/d/empty":    {},
		"pdf/müller & co?.txt": {Content: "ü"},
		"pdf/" + strings.Repeat("long", 60) + "/" + strings.Repeat("name", 30): {Content: "needs an extended header"},
		"pdf/zzz-link":  {Content: "../README.md", Mode: filemode.Symlink},
		"pdf/a-link":    {Content: "/etc/passwd", Mode: filemode.Symlink},
		"pdf/lib":       {Content: first, Mode: filemode.Submodule},
		"pdf/deep/lib2": {Content: first, Mode: filemode.Submodule},
		"pdf2/SKILL.md": {Content: "another"},
		"lib":           {Content: first, Mode: filemode.Submodule},
	})
	commit(t, h.Root, "acme/skills", "feature/x%20z#1", gitrepo.Files(map[string]string{"a": "b"}))
	commit(t, h.Root, "acme/skills", "mainly", gitrepo.Files(map[string]string{"a": "c"}))
	dir := filepath.Join(h.Root, "acme", "skills.git")
	require.NoError(t, gitrepo.AnnotatedTag(dir, "v1", first, noon.Add(time.Hour)))
	require.NoError(t, gitrepo.AnnotatedTag(dir, "release/v1.5", second, noon.Add(-time.Hour)))
	require.NoError(t, gitrepo.Tag(dir, "v1.0", first))
	require.NoError(t, gitrepo.Tag(dir, "v#2+ä", second))
	runGit(t, dir, noon, "tag", "-a", "-m", "nested", "nested", "v1")
	runGit(t, dir, noon, "tag", "tree", second+"^{tree}")
	runGit(t, h.Root, noon, "init", "-q", "--bare", filepath.Join(h.Root, "acme", "empty.git"))

	for _, branch := range []string{"feature/", "", "../main", "a b", "main.lock"} { // no branch is called so, wherever it is looked for
		for _, repo := range []string{"acme/skills", "acme/empty"} {
			require.Equal(t, ask(t, local, repo, branch, "v1", "."), ask(t, app, repo, branch, "v1", "."), "%s %s", repo, branch)
		}
	}
	for _, branch := range []string{"main", "mainly", "mai", "feature/x%20z#1", "feature", "HEAD", "refs/heads/main", "v1"} {
		for _, repo := range []string{"acme/skills", "acme/empty", "acme/nothing", "other/skills", "acme", "acme/", "/", "acme/..", "acme/../acme", "acme/skills/x", "acme/skills.git", "ac me/skills"} {
			require.Equal(t, ask(t, local, repo, branch, "v1", "."), ask(t, app, repo, branch, "v1", "."), "%s %s", repo, branch)
		}
	}
	for _, tag := range []string{"v1", "v1.0", "release/v1.5", "release", "v#2+ä", "nested", "tree", "v", "", "main", "../v1"} {
		require.Equal(t, ask(t, local, "acme/skills", "main", tag, "pdf"), ask(t, app, "acme/skills", "main", tag, "pdf"), tag)
	}
	for _, folder := range []string{".", "./pdf", "pdf/scripts", "pdf/a/b/c/d", "pdf2", "pd", "lib", "pdf/lib", "docx", "README.md", "pdf/SKILL.md", "pdf/zzz-link", "../acme", "pdf/../pdf", "/pdf", "..", "acme-skills"} {
		require.Equal(t, ask(t, local, "acme/skills", "main", "v1", folder), ask(t, app, "acme/skills", "main", "v1", folder), folder)
	}
	all := ask(t, app, "acme/skills", "main", "nested", "pdf")
	require.Len(t, all.Files, 5)
	require.Equal(t, []models.SkippedEntry{{Path: "a-link", Kind: "symlink"}, {Path: "deep/lib2", Kind: "submodule"}, {Path: "lib", Kind: "submodule"}, {Path: "zzz-link", Kind: "symlink"}}, all.Skipped)
	require.Equal(t, first, all.Tag)
	require.Len(t, all.Tags, 5)
	require.Equal(t, [4]string{}, all.Errors)
	_, err := app.Read(t.Context(), acme, "acme/skills", "main", ".", nil)
	requireConflict(t, err, `The repository acme/skills has no commit "main"`)
}

// The same, with trees that nobody has thought of.
func TestDriversAgreeOnRandomTrees(t *testing.T) {
	t.Parallel()
	needGit(t)
	h, app := apphost.New(t)
	local := repohost.NewLocal(h.Root)
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "c.d", "SKILL.md", "-", "x y", "é"}
	modes := []filemode.FileMode{filemode.Regular, filemode.Regular, filemode.Regular, filemode.Executable, filemode.Symlink, filemode.Submodule}
	for i := range 25 {
		tree := gitrepo.Tree{}
		folders := []string{"."}
		for range r.IntN(30) {
			var path []string
			for range 1 + r.IntN(4) {
				path = append(path, names[r.IntN(len(names))])
			}
			folder := strings.Join(path[:len(path)-1], "/")
			if taken(tree, strings.Join(path, "/")) {
				continue
			}
			e := gitrepo.Entry{Content: strings.Repeat("content", r.IntN(500)), Mode: modes[r.IntN(len(modes))]}
			if e.Mode == filemode.Submodule {
				e.Content = strings.Repeat("1", 40)
			}
			tree[strings.Join(path, "/")] = e
			if folder != "" {
				folders = append(folders, folder)
			}
		}
		repo := fmt.Sprintf("acme/r%d", i)
		commit(t, h.Root, repo, "main", tree)
		for range 3 {
			folder := folders[r.IntN(len(folders))]
			require.Equal(t, ask(t, local, repo, "main", "", folder), ask(t, app, repo, "main", "", folder), "%v %s", tree, folder)
		}
	}
}

// taken reports whether a path is in a tree, or in the way of something that is.
func taken(tree gitrepo.Tree, path string) bool {
	for p := range tree {
		if p == path || strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

func TestAppRepositories(t *testing.T) {
	t.Parallel()
	needGit(t)
	h, app := apphost.New(t)
	none, err := app.Repositories(t.Context(), acme)
	require.NoError(t, err)
	require.Empty(t, none)
	for i := range 11 {
		runGit(t, h.Root, noon, "init", "-q", "--bare", filepath.Join(h.Root, "acme", fmt.Sprintf("r%02d.git", i)))
	}
	for _, name := range []string{"open", "inside", "empty"} {
		runGit(t, h.Root, noon, "init", "-q", "--bare", filepath.Join(h.Root, "acme", name+".git"))
	}
	h.Count("")
	list, err := app.Repositories(t.Context(), acme)
	require.NoError(t, err)
	require.Equal(t, 3, h.Count("GET /installation/repositories"))
	require.Len(t, list, 14)
	pushed := noon
	require.Equal(t, []repohost.Repository{
		{ID: 1<<40 + 5, Owner: "Acme", Name: "empty", DefaultBranch: "main", Visibility: "private", HTMLURL: "https://code.example.com/Acme/empty"},
		{ID: 1<<40 + 6, Owner: "Acme", Name: "inside", DefaultBranch: "main", Visibility: "internal", HTMLURL: "https://code.example.com/Acme/inside", PushedAt: &pushed},
		{ID: 1<<40 + 4, Owner: "Acme", Name: "open", DefaultBranch: "main", Visibility: "public", HTMLURL: "https://code.example.com/Acme/open", PushedAt: &pushed},
	}, list[:3])

	h.Instead(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			w.Header().Set("Link", `</api/v3/installation/repositories?page=2>; rel="next"`)
			apphost.Reply(w, http.StatusOK, map[string]any{})
		}
		return r.Method == http.MethodGet
	})
	_, err = app.Repositories(t.Context(), acme)
	require.EqualError(t, err, "The code host lists more than 10000 things")
	require.Equal(t, 100, h.Count("GET "))
}

// What never changes is asked for once, also when the first try did not get far.
func TestTagsAreRemembered(t *testing.T) {
	t.Parallel()
	h, app := apphost.New(t)
	hash := commit(t, h.Root, "acme/skills", "main", gitrepo.Files(map[string]string{"a": ""}))
	dir := filepath.Join(h.Root, "acme", "skills.git")
	for i := range 20 {
		require.NoError(t, gitrepo.AnnotatedTag(dir, fmt.Sprintf("v%d", i), hash, noon.Add(time.Duration(i)*time.Second)))
	}
	require.NoError(t, gitrepo.Tag(dir, "light", hash))
	var asked atomic.Int64
	h.Instead(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/git/tags/") {
			return false
		}
		over := asked.Add(1) > 10
		if over {
			w.Header().Set("Retry-After", "30")
			apphost.Fail(w, http.StatusForbidden, "You have exceeded a secondary rate limit.")
		}
		return over
	})
	_, err := app.Tags(t.Context(), acme, "acme/skills")
	require.Equal(t, errs.Unavailable, errs.CodeOf(err))
	h.Instead(nil)
	h.Pass(30 * time.Second)
	h.Count("")
	tags, err := app.Tags(t.Context(), acme, "acme/skills")
	require.NoError(t, err)
	require.Len(t, tags, 21)
	require.Equal(t, "light", tags[0].Name)
	require.Equal(t, "v19", tags[20].Name)
	require.LessOrEqual(t, h.Count(""), 1+10+3+1, "the list, the rest, those that the failure cut short, a commit")
	_, err = app.Tags(t.Context(), acme, "acme/skills")
	require.NoError(t, err)
	require.Equal(t, 1, h.Count(""))
}

func TestAppCheck(t *testing.T) {
	t.Parallel()
	h, app := apphost.New(t)
	require.NoError(t, app.Check(t.Context(), acme))
	require.NoError(t, app.Check(t.Context(), repohost.Account{InstallationID: 7, Login: "ACME"}))
	h.Installations[7].Suspended = true
	require.NoError(t, app.Check(t.Context(), acme), "it is theirs all the same")
	for _, a := range []repohost.Account{{InstallationID: 8, Login: "acme"}, {InstallationID: 9, Login: "acme"}, {InstallationID: 7}, {InstallationID: -1, Login: "acme"}} {
		requireConflict(t, app.Check(t.Context(), a), fmt.Sprintf("The code host has no installation %d of the account %s", a.InstallationID, a.Login))
	}
	stranger := repohost.NewApp(h.Server.URL+"/api/v3", "4712", apphost.Key(), apphost.Loopback, h.Clock)
	err := stranger.Check(t.Context(), acme)
	require.EqualError(t, err, "The code host does not accept this server's app: Integration not found")
	require.Equal(t, errs.Unavailable, errs.CodeOf(err))
	late := repohost.NewApp(h.Server.URL+"/api/v3", apphost.ID, apphost.Key(), apphost.Loopback, func() time.Time { return h.Clock().Add(50 * time.Second) })
	require.NoError(t, late.Check(t.Context(), acme), "clocks differ")
	early := repohost.NewApp(h.Server.URL+"/api/v3", apphost.ID, apphost.Key(), apphost.Loopback, func() time.Time { return h.Clock().Add(-50 * time.Second) })
	require.NoError(t, early.Check(t.Context(), acme), "clocks differ")
}

func TestPostStatus(t *testing.T) {
	t.Parallel()
	h, app := apphost.New(t)
	hash := commit(t, h.Root, "acme/skills", "main", gitrepo.Files(map[string]string{"a": ""}))
	require.NoError(t, app.PostStatus(t.Context(), acme, "acme/skills", hash, repohost.Status{Context: "skillgraph/publish/01234567", State: "success", Description: strings.Repeat("é", 200), TargetURL: "https://skills.example.com/1"}))
	require.NoError(t, app.PostStatus(t.Context(), acme, "acme/skills", hash, repohost.Status{Context: "skillgraph/publish/01234567", State: "failure"}))
	require.Equal(t, []map[string]string{
		{"context": "skillgraph/publish/01234567", "state": "success", "description": strings.Repeat("é", 139) + "…", "target_url": "https://skills.example.com/1"},
		{"context": "skillgraph/publish/01234567", "state": "failure"},
	}, h.Statuses())
	nowhere := strings.Repeat("a", 40)
	requireConflict(t, app.PostStatus(t.Context(), acme, "acme/skills", nowhere, repohost.Status{}), "The code host refuses this (status 422): No commit found for SHA: "+nowhere)
	requireConflict(t, app.PostStatus(t.Context(), acme, "acme/skills", "../main", repohost.Status{}), `The repository acme/skills has no commit "../main"`)
	requireConflict(t, app.PostStatus(t.Context(), acme, "acme/nothing", hash, repohost.Status{}), "There is no repository acme/nothing that the installation of acme may read")
	requireConflict(t, app.PostStatus(t.Context(), acme, "other/skills", hash, repohost.Status{}), "There is no repository other/skills that the installation of acme may read")
}

func TestPostCheckRun(t *testing.T) {
	t.Parallel()
	h, app := apphost.New(t)
	hash := commit(t, h.Root, "acme/skills", "main", gitrepo.Files(map[string]string{"a": ""}))
	run := repohost.CheckRun{ExternalID: "attempt-1", Name: "skillgraph", Conclusion: "success", Title: "Published 1.0.0", Summary: "All well", DetailsURL: "https://skills.example.com/1"}
	other := run
	other.ExternalID = "attempt-0"
	_, err := app.PostCheckRun(t.Context(), acme, "acme/skills", hash, other)
	require.NoError(t, err)

	// The host does it, and its answer is lost.
	h.Instead(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPost {
			h.Instead(nil)
			h.Serve(discarded{http.Header{}}, r)
			panic(http.ErrAbortHandler)
		}
		return false
	})
	_, err = app.PostCheckRun(t.Context(), acme, "acme/skills", hash, run)
	require.EqualError(t, err, "The code host cannot be reached: no valid answer")
	require.Equal(t, errs.Unavailable, errs.CodeOf(err))
	require.Len(t, h.CheckRuns(), 2)

	run.Conclusion, run.Summary, run.DetailsURL = "failure", strings.Repeat("x", 70_000), ""
	for range 2 {
		id, err := app.PostCheckRun(t.Context(), acme, "acme/skills", hash, run)
		require.NoError(t, err)
		require.Equal(t, "1001", id)
	}
	require.Equal(t, []apphost.CheckRun{
		{ID: 1000, Name: "skillgraph", HeadSHA: hash, ExternalID: "attempt-0", Status: "completed", Conclusion: "success", DetailsURL: "https://skills.example.com/1", Output: map[string]string{"title": "Published 1.0.0", "summary": "All well"}},
		{ID: 1001, Name: "skillgraph", HeadSHA: hash, ExternalID: "attempt-1", Status: "completed", Conclusion: "failure", Output: map[string]string{"title": "Published 1.0.0", "summary": strings.Repeat("x", 65_534) + "…"}},
	}, h.CheckRuns())
	_, err = app.PostCheckRun(t.Context(), acme, "acme/nothing", hash, run)
	requireConflict(t, err, "There is no repository acme/nothing that the installation of acme may read")
}

type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(p []byte) (int, error) { return len(p), nil }
func (d discarded) WriteHeader(int)             {}

// An account that has not agreed to one thing can still do the others, and a host that lacks one says so by having no such page.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	h, app := apphost.New(t)
	hash := commit(t, h.Root, "acme/skills", "main", gitrepo.Files(map[string]string{"a": ""}))
	status := func() error { return app.PostStatus(t.Context(), acme, "acme/skills", hash, repohost.Status{}) }
	check := func() error {
		_, err := app.PostCheckRun(t.Context(), acme, "acme/skills", hash, repohost.CheckRun{})
		return err
	}
	h.Installations[7].Granted = map[string]string{"contents": "read", "metadata": "read", "statuses": "write"}
	require.NoError(t, status())
	require.ErrorIs(t, check(), repohost.ErrUnsupported)
	h.Installations[7].Granted = map[string]string{"metadata": "read", "checks": "write"}
	require.NoError(t, check())
	_, err := app.Resolve(t.Context(), acme, "acme/skills", "main")
	requireConflict(t, err, "The code host refuses this (status 422): The permissions requested are not granted to this installation.")

	h.Installations[7].Granted = apphost.Everything
	for _, code := range []int{http.StatusForbidden, http.StatusNotFound} {
		h.Instead(func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "check-runs") || strings.Contains(r.URL.Path, "statuses") {
				apphost.Fail(w, code, "Resource not accessible by integration")
				return true
			}
			return false
		})
		require.ErrorIs(t, status(), repohost.ErrUnsupported)
		require.ErrorIs(t, check(), repohost.ErrUnsupported)
	}
	h.Installations[7].Suspended = true
	h.Instead(nil)
	requireConflict(t, check(), "The installation of acme is suspended at the code host")
	require.NotErrorIs(t, status(), repohost.ErrUnsupported, "it may be resumed")
}
