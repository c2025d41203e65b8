package codehost_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/codehost"
	"skillgraph/internal/repohost/apphost"
	"skillgraph/internal/repohost/gitrepo"
	"skillgraph/rest"
)

// tell tells the server of an event and lets it act.
func (w *world) tell(t *testing.T, event, body string) {
	t.Helper()
	w.pushes++
	res := w.webhook(t, event, fmt.Sprintf("delivery-%d", w.pushes), []byte(body))
	require.Equal(t, http.StatusAccepted, res.Status, string(res.Body))
	w.work(t)
}

// A push that rewrites history publishes what is there now; one that goes back to what was published publishes nothing.
func TestForcedPush(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.commit(t, "one"), w.commit(t, "two")
	w.push(t, "refs/heads/main", first)
	w.push(t, "refs/heads/main", second)
	forced := func(after string) {
		w.tell(t, "push", fmt.Sprintf(`{"ref": "refs/heads/main", "before": %q, "after": %q, "forced": true, "repository": {"full_name": "acme/pdf"}, "installation": {"id": 1}}`, second, after))
	}
	require.NoError(t, gitrepo.Branch(w.repo, "main", first))
	instead := w.commit(t, "another two")
	forced(instead)
	require.Equal(t, "BRANCH PUBLISHED 0.0.0-repohost."+instead[:7]+" DISABLED: Published 0.0.0-repohost."+instead[:7], w.attempts(t)[0])
	require.Equal(t, "0.0.0-repohost."+instead[:7]+"*", w.versions(t)[0])
	require.NoError(t, gitrepo.Branch(w.repo, "main", first))
	forced(first)
	require.Equal(t, "BRANCH UNCHANGED 0.0.0-repohost."+first[:7]+" DISABLED: 0.0.0-repohost."+first[:7]+" is published already", w.attempts(t)[0])
	require.Equal(t, "0.0.0-repohost."+instead[:7]+"*", w.versions(t)[0], "what was published last stays current")
}

// auto_publish stops tags, and nothing else.
func TestAutoPublishOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.Equal(t, http.StatusOK, w.REST(t, "owner", http.MethodPatch, "/api/v1/repohost/connections/"+w.link, `{"auto_publish": false}`).Status)
	commit := w.commit(t, "one")
	w.tag(t, "v1.0.0", commit)
	w.push(t, "refs/tags/v1.0.0", commit)
	require.Equal(t, "IGNORED: the connection does not publish tags", w.lastDelivery(t))
	require.Empty(t, w.attempts(t))
	w.push(t, "refs/heads/main", commit)
	require.Equal(t, []string{"0.0.0-repohost." + commit[:7] + "*", "0.0.1-alpha"}, w.versions(t))
	require.Equal(t, http.StatusOK, w.REST(t, "owner", http.MethodPost, "/api/v1/repohost/connections/"+w.link+"/sync", "").Status)
	require.Equal(t, "1.0.0*", w.versions(t)[0], "who asks for it gets them")
}

