package codehost_test

import (
	"context"
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
	"skillgraph/internal/repohost/apphost"
	"skillgraph/internal/repohost/gitrepo"
	"skillgraph/models"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// world is a server with an entry, a repository, and a connection between them.
type world struct {
	*apitest.Server
	repo         string // its folder
	entry, link  string
	installation int
	pushes       int
	clock        time.Time
}

// newWorld has its repositories in a folder, and jobs that run.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newIdleWorld(t)
	w.run(t)
	return w
}

func newIdleWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Server: apitest.New(t), installation: 1}
	w.repo = filepath.Join(w.Repos, "acme", "pdf.git")
	w.start(t)
	return w
}

// newAppWorld has them at a host with apps. No jobs run.
func newAppWorld(t *testing.T) (*world, *apphost.Host) {
	t.Helper()
	h, app := apphost.New(t)
	w := &world{Server: apitest.New(t), installation: 7}
	w.Host.Driver, w.Host.Grants = app, false
	w.repo = filepath.Join(h.Root, "acme", "pdf.git")
	w.start(t)
	return w, h
}

func (w *world) start(t *testing.T) {
	t.Helper()
	w.clock = apitest.Noon
	w.commit(t, "first")
	w.entry = w.publishEntry(t, "pdf")
	w.bind(t, w.installation)
	w.link = w.connect(t, `{}`)
}

// run starts the jobs.
func (w *world) run(t *testing.T) {
	t.Helper()
	running, err := jobs.Start(t.Context(), jobs.Config{Store: w.Store, Alerts: w.Alerts, AlertInterval: time.Hour, Blobs: w.Blobs, Hosting: w.Hosting, Host: w.Host})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, running.Stop(context.Background())) })
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
	for k, v := range map[string]any{"entry_id": w.entry, "installation_id": w.installation, "repo_full_name": "acme/pdf"} {
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
	return w.commitFiles(t, map[string]string{"SKILL.md": text, "README.md": "about"})
}

func (w *world) commitFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	w.clock = w.clock.Add(time.Minute)
	commit, err := gitrepo.Commit(w.repo, "main", gitrepo.Files(files), w.clock)
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
	w.deliverPush(t, ref, after)
	w.work(t)
}

func (w *world) deliverPush(t *testing.T, ref, after string) {
	t.Helper()
	w.deliver(t, fmt.Sprintf(`{"ref": %q, "before": %q, "after": %q, "deleted": %t, "repository": {"full_name": "acme/pdf"}, "installation": {"id": %d}}`, ref, zeros, after, after == zeros, w.installation))
}

func (w *world) deliver(t *testing.T, body string) {
	t.Helper()
	w.pushes++
	res := w.webhook(t, "push", fmt.Sprintf("delivery-%d", w.pushes), []byte(body))
	require.Equal(t, http.StatusAccepted, res.Status, string(res.Body))
}

func (w *world) webhook(t *testing.T, event, key string, body []byte) apitest.Response {
	t.Helper()
	return w.Do(t, "", http.MethodPost, "/api/v1/repohost/webhook", http.Header{
		"X-Repohost-Event": {event}, "X-Repohost-Delivery": {key}, "X-Repohost-Signature-256": {apitest.Signature(body)},
	}, body)
}

// work waits until the jobs have nothing to do.
func (w *world) work(t *testing.T) {
	t.Helper()
	w.until(t, "SELECT (SELECT count(*) FROM repo_deliveries WHERE state = 'PENDING') + (SELECT count(*) FROM publish_attempts WHERE write_back_status = 'PENDING')", 0)
}

// until waits for a count.
func (w *world) until(t *testing.T, sql string, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return w.count(t, sql) == n }, time.Minute, 10*time.Millisecond)
}

// content is the hash of a version.
func (w *world) content(t *testing.T, version string) (hash string) {
	t.Helper()
	require.NoError(t, w.Store.Pool().QueryRow(t.Context(), "SELECT content_hash FROM registry_versions WHERE version = $1", version).Scan(&hash))
	return hash
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
