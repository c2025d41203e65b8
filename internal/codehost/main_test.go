package codehost_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/apitest"
	"skillgraph/internal/dbtest"
	"skillgraph/internal/folder"
	"skillgraph/internal/jobs"
	"skillgraph/internal/repohost/gitrepo"
	"skillgraph/models"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// world is a server with an entry, a repository, and a connection between them.
type world struct {
	*apitest.Server
	repo        string // its folder
	entry, link string
	pushes      int
	clock       time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: apitest.New(t), clock: apitest.Noon}
	w.repo = filepath.Join(w.Repos, "acme", "pdf.git")
	w.commit(t, "first")
	w.entry = w.publishEntry(t, "pdf")
	running, err := jobs.Start(t.Context(), jobs.Config{Store: w.Store, Alerts: w.Alerts, AlertInterval: time.Hour, Blobs: w.Blobs, Hosting: w.Hosting, Host: w.Host})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, running.Stop(context.Background())) })
	w.bind(t, 1)
	w.link = w.connect(t, `{}`)
	return w
}

// publishEntry makes an entry with a version 0.0.1-alpha of no repository.
func (w *world) publishEntry(t *testing.T, name string) string {
	t.Helper()
	f, err := folder.New()
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, f.Take("SKILL.md", 7, strings.NewReader("by hand")))
	packed, err := f.Pack()
	require.NoError(t, err)
	defer packed.Close()
	entry := &models.RegistryEntry{Name: name, EntryType: models.EntryTypeSkill, Visibility: models.VisibilityOrg}
	out, err := w.Host.Registry.CreateEntry(t.Context(), w.Org(), entry, models.NewVersion{Version: "0.0.1-alpha", Source: models.VersionSourceCli}, packed)
	require.NoError(t, err)
	return out.Entry.ID.String()
}

func (w *world) bind(t *testing.T, installation int) {
	t.Helper()
	res := w.REST(t, "owner", http.MethodPost, "/api/v1/repohost/installations", fmt.Sprintf(`{"installation_id": %d, "account_login": "acme", "account_type": "Organization"}`, installation))
	require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
}

// connect connects the repository with the entry; more is what the body has besides.
func (w *world) connect(t *testing.T, more string) string {
	t.Helper()
	body := map[string]any{}
	require.NoError(t, json.Unmarshal([]byte(more), &body))
	for k, v := range map[string]any{"entry_id": w.entry, "installation_id": 1, "repo_full_name": "acme/pdf"} {
		if _, ok := body[k]; !ok {
			body[k] = v
		}
	}
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	res := w.REST(t, "owner", http.MethodPost, "/api/v1/repohost/connections", string(raw))
	require.Equal(t, http.StatusCreated, res.Status, string(res.Body))
	return res.JSON(t)["id"].(string)
}

// commit makes a commit whose SKILL.md says the text.
func (w *world) commit(t *testing.T, text string) string {
	t.Helper()
	w.clock = w.clock.Add(time.Minute)
	commit, err := gitrepo.Commit(w.repo, "main", gitrepo.Files(map[string]string{"SKILL.md": text, "README.md": "about"}), w.clock)
	require.NoError(t, err)
	return commit
}

func (w *world) tag(t *testing.T, name, commit string) {
	t.Helper()
	require.NoError(t, gitrepo.Tag(w.repo, name, commit))
}

const zeros = "0000000000000000000000000000000000000000"

// push tells the server of a push and lets it act.
func (w *world) push(t *testing.T, ref, after string) {
	t.Helper()
	w.deliver(t, fmt.Sprintf(`{"ref": %q, "before": %q, "after": %q, "deleted": %t, "repository": {"full_name": "acme/pdf"}, "installation": {"id": 1}}`, ref, zeros, after, after == zeros))
	w.work(t)
}

func (w *world) deliver(t *testing.T, body string) {
	t.Helper()
	w.pushes++
	res := w.webhook(t, "push", fmt.Sprintf("delivery-%d", w.pushes), []byte(body))
	require.Equal(t, http.StatusAccepted, res.Status, string(res.Body))
}

func (w *world) webhook(t *testing.T, event, key string, body []byte) apitest.Response {
	t.Helper()
	mac := hmac.New(sha256.New, []byte(apitest.WebhookSecret))
	mac.Write(body)
	return w.Do(t, "", http.MethodPost, "/api/v1/repohost/webhook", http.Header{
		"X-Repohost-Event": {event}, "X-Repohost-Delivery": {key}, "X-Repohost-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))},
	}, body)
}

// work waits until the jobs have nothing to do.
func (w *world) work(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		return w.count(t, "SELECT (SELECT count(*) FROM repo_deliveries WHERE state = 'PENDING') + (SELECT count(*) FROM publish_attempts WHERE write_back_status = 'PENDING')") == 0
	}, time.Minute, 10*time.Millisecond)
}

func (w *world) count(t *testing.T, sql string) (n int) {
	t.Helper()
	require.NoError(t, w.Store.Pool().QueryRow(t.Context(), sql).Scan(&n))
	return n
}

// versions are the entry's, newest push first, with a star at the current one.
func (w *world) versions(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, v := range w.REST(t, "owner", http.MethodGet, "/api/v1/registry/"+w.entry+"/versions", "").JSON(t)["versions"].([]any) {
		v := v.(map[string]any)
		name := v["version"].(string)
		if v["is_current"].(bool) {
			name += "*"
		}
		out = append(out, name)
	}
	return out
}

// attempts are the connection's, newest first, in words; deliveries likewise.
func (w *world) attempts(t *testing.T) (out []string) {
	t.Helper()
	data := w.Query(t, "owner", `query($id: ID!) { repoLink(id: $id) { attempts(first: 100) { nodes { trigger status versionName message writeBackStatus } } } }`, map[string]any{"id": w.link})
	for _, a := range data["repoLink"].(map[string]any)["attempts"].(map[string]any)["nodes"].([]any) {
		a := a.(map[string]any)
		out = append(out, fmt.Sprintf("%s %s %v %s: %s", a["trigger"], a["status"], a["versionName"], a["writeBackStatus"], a["message"]))
	}
	return out
}

func (w *world) lastDelivery(t *testing.T) string {
	t.Helper()
	data := w.Query(t, "owner", `{ repoDeliveries(first: 1) { nodes { state outcome } } }`, nil)
	d := data["repoDeliveries"].(map[string]any)["nodes"].([]any)[0].(map[string]any)
	return fmt.Sprintf("%s: %v", d["state"], d["outcome"])
}
