package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/repohost"
)

// The hook tells of every push: signed, in words that the server understands, and each of them once.
func TestHook(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"git", "curl", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	type told struct {
		key      string
		delivery repohost.Delivery
	}
	deliveries := make(chan told, 100)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		d, err := repohost.ParseDelivery(r.Header.Get("X-Repohost-Event"), body)
		if err != nil || !repohost.Verify([]byte("a secret"), body, r.Header.Get("X-Repohost-Signature-256")) || r.URL.Path != "/api/v1/repohost/webhook" {
			t.Errorf("%s: %v in %s", r.URL, err, body)
		}
		deliveries <- told{r.Header.Get("X-Repohost-Delivery"), d}
	}))
	defer server.Close()

	dir := t.TempDir()
	bare, work := filepath.Join(dir, "acme", "forms.git"), filepath.Join(dir, "work")
	git := func(in string, args ...string) string {
		c := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
		c.Dir = in
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
		return strings.TrimSpace(string(out))
	}
	git(dir, "init", "-q", "--bare", bare)
	require.NoError(t, os.WriteFile(filepath.Join(bare, "hooks", "post-receive"), []byte(postReceive), 0o700))
	for name, value := range map[string]string{"url": server.URL, "installation": "7", "secret": "a secret"} {
		git(bare, "config", "skillgraph."+name, value)
	}
	git(dir, "init", "-q", "-b", "main", work)
	git(work, "commit", "-q", "--allow-empty", "-m", "one")
	commit := git(work, "rev-parse", "HEAD")
	git(work, "tag", "v1.0.0")

	keys := map[string]bool{}
	push := func(ref string) repohost.Delivery {
		git(work, "push", "-q", bare, ref)
		require.Len(t, deliveries, 1)
		d := <-deliveries
		require.False(t, keys[d.key], "%s is another delivery", ref)
		keys[d.key] = true
		return d.delivery
	}
	none := strings.Repeat("0", 40)
	want := repohost.Delivery{Event: "push", InstallationID: 7, RepoFullName: "acme/forms", Ref: "refs/heads/main", Before: none, After: commit, Created: true}
	require.Equal(t, want, push("main"))
	want.Ref = "refs/tags/v1.0.0"
	require.Equal(t, want, push("v1.0.0"))
	gone := want
	gone.Before, gone.After, gone.Created, gone.Deleted = commit, none, false, true
	require.Equal(t, gone, push(":v1.0.0"))
	require.Equal(t, want, push("v1.0.0"), "it is back")
}