// A repository that has another name is followed there, with its sources: whether the code host says so, or a push comes from there.
func TestRenamed(t *testing.T) {
	t.Parallel()
	names := func(w *world) (link, source any) {
		data := w.Query(t, "owner", `{ repoLinks(first: 1) { nodes { repoFullName } } sources(first: 1) { nodes { ... on RepohostSource { repoFullName } } } }`, nil)
		first := func(list string) any {
			return data[list].(map[string]any)["nodes"].([]any)[0].(map[string]any)["repoFullName"]
		}
		return first("repoLinks"), first("sources")
	}
	source := func(w *world, repo string) {
		res := w.REST(t, "owner", http.MethodPost, "/api/v1/cloud-sources", fmt.Sprintf(`{"type": "repohost", "label": "PDF", "installation_id": %d, "repo_full_name": %q}`, w.installation, repo))
		require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
	}

	t.Run("and it is said", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		source(w, "acme/pdf")
		forms := filepath.Join(w.Repos, "acme", "forms.git")
		require.NoError(t, os.Rename(w.repo, forms))
		w.repo = forms
		renamed := `{"action": "renamed", "changes": {"repository": {"name": {"from": "pdf"}}}, "repository": {"id": 0, "full_name": "acme/forms"}, "installation": {"id": 1}}`
		w.tell(t, "repository", renamed)
		require.Equal(t, "DONE: acme/pdf is called acme/forms now, in 2 connections and sources", w.lastDelivery(t))
		link, src := names(w)
		require.Equal(t, []any{"acme/forms", "acme/forms"}, []any{link, src})
		w.tell(t, "repository", renamed)
		require.Equal(t, "IGNORED: acme/pdf is called acme/forms now, in 0 connections and sources", w.lastDelivery(t))
		commit := w.commit(t, "two")
		w.tell(t, "push", fmt.Sprintf(`{"ref": "refs/heads/main", "before": %q, "after": %q, "repository": {"full_name": "acme/forms"}, "installation": {"id": 1}}`, zeros, commit))
		require.Equal(t, "0.0.0-repohost."+commit[:7]+"*", w.versions(t)[0])
		require.Equal(t, 2, w.count(t, "SELECT count(*) FROM events WHERE kind IN ('connection.renamed', 'source.repository_renamed')"))
	})

	t.Run("and a push tells", func(t *testing.T) {
		t.Parallel()
		w, h := newAppWorld(t)
		w.run(t)
		csv := filepath.Join(h.Root, "acme", "csv.git")
		require.NoError(t, os.Rename(w.repo, csv)) // a name as long as the other has the same id there
		w.repo = csv
		commit := w.commit(t, "two")
		w.tell(t, "push", fmt.Sprintf(`{"ref": "refs/heads/main", "before": %q, "after": %q, "repository": {"id": %d, "full_name": "Acme/csv"}, "installation": {"id": 7}}`, zeros, commit, int64(1)<<40+3))
		require.Equal(t, "0.0.0-repohost."+commit[:7]+"*", w.versions(t)[0])
		require.Equal(t, "Acme/csv", w.REST(t, "owner", http.MethodGet, "/api/v1/repohost/connections", "").JSON(t)["connections"].([]any)[0].(map[string]any)["repo_full_name"])
	})
}

// An installation that was removed counts as suspended, and its connections stay.
func TestInstallationRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.tell(t, "installation", `{"action": "deleted", "installation": {"id": 1, "account": {"login": "acme"}}}`)
	require.Equal(t, "DONE: the installation was removed at the code host, and counts as suspended", w.lastDelivery(t))
	w.push(t, "refs/heads/main", w.commit(t, "one"))
	require.Equal(t, []string{"BRANCH FAILED <nil> DISABLED: The installation is suspended at the code host"}, w.attempts(t))
}

// A code host that is away is asked again, eight times; then the attempt has failed, and what comes behind has its turn.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	w, h := newAppWorld(t)
	commit := w.commit(t, "one")
	w.deliverPush(t, "refs/heads/main", commit)
	h.Instead(func(rw http.ResponseWriter, _ *http.Request) bool {
		apphost.Fail(rw, http.StatusBadGateway, "")
		return true
	})
	for try := range 8 {
		d, err := w.Store.NextDelivery(t.Context(), "acme/pdf")
		require.NoError(t, err)
		require.Equal(t, try+1, d.Tries)
		err = w.Host.Deliver(t.Context(), w.Store, d)
		if try < 7 {
			require.Error(t, err)
			require.Empty(t, w.attempts(t), "it may still become something")
		} else {
			require.NoError(t, err)
		}
	}
	const words = "Given up after 8 tries: The code host has a problem of its own (status 502)"
	require.Equal(t, []string{"BRANCH FAILED <nil> DISABLED: " + words}, w.attempts(t))
	require.Equal(t, "DONE: "+words, w.lastDelivery(t))
	h.Instead(nil)
	w.deliverPush(t, "refs/heads/main", commit)
	w.Work(t)
	require.Equal(t, "0.0.0-repohost."+commit[:7]+"*", w.versions(t)[0])
}

