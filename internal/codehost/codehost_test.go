package codehost_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/repohost/gitrepo"
)

func TestSync(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.commit(t, "one")
	w.tag(t, "v1.0.0", first)
	second := w.commit(t, "two")
	require.NoError(t, gitrepo.AnnotatedTag(w.repo, "v1.1.0", second, w.clock))
	w.tag(t, "nightly", second)
	head := w.commit(t, "three")

	res := w.REST(t, "owner", http.MethodPost, "/api/v1/repohost/connections/"+w.link+"/sync", "")
	require.Equal(t, http.StatusOK, res.Status, string(res.Body))
	got := res.JSON(t)
	require.NotEmpty(t, got["published_at"])
	delete(got, "published_at")
	require.Equal(t, map[string]any{
		"connection_id": w.link, "status": "published", "version": "0.0.0-repohost." + head[:7], "source_ref": head, "message": "Published 0.0.0-repohost." + head[:7],
		"write_back_status": "disabled", "check_run_id": nil, "status_context": "skillgraph/publish/" + w.link[:8],
	}, got)
	require.Equal(t, []string{"0.0.0-repohost." + head[:7], "1.1.0*", "1.0.0", "0.0.1-alpha"}, w.versions(t), "tags first, oldest first; a prerelease is not current")

	again := w.REST(t, "owner", http.MethodPost, "/api/v1/repohost/connections/"+w.link+"/sync", "").JSON(t)
	require.Equal(t, "unchanged", again["status"])
	require.Equal(t, "0.0.0-repohost."+head[:7], again["version"])
	require.NotNil(t, again["published_at"])
	require.Len(t, w.versions(t), 4)

	var version map[string]any
	for _, v := range w.REST(t, "owner", http.MethodGet, "/api/v1/registry/"+w.entry+"/versions", "").JSON(t)["versions"].([]any) {
		if v := v.(map[string]any); v["version"] == "1.1.0" {
			version = v
		}
	}
	require.Equal(t, "repohost-direct", version["source"])
	require.Equal(t, "v1.1.0", version["source_ref"])
	require.Equal(t, "acme/pdf", version["source_repo"])
}

// What a push does, and what it leaves behind.
func TestPush(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.commit(t, "one")
	w.push(t, "refs/heads/main", first)
	require.Equal(t, []string{"0.0.0-repohost." + first[:7] + "*", "0.0.1-alpha"}, w.versions(t), "there is no release yet")
	require.Equal(t, []string{"BRANCH PUBLISHED 0.0.0-repohost." + first[:7] + " DISABLED: Published 0.0.0-repohost." + first[:7]}, w.attempts(t))
	require.Equal(t, "DONE: refs/heads/main: Published 0.0.0-repohost."+first[:7], w.lastDelivery(t))

	w.tag(t, "v1.0.0", first)
	w.push(t, "refs/tags/v1.0.0", first)
	require.Equal(t, []string{"1.0.0*", "0.0.0-repohost." + first[:7], "0.0.1-alpha"}, w.versions(t), "a commit that is pushed and tagged makes two")

	second := w.commit(t, "two")
	w.push(t, "refs/heads/main", second)
	require.Equal(t, "1.0.0*", w.versions(t)[1], "a prerelease is not current while there is a release")
	require.Len(t, w.attempts(t), 3)

	for name, tt := range map[string]struct{ ref, after, delivery string }{
		"another branch":         {"refs/heads/dev", second, "IGNORED: the connection follows the branch main"},
		"the branch, deleted":    {"refs/heads/main", zeros, "IGNORED: refs/heads/main was deleted: its versions stay"},
		"a tag, deleted":         {"refs/tags/v1.0.0", zeros, "IGNORED: refs/tags/v1.0.0 was deleted: its versions stay"},
		"a tag that is no v*":    {"refs/tags/nightly", second, "IGNORED: the tag does not match v*"},
		"neither branch nor tag": {"refs/notes/commits", second, "IGNORED: refs/notes/commits is neither branch nor tag"},
	} {
		w.push(t, tt.ref, tt.after)
		require.Equal(t, tt.delivery, w.lastDelivery(t), name)
		require.Len(t, w.attempts(t), 3, name)
	}

	w.push(t, "refs/tags/v1.0.0", first)
	require.Equal(t, "TAG UNCHANGED 1.0.0 DISABLED: 1.0.0 is published already", w.attempts(t)[0])
	w.tag(t, "v1.0.0", second)
	w.push(t, "refs/tags/v1.0.0", second)
	require.Equal(t, fmt.Sprintf("TAG FAILED <nil> DISABLED: v1.0.0 was published from commit %.7s and now is at %.7s: versions never change. Make a new tag", first, second), w.attempts(t)[0])
	require.Len(t, w.versions(t), 4)
	last := w.REST(t, "owner", http.MethodGet, "/api/v1/repohost/connections", "").JSON(t)["connections"].([]any)[0].(map[string]any)["last_attempt"].(map[string]any)
	require.Equal(t, "failed", last["status"])
	require.Nil(t, last["version"])
	require.Equal(t, "v1.0.0", last["source_ref"])
}

