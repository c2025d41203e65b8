package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"skillgraph/internal/dbtest"
)

const (
	limit     = time.Minute // no step of a test may take longer
	asProgram = "TEST_AS_PROGRAM"
)

// The tests run the test binary itself as the program, so that the race detector watches the server too.
func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // of servers in this very process
	dbtest.Main(m)
}

// newDir is a data directory that is not there yet, in memory where there is room. Its path is short, for sockets.
func newDir(t *testing.T) string {
	t.Helper()
	parent := os.TempDir()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		parent = "/dev/shm"
	}
	dir, err := os.MkdirTemp(parent, "sg")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "data")
}

// program is the program with arguments, settings (NAME=value) and nothing else of ours in its environment.
func program(ctx context.Context, settings []string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0], args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SKILLGRAPH_") {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, asProgram+"=1", "GORACE=atexit_sleep_ms=0") // else a race build sleeps at its end
	c.Env = append(c.Env, settings...)
	c.WaitDelay = time.Second
	return c
}

// result is what became of a command.
type result struct {
	stdout, stderr string
	code           int
}

func runWith(t *testing.T, settings []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c := program(ctx, settings, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	_ = c.Run() // the exit code tells
	return result{stdout.String(), stderr.String(), c.ProcessState.ExitCode()}
}

// must runs a command that succeeds and returns what it prints.
func must(t *testing.T, args ...string) string {
	t.Helper()
	r := runWith(t, nil, args...)
	require.Zero(t, r.code, r.stderr)
	return r.stdout
}

// refused is how every failure looks: one line for a person, and nothing that a script would take for an answer.
func (r result) refused(t *testing.T, because ...string) {
	t.Helper()
	require.Equal(t, 1, r.code)
	require.Empty(t, r.stdout)
	require.Regexp(t, `^skillgraph: [^\n]+\n$`, r.stderr)
	for _, words := range because {
		require.Contains(t, r.stderr, words)
	}
}

// process is a running "skillgraph serve".
type process struct {
	*exec.Cmd
	banner string // what it has said about where it is
	stderr *bytes.Buffer
}

func serveWith(t *testing.T, settings []string, args ...string) *process {
	t.Helper()
	c := program(context.Background(), append([]string{"SKILLGRAPH_ADDR=127.0.0.1:0"}, settings...), append([]string{"serve"}, args...)...)
	s := &process{Cmd: c, stderr: &bytes.Buffer{}}
	s.Stderr = s.stderr
	out, err := s.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, s.Start())
	t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
	deadline := time.AfterFunc(limit, func() { _ = s.Process.Kill() })
	defer deadline.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() != "" {
			s.banner += "\n" + lines.Text()
		} else if s.banner != "" { // it ends with an empty line
			return s
		}
	}
	_ = s.Wait()
	t.Fatal("the server did not start: ", s.stderr)
	return nil
}

func startServer(t *testing.T, args ...string) *process {
	t.Helper()
	return serveWith(t, nil, args...)
}

// shown is the value that the banner gives a name.
func (s *process) shown(name string) string {
	_, rest, _ := strings.Cut(s.banner, "\n  "+name+" ")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

func (s *process) url() string { return strings.TrimSuffix(s.shown("GraphQL"), "/graphql") }

// stop sends a signal and returns the exit code.
func (s *process) stop(t *testing.T, signal syscall.Signal) int {
	t.Helper()
	require.NoError(t, s.Process.Signal(signal))
	return s.wait()
}

func (s *process) wait() int {
	deadline := time.AfterFunc(limit, func() { _ = s.Process.Kill() })
	defer deadline.Stop()
	_ = s.Wait()
	return s.ProcessState.ExitCode()
}

// get reads a page, with a key where it is not "".
func get(t *testing.T, url, key string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

const suites = "/api/v1/eval-suites"

// requireKey makes sure that a server takes the key.
func (s *process) requireKey(t *testing.T, key string) {
	t.Helper()
	status, body := get(t, s.url()+suites, key)
	require.Equal(t, http.StatusOK, status, body)
}

// postgresGone tells whether no process of the server's PostgreSQL is left: each of them holds on to a lock.
func postgresGone(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "postgres", "postgres.lock"))
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// busy is an address that somebody listens on.
func busy(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}
