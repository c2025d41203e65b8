package repohost_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/repohost"
	"skillgraph/internal/repohost/apphost"
	"skillgraph/internal/repohost/gitea"
	"skillgraph/models"
)

// received is a delivery as it came in.
type received struct {
	event, signature string
	body             []byte
}

// A real host that is not ours: what we read is what was pushed, what we post it shows, and what it tells we understand.
func TestGitea(t *testing.T) {
	program, source := os.Getenv("SKILLGRAPH_TEST_GITEA"), os.Getenv("SKILLGRAPH_TEST_GITEA_SOURCE")
	if program == "" {
		t.Skip("make test/gitea builds and runs a real code host")
	}
	needGit(t)
	g := gitea.Start(t, program, source)
	const repo = "acme/skills"
	app := repohost.NewApp(g.App(t), apphost.ID, apphost.Key(), apphost.Loopback, time.Now)
	a := repohost.Account{InstallationID: 1, Login: "Acme"}
	require.NoError(t, app.Check(t.Context(), a))
	for _, name := range []string{"skills", "empty", "other"} {
		require.Equal(t, http.StatusCreated, g.Call(t, "POST", "/user/repos", map[string]any{"name": name, "private": name != "other"}, nil))
	}

	// What it tells comes here.
	deliveries := make(chan received, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		deliveries <- received{r.Header.Get("X-GitHub-Event"), r.Header.Get("X-Hub-Signature-256"), body}
	}))
	defer hook.Close()
	require.Equal(t, http.StatusCreated, g.Call(t, "POST", "/repos/"+repo+"/hooks", map[string]any{
		"type": "gitea", "active": true, "events": []string{"push"}, "config": map[string]string{"url": hook.URL, "content_type": "json", "secret": "a secret"},
	}, nil))
	next := func() repohost.Delivery {
		select {
		case r := <-deliveries:
			require.True(t, repohost.Verify([]byte("a secret"), r.body, r.signature), "%s", r.signature)
			require.False(t, repohost.Verify([]byte("another secret"), r.body, r.signature))
			d, err := repohost.ParseDelivery(r.event, r.body)
			require.NoError(t, err, "%s", r.body)
			return d
		case <-time.After(time.Minute):
			t.Fatal("no delivery")
			panic("")
		}
	}

	// A repository with a bit of everything, pushed by git.
	work := t.TempDir()
	do := func(args ...string) string { return runGit(t, work, noon, args...) }
	write := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(work, path)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(work, path), []byte(text), 0o600))
	}
	do("init", "-q", "-b", "main")
	write("README.md", "hello")
	write("pdf/SKILL.md", "skill")
	write("pdf/scripts/fill.sh", "#!/bin/sh")
	require.NoError(t, os.Symlink("../README.md", filepath.Join(work, "pdf", "link")))
	do("add", ".")
	do("update-index", "--add", "--cacheinfo", "160000,1111111111111111111111111111111111111111,pdf/lib")
	do("commit", "-qm", "first")
	first := do("rev-parse", "HEAD")
	do("push", "-q", g.Remote("skills"), "main")
	pushed := next()
	require.NotZero(t, pushed.RepoID)
	none := "0000000000000000000000000000000000000000"
	require.Equal(t, repohost.Delivery{Event: "push", RepoID: pushed.RepoID, RepoFullName: repo, Ref: "refs/heads/main", Before: none, After: first, Created: true}, pushed)

	write("pdf/SKILL.md", "better")
	runGit(t, work, noon.Add(time.Hour), "commit", "-qam", "second")
	second := do("rev-parse", "HEAD")
	do("tag", "v1", first)
	runGit(t, work, noon.Add(2*time.Hour), "tag", "-a", "-m", "two", "v2", second)
	runGit(t, work, noon.Add(-time.Hour), "tag", "-a", "-m", "old", "release/old", first)
	do("branch", "feature/x#1", first)
	do("push", "-q", g.Remote("skills"), "main")
	require.Equal(t, repohost.Delivery{Event: "push", RepoID: pushed.RepoID, RepoFullName: repo, Ref: "refs/heads/main", Before: first, After: second}, next())
	do("push", "-q", g.Remote("skills"), "v2")
	tagged := next()
	require.Equal(t, "refs/tags/v2", tagged.Ref)
	require.True(t, tagged.Created)
	do("push", "-q", g.Remote("skills"), "--all")
	do("push", "-q", g.Remote("skills"), "--tags")

	t.Run("reading", func(t *testing.T) {
		list, err := app.Repositories(t.Context(), a)
		require.NoError(t, err)
		require.Len(t, list, 3, "in pages of two")
		require.Equal(t, "acme/skills", list[2].FullName())
		require.Equal(t, []string{"private", "public", "private"}, []string{list[0].Visibility, list[1].Visibility, list[2].Visibility})
		require.Equal(t, pushed.RepoID, list[2].ID)

		for branch, want := range map[string]string{"main": second, "feature/x#1": first} {
			got, err := app.Resolve(t.Context(), a, repo, branch)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		_, err = app.Resolve(t.Context(), a, repo, "mai")
		requireConflict(t, err, `The repository acme/skills has no branch "mai"`)
		_, err = app.Resolve(t.Context(), a, "acme/empty", "main")
		requireConflict(t, err, `The repository acme/empty has no branch "main"`)
		_, err = app.Resolve(t.Context(), a, "acme/nothing", "main")
		requireConflict(t, err, "There is no repository acme/nothing that the installation of Acme may read")

		tags, err := app.Tags(t.Context(), a, repo)
		require.NoError(t, err)
		require.Equal(t, []repohost.Tag{{"release/old", first, noon.Add(-time.Hour)}, {"v1", first, noon}, {"v2", second, noon.Add(2 * time.Hour)}}, tags)
		commit, err := app.ResolveTag(t.Context(), a, repo, "v2")
		require.NoError(t, err)
		require.Equal(t, second, commit)

		files := map[string]string{}
		skipped, err := app.Read(t.Context(), a, repo, first, "pdf", func(path string, _ int64, content io.Reader) error {
			b, err := io.ReadAll(content)
			files[path] = string(b)
			return err
		})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"SKILL.md": "skill", "scripts/fill.sh": "#!/bin/sh"}, files)
		require.Equal(t, []models.SkippedEntry{{Path: "lib", Kind: "submodule"}, {Path: "link", Kind: "symlink"}}, skipped)
		_, err = app.Read(t.Context(), a, repo, first, "docx", nil)
		requireConflict(t, err, `The repository acme/skills has no folder "docx" at commit `+first[:7])
	})

	t.Run("writing back", func(t *testing.T) {
		require.NoError(t, app.PostStatus(t.Context(), a, repo, second, repohost.Status{Context: "skillgraph/publish/1", State: "pending", Description: "Publishing"}))
		require.NoError(t, app.PostStatus(t.Context(), a, repo, second, repohost.Status{Context: "skillgraph/publish/1", State: "success", Description: "Published", TargetURL: "https://skills.example.com/1"}))
		var shown struct {
			State    string
			Statuses []struct {
				Context, Status, Description string
				TargetURL                    string `json:"target_url"`
			}
		}
		require.Equal(t, http.StatusOK, g.Call(t, "GET", "/repos/"+repo+"/commits/"+second+"/status", nil, &shown))
		require.Equal(t, "success", shown.State)
		require.Len(t, shown.Statuses, 1)
		require.Equal(t, "Published", shown.Statuses[0].Description)
		require.Equal(t, "https://skills.example.com/1", shown.Statuses[0].TargetURL)
		_, err := app.PostCheckRun(t.Context(), a, repo, second, repohost.CheckRun{ExternalID: "1", Name: "skillgraph"})
		require.ErrorIs(t, err, repohost.ErrUnsupported, "it has no check-runs")
	})
}
