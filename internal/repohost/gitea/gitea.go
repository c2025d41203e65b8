// Package gitea runs a real code host for tests: Gitea, whose API is in most what ours expects of a host.
package gitea

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Owner is the account that everything belongs to.
const Owner = "acme"

// Gitea is a running server.
type Gitea struct {
	URL, Token string
	program    string
	dir        string
}

const settings = `
RUN_MODE = prod
RUN_USER = %[5]s
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = %[1]s
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[2]s
ROOT_URL = http://127.0.0.1:%[2]s/
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = %[3]s
[database]
DB_TYPE = sqlite3
PATH = %[1]s/gitea.db
[security]
INSTALL_LOCK = true
SECRET_KEY = %[4]s
[webhook]
ALLOWED_HOST_LIST = loopback
[api]
DEFAULT_PAGING_NUM = 2
MAX_RESPONSE_ITEMS = 2
[actions]
ENABLED = false
[log]
MODE = console
LEVEL = warn
`

// Start starts the program, whose templates are in its source, on a port of its own, until the test ends.
func Start(t testing.TB, program, source string) *Gitea {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	g := &Gitea{URL: "http://127.0.0.1:" + port, program: program, dir: t.TempDir()}
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	ini := fmt.Sprintf(settings, g.dir, port, source, strings.Repeat("secret", 8), who.Username)
	if err := os.WriteFile(filepath.Join(g.dir, "app.ini"), []byte(ini), 0o600); err != nil {
		t.Fatal(err)
	}
	g.run(t, "migrate")
	g.run(t, "admin", "user", "create", "--username", Owner, "--password", "Not-so-secret-1", "--email", "acme@example.com", "--must-change-password=false")
	lines := strings.Fields(g.run(t, "admin", "user", "generate-access-token", "--username", Owner, "--token-name", "test", "--scopes", "all", "--raw"))
	g.Token = lines[len(lines)-1]
	g.serve(t)
	return g
}

func (g *Gitea) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.program, append([]string{"--config", filepath.Join(g.dir, "app.ini")}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+g.dir, "GITEA_WORK_DIR="+g.dir)
	return cmd
}

func (g *Gitea) run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := g.command(t.Context(), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("gitea %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (g *Gitea) serve(t testing.TB) {
	t.Helper()
	var log bytes.Buffer
	cmd := g.command(context.WithoutCancel(t.Context()), "web")
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it has git below it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
		}
		if t.Failed() {
			t.Logf("gitea said:\n%s", log.String())
		}
	})
	for range 600 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.URL, "http://"))
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("gitea ended:\n%s", log.String())
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatal("gitea does not answer")
}

// Remote is where to push a repository of the owner to.
func (g *Gitea) Remote(name string) string {
	return strings.Replace(g.URL, "://", "://"+Owner+":"+g.Token+"@", 1) + "/" + Owner + "/" + name + ".git"
}

// Call calls Gitea's own API and returns its status.
func (g *Gitea) Call(t testing.TB, method, path string, in, out any) int {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	status, _, b := g.call(t, method, path, bytes.NewReader(body))
	if out != nil {
		if err := json.Unmarshal(b, out); err != nil {
			t.Fatalf("%s %s: %d %s", method, path, status, b)
		}
	}
	return status
}

func (g *Gitea) call(t testing.TB, method, path string, body io.Reader) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, g.URL+"/api/v1"+path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "token "+g.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, b
}