// A host without apps does not say which installation it tells of: the one that has a connection to the repository, if it is the
// only one.
func TestNoInstallation(t *testing.T) {
	t.Parallel()
	w := newIdleWorld(t)
	push := func(repo, commit string) {
		w.deliver(t, fmt.Sprintf(`{"ref": "refs/heads/main", "before": %q, "after": %q, "repository": {"id": 5, "full_name": %q}}`, zeros, commit, repo))
		w.Work(t)
	}
	first := w.commit(t, "one")
	push("Acme/PDF", first)
	require.Equal(t, "0.0.0-repohost."+first[:7]+"*", w.versions(t)[0])
	push("acme/nobodys", first)
	require.Equal(t, 1, w.count(t, "SELECT count(*) FROM repo_deliveries WHERE org_id IS NULL AND state = 'IGNORED' AND outcome = 'nobody has bound the installation'"))

	// Another organization connects the same repository: nobody can tell any more which of them is meant.
	require.NoError(t, w.Store.GrantAccount(t.Context(), "other", "acme"))
	theirs := w.connectAs(t, "stranger", 2, "acme", "acme/pdf")
	require.NotEqual(t, w.link, theirs)
	push("acme/pdf", w.commit(t, "two"))
	require.Len(t, w.versions(t), 2)
	require.Equal(t, 2, w.count(t, "SELECT count(*) FROM repo_deliveries WHERE org_id IS NULL AND state = 'IGNORED'"))
}

// connectAs binds an account for somebody, and connects a repository with a new entry.
func (w *world) connectAs(t *testing.T, who string, installation int, account, repo string) string {
	t.Helper()
	res := w.REST(t, who, http.MethodPost, "/api/v1/repohost/installations", fmt.Sprintf(`{"installation_id": %d, "account_login": %q, "account_type": "Organization"}`, installation, account))
	require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
	res = w.Publish(t, who, "/api/v1/registry", `{"name": "theirs", "version": "0.0.1-alpha"}`, apitest.Archive(t, map[string]string{"SKILL.md": "x"}))
	require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
	entry := res.JSON(t)["entry"].(map[string]any)["id"]
	res = w.REST(t, who, http.MethodPost, "/api/v1/repohost/connections", fmt.Sprintf(`{"entry_id": %q, "installation_id": %d, "repo_full_name": %q}`, entry, installation, repo))
	require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
	return res.JSON(t)["id"].(string)
}

// Whether another organization has a connection is told of repositories that the installation may read, and of no other.
func TestConnectedElsewhere(t *testing.T) {
	t.Parallel()
	w := newIdleWorld(t)
	elsewhere := func(who string, installation int) (out []string) {
		for _, r := range w.REST(t, who, http.MethodGet, fmt.Sprintf("/api/v1/repohost/repos?installation_id=%d", installation), "").JSON(t)["repos"].([]any) {
			r := r.(map[string]any)
			out = append(out, fmt.Sprint(r["full_name"], " ", r["connected_elsewhere"]))
		}
		return out
	}
	w.Commit(t, "acme/other", gitrepo.Files(map[string]string{"SKILL.md": "x"}))
	w.Commit(t, "other/own", gitrepo.Files(map[string]string{"SKILL.md": "x"}))
	require.NoError(t, w.Store.GrantAccount(t.Context(), "other", "acme"))
	w.connectAs(t, "stranger", 2, "other", "other/own")
	require.Equal(t, []string{"other/own false"}, elsewhere("stranger", 2))
	require.Equal(t, []string{"acme/other false", "acme/pdf false"}, elsewhere("owner", 1), "its own does not count")
	res := w.REST(t, "stranger", http.MethodPost, "/api/v1/repohost/installations", `{"installation_id": 3, "account_login": "acme", "account_type": "Organization"}`)
	require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
	require.Equal(t, []string{"acme/other false", "acme/pdf true"}, elsewhere("stranger", 3))
}