// Deliveries may overtake each other: what is current in the end is the newer commit.
func TestPushOutOfOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.commit(t, "one"), w.commit(t, "two")
	w.push(t, "refs/heads/main", second)
	w.push(t, "refs/heads/main", first)
	require.Equal(t, "0.0.0-repohost."+second[:7]+"*", w.versions(t)[0])
	require.Equal(t, fmt.Sprintf("IGNORED: %.7s is late: a newer commit of main is published already", first), w.lastDelivery(t))
	third, fourth := w.commit(t, "three"), w.commit(t, "four")
	w.push(t, "refs/heads/main", third)
	w.push(t, "refs/heads/main", fourth)
	require.Equal(t, []string{"0.0.0-repohost." + fourth[:7] + "*", "0.0.0-repohost." + third[:7], "0.0.0-repohost." + second[:7], "0.0.1-alpha"}, w.versions(t))
}

func TestSuspended(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	suspend := func(action string) {
		w.pushes++
		res := w.webhook(t, "installation", fmt.Sprintf("delivery-%d", w.pushes), fmt.Appendf(nil, `{"action": %q, "installation": {"id": 1, "account": {"login": "acme"}}}`, action))
		require.Equal(t, http.StatusAccepted, res.Status)
		w.work(t)
	}
	suspend("suspend")
	commit := w.commit(t, "one")
	w.push(t, "refs/heads/main", commit)
	require.Equal(t, []string{"BRANCH FAILED <nil> DISABLED: The installation is suspended at the code host"}, w.attempts(t))
	sync := w.REST(t, "owner", http.MethodPost, "/api/v1/repohost/connections/"+w.link+"/sync", "")
	require.Equal(t, http.StatusOK, sync.Status)
	require.Equal(t, "failed", sync.JSON(t)["status"])
	suspend("unsuspend")
	w.push(t, "refs/heads/main", commit)
	require.Equal(t, "0.0.0-repohost."+commit[:7]+"*", w.versions(t)[0])
}

func TestWebhookRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := []byte(`{"ref": "refs/heads/dev", "before": "` + zeros + `", "after": "` + zeros + `", "repository": {"full_name": "acme/pdf"}, "installation": {"id": 1}}`)
	first := w.webhook(t, "push", "the same", body)
	require.Equal(t, http.StatusAccepted, first.Status)
	require.JSONEq(t, `{"status": "accepted"}`, string(first.Body))
	require.JSONEq(t, `{"status": "received before"}`, string(w.webhook(t, "push", "the same", body).Body))
	require.Equal(t, 1, w.count(t, "SELECT count(*) FROM repo_deliveries"))

	send := func(header http.Header, body []byte) apitest.Response {
		return w.Do(t, "", http.MethodPost, "/api/v1/repohost/webhook", header, body)
	}
	require.Equal(t, http.StatusUnauthorized, send(http.Header{"X-Repohost-Event": {"push"}, "X-Repohost-Delivery": {"x"}}, body).Status, "no signature")
	require.Equal(t, http.StatusUnauthorized, send(http.Header{"X-Hub-Signature-256": {"sha256=00"}}, []byte("no JSON")).Status, "the signature comes first")
	require.Equal(t, http.StatusRequestEntityTooLarge, send(nil, make([]byte, 26<<20)).Status)
	require.Equal(t, http.StatusAccepted, w.webhook(t, "ping", "a ping", []byte(`{"zen": "…"}`)).Status)
	require.Equal(t, http.StatusAccepted, w.webhook(t, "star", "a star", []byte(`{}`)).Status)
	require.Equal(t, http.StatusBadRequest, w.webhook(t, "push", "", body).Status, "no delivery id")
	require.Equal(t, http.StatusBadRequest, w.webhook(t, "push", "bad", []byte("no JSON")).Status)
	require.Equal(t, 1, w.count(t, "SELECT count(*) FROM repo_deliveries"), "nothing of that is kept")
}

func TestConnectRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.publishEntry(t, "csv")
	connect := func(who, body string) apitest.Response {
		return w.REST(t, who, http.MethodPost, "/api/v1/repohost/connections", body)
	}
	valid := func(change string) string {
		body := map[string]any{"entry_id": other, "installation_id": 1, "repo_full_name": "acme/pdf"}
		require.NoError(t, json.Unmarshal([]byte(change), &body))
		raw, err := json.Marshal(body)
		require.NoError(t, err)
		return string(raw)
	}
	tests := map[string]struct {
		who, body string
		status    int
	}{
		"taken entry":          {"owner", valid(fmt.Sprintf(`{"entry_id": %q}`, w.entry)), http.StatusConflict},
		"no such entry":        {"owner", valid(`{"entry_id": "01930000-0000-8000-8000-000000000000"}`), http.StatusNotFound},
		"no such installation": {"owner", valid(`{"installation_id": 2}`), http.StatusBadRequest},
		"no such repository":   {"owner", valid(`{"repo_full_name": "acme/none"}`), http.StatusBadRequest},
		"another's repository": {"owner", valid(`{"repo_full_name": "other/pdf"}`), http.StatusBadRequest},
		"a viewer":             {"viewer", valid(`{}`), http.StatusForbidden},
		"an installer":         {"installer", valid(`{}`), http.StatusForbidden},
		"a free plan":          {"free", valid(`{}`), http.StatusForbidden},
		"a stranger":           {"stranger", valid(`{}`), http.StatusBadRequest},
	}
	_, err := gitrepo.Commit(filepath.Join(w.Repos, "other", "pdf.git"), "main", gitrepo.Files(map[string]string{"SKILL.md": "x"}), w.clock)
	require.NoError(t, err)
	for name, tt := range tests {
		require.Equal(t, tt.status, connect(tt.who, tt.body).Status, name)
	}
	require.Equal(t, http.StatusCreated, connect("owner", valid(`{}`)).Status, "a repository may feed many entries")
}
