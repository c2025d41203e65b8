package postgres

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

const (
	limit  = 2 * time.Minute // no test step may take longer
	nobody = 65534
)

// job is what a child process does: the test binary runs itself to get a parent that can be killed, or another user.
type job struct {
	Do      string // "start" or "join"
	Row     string // written before the child reports
	Options Options
	Shell   string // runs the job, with fewer rights; empty: "exec"
}

func TestMain(m *testing.M) {
	text := os.Getenv("POSTGRES_TEST_JOB")
	if text == "" {
		os.Exit(runTests(m))
	}
	var j job
	err := json.Unmarshal([]byte(text), &j)
	if err == nil {
		err = j.run()
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// binary is a copy of the test binary that other users can run.
var binary string

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "sg")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err == nil {
		binary = filepath.Join(dir, "test")
		err = errors.Join(os.Chmod(dir, 0o755), exec.Command("cp", self, binary).Run())
	}
	if err != nil {
		panic(err)
	}
	return m.Run()
}

// run opens the cluster, writes its row, reports, and stops when its input ends.
func (j job) run() error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	open := map[string]func(context.Context, Options) (*Server, error){"start": Start, "join": Join}[j.Do]
	s, err := open(ctx, j.Options)
	if err != nil {
		return err
	}
	if err := insert(ctx, s, j.Row); err != nil {
		return errors.Join(err, s.Stop())
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Stop()
}

// child is a running job.
type child struct {
	*exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

func spawn(t *testing.T, j job, as *syscall.SysProcAttr) *child {
	t.Helper()
	text, err := json.Marshal(j)
	require.NoError(t, err)
	c := &child{Cmd: exec.Command("/bin/sh", "-c", cmp.Or(j.Shell, "exec")+` "$0"`, binary)}
	c.Env = append(os.Environ(), "POSTGRES_TEST_JOB="+string(text), "GORACE=atexit_sleep_ms=0") // else a race build sleeps at its end
	c.Dir, c.SysProcAttr, c.Stderr = "/", as, os.Stderr
	c.stdin, err = c.StdinPipe()
	require.NoError(t, err)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewReader(out)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

// ready waits for the child's report.
func (c *child) ready(t *testing.T) {
	t.Helper()
	line, err := c.out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
}

// finish lets the child stop in an orderly way.
func (c *child) finish(t *testing.T) {
	t.Helper()
	require.NoError(t, c.stdin.Close())
	rest, _ := io.ReadAll(c.out)
	require.NoError(t, c.Wait(), "%s", rest)
}

// kill is kill -9.
func (c *child) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
}

// publicDir has a short name, for sockets, and other users may enter it.
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sg")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func testOptions(t *testing.T) Options {
	t.Helper()
	return Options{Dir: filepath.Join(publicDir(t), "pg"), Volatile: true}
}

// template is data that is made once: initdb is most of the time of a test.
var template = sync.OnceValues(func() (string, error) {
	o := Options{Dir: filepath.Join(filepath.Dir(binary), "pg"), Volatile: true}
	s, err := Start(context.Background(), o)
	if err != nil {
		return "", err
	}
	return filepath.Join(o.Dir, "data"), s.Stop()
})

// madeOptions are for tests that do not care how the data is made.
func madeOptions(t *testing.T) Options {
	t.Helper()
	o := testOptions(t)
	data, err := template()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(o.Dir, 0o755))
	require.NoError(t, exec.Command("cp", "-a", data, o.Dir).Run())
	return o
}

// start runs a cluster that ends with the test.
func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(timeout(t), o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

func timeout(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

func insert(ctx context.Context, s *Server, row string) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `SELECT pg_advisory_xact_lock(1); CREATE TABLE IF NOT EXISTS notes (note text)`)
	if err == nil {
		_, err = conn.Exec(ctx, `INSERT INTO notes VALUES ($1)`, row)
	}
	return err
}

// ask returns the answer of a query with one text value.
func ask(t *testing.T, s *Server, query string) string {
	t.Helper()
	conn, err := pgx.Connect(timeout(t), s.URL("postgres"))
	require.NoError(t, err)
	defer conn.Close(timeout(t))
	var answer *string
	require.NoError(t, conn.QueryRow(timeout(t), query).Scan(&answer))
	if answer == nil {
		answer = new(string)
	}
	return *answer
}

func notes(t *testing.T, s *Server) []string {
	t.Helper()
	return strings.Fields(ask(t, s, `SELECT string_agg(note, ' ' ORDER BY note) FROM notes`))
}

// requireGone waits until no process of the cluster is left.
func requireGone(t *testing.T, o Options) {
	t.Helper()
	require.NoError(t, o.prepare())
	err := poll(timeout(t), limit, func() (bool, error) {
		f, err := tryLock(o.path("postgres.lock"), syscall.LOCK_EX)
		defer unlock(f)
		return f != nil, err
	}, func() error { return errors.New("PostgreSQL is still there") })
	require.NoError(t, err)
}