// Without a secret nobody can be believed.
func TestWebhookWithoutSecret(t *testing.T) {
	t.Parallel()
	w := newIdleWorld(t)
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
	req.Header.Set("X-Hub-Signature-256", apitest.Signature([]byte("{}")))
	codehost.Webhook(w.Store, "", rest.ReadBody, rest.WriteError)(rec, req)
	require.Equal(t, http.StatusServiceUnavailable, rec.Code)
	require.Contains(t, rec.Body.String(), "SKILLGRAPH_REPOHOST_WEBHOOK_SECRET")
	require.Zero(t, w.count(t, "SELECT count(*) FROM repo_deliveries"))
}

// What a real host has sent, through the receiver.
func TestExamples(t *testing.T) {
	t.Parallel()
	examples := apphost.Examples(t)
	send := func(w *world, event string) (out []string) {
		for i, body := range examples[event] {
			key := fmt.Sprint(event, " ", i)
			require.Equal(t, http.StatusAccepted, w.webhook(t, event, key, body).Status, key)
			w.Work(t)
			var state, outcome string
			require.NoError(t, w.Store.Pool().QueryRow(t.Context(), "SELECT state, outcome FROM repo_deliveries WHERE delivery_key = $1", key).Scan(&state, &outcome))
			out = append(out, state+": "+outcome)
		}
		return out
	}
	w := newIdleWorld(t)
	const nobody, unknown = "IGNORED: nobody has bound the installation", "IGNORED: there is no connection to the repository"
	require.Equal(t, []string{nobody, nobody, nobody, unknown, unknown, unknown, nobody}, send(w, "push"))
	require.Equal(t, []string{nobody, nobody, nobody, nobody, nobody, nobody, nobody}, send(w, "installation"))

	w = newIdleWorld(t)
	w.Host.Grants = false // as with apps: the host knows whose an installation is
	w.Commit(t, "Codertocat/Hello-World", gitrepo.Files(map[string]string{"SKILL.md": "x"}))
	w.REST(t, "owner", http.MethodDelete, "/api/v1/repohost/connections/"+w.link, "")
	for _, number := range []int{1, 2, 957387, 16598467} {
		res := w.REST(t, "owner", http.MethodPost, "/api/v1/repohost/installations", fmt.Sprintf(`{"installation_id": %d, "account_login": "Codertocat", "account_type": "User"}`, number))
		require.Less(t, res.Status, 300, string(res.Body))
	}
	w.link = w.connect(t, `{"repo_full_name": "Codertocat/Hello-World", "default_branch": "master"}`)
	const (
		gone = "IGNORED: refs/tags/simple-tag was deleted: its versions stay"
		away = `DONE: refs/heads/master: The repository Codertocat/Hello-World has no commit "6113728f27ae82c7b1a177c8d03f9e96e0adf246"`
	)
	require.Equal(t, []string{"IGNORED: the tag does not match v*", gone, gone, gone, away, away, gone}, send(w, "push"))
	require.Len(t, w.attempts(t), 2, "what is deleted or not followed is none")
	const removed = "DONE: the installation was removed at the code host, and counts as suspended"
	require.Equal(t, []string{
		removed, "IGNORED: nothing follows from it", "IGNORED: nothing follows from it", removed, "IGNORED: nothing follows from it", "DONE: followed", "DONE: followed",
	}, send(w, "installation"))
	suspended := map[string]any{}
	for _, i := range w.REST(t, "owner", http.MethodGet, "/api/v1/repohost/installations", "").JSON(t)["installations"].([]any) {
		i := i.(map[string]any)
		suspended[fmt.Sprint(int(i["installation_id"].(float64)))] = i["suspended"]
	}
	require.Equal(t, map[string]any{"1": false, "2": true, "957387": false, "16598467": false}, suspended)

	// Whatever else a host may send is taken and forgotten.
	before := w.count(t, "SELECT count(*) FROM repo_deliveries")
	for event, bodies := range examples {
		if event != "push" && event != "installation" && event != "repository" {
			for _, body := range bodies[:1] {
				res := w.webhook(t, event, event, body)
				require.Equal(t, http.StatusAccepted, res.Status, event)
				require.JSONEq(t, `{"status": "ignored"}`, string(res.Body))
			}
		}
	}
	require.Equal(t, before, w.count(t, "SELECT count(*) FROM repo_deliveries"))
}
