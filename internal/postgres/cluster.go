package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	readyWait = 5 * time.Minute // recovery after a crash may take long, and must not be cut off
	orphans   = 1 * time.Minute // an earlier PostgreSQL whose owner was killed gets so long to stop
	maxLog    = 10 << 20        // a longer log is set aside at the next start
)

var (
	settings = []string{
		"listen_addresses=", "unix_socket_permissions=0700", "max_connections=200", "cluster_name=" + user,
		"shared_buffers=128MB", "timezone=UTC", "log_timezone=UTC", "log_checkpoints=off", "jit=off",
	}
	volatile = []string{
		"fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off",
		"max_wal_size=4GB", "checkpoint_timeout=1h",
	}
)

// run starts postgres and returns when it answers. The caller holds owner.lock.
func (o Options) run(ctx context.Context, owner *os.File) (*Server, error) {
	if err := claim(owner); err != nil {
		return nil, err
	}
	alive, err := o.awaitOrphans(ctx)
	if err != nil {
		return nil, err
	}
	defer alive.Close() // postgres inherits a copy, and the lock with it

	made, err := o.dataVersion()
	if err != nil {
		return nil, err
	}
	if o.Bin, err = o.fittingBin(ctx, made); err != nil {
		return nil, err
	}
	as, err := o.identity(ctx)
	if err != nil {
		return nil, err
	}
	if made == 0 {
		if err := o.initdb(ctx, as); err != nil {
			return nil, err
		}
	}
	return o.serve(ctx, as, alive)
}

// awaitOrphans returns postgres.lock once no process of an earlier run is left. Usually there is none: PostgreSQL
// dies with its owner, but not at once, and only where the system can tell it (Linux).
func (o Options) awaitOrphans(ctx context.Context) (*os.File, error) {
	alive, err := tryLock(o.path("postgres.lock"), syscall.LOCK_EX)
	if alive == nil && err == nil {
		if pid := o.postmaster(); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGINT)
		}
		err = poll(ctx, orphans, func() (bool, error) {
			alive, err = tryLock(o.path("postgres.lock"), syscall.LOCK_EX)
			return alive != nil, err
		}, func() error {
			return fmt.Errorf("the PostgreSQL of an earlier run (pid %d) does not stop", o.postmaster())
		})
	}
	if err != nil {
		return nil, err
	}
	o.dropForeignPid()
	return alive, nil
}

// postmaster is the pid that data/postmaster.pid names, 0 without one.
func (o Options) postmaster() int {
	text, _ := os.ReadFile(o.path("data/postmaster.pid"))
	line, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(line)
	return pid
}

// dropForeignPid forgets a crashed PostgreSQL whose pid belongs to somebody else by now, as it happens when a
// container starts again: postgres would take that process for itself and refuse. It leaves a process alone that
// works in the data directory, for that is a postgres which somebody runs by hand.
func (o Options) dropForeignPid() {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", o.postmaster()))
	if err == nil && cwd != o.path("data") {
		_ = os.Remove(o.path("data/postmaster.pid"))
		o.dropSocket()
	}
}

// dataVersion is the major version that made the data, 0 when there is none yet.
func (o Options) dataVersion() (int, error) {
	text, err := os.ReadFile(o.path("data/PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s does not hold a version: %q", o.path("data/PG_VERSION"), text)
	}
	return version, nil
}

// initdb makes the cluster under another name and renames it when it is complete, so that a crash leaves no half.
func (o Options) initdb(ctx context.Context, as *syscall.SysProcAttr) error {
	leftovers, _ := filepath.Glob(o.path("data.tmp-*"))
	for _, dir := range leftovers {
		_ = os.RemoveAll(dir)
	}
	tmp, err := os.MkdirTemp(o.Dir, "data.tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := give(tmp, as); err != nil {
		return err
	}
	args := []string{"-D", tmp, "-U", user, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-instructions"}
	if o.Volatile {
		args = append(args, "-N")
	}
	if out, err := o.command(ctx, as, filepath.Join(o.Bin, "initdb"), args...); err != nil {
		return fmt.Errorf("initdb failed (%w):\n%s", err, lastLines(out))
	}
	if err := os.Rename(tmp, o.path("data")); err != nil {
		return err
	}
	return syncDir(o.Dir)
}

// command runs a program to its end in the way postgres runs, and returns what it says.
func (o Options) command(ctx context.Context, as *syscall.SysProcAttr, program string, args ...string) ([]byte, error) {
	runtime.LockOSThread() // Linux ends the child together with this thread, not with the process
	defer runtime.UnlockOSThread()
	c := exec.CommandContext(ctx, program, args...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGINT) }
	c.WaitDelay = 5 * time.Second
	c.Dir, c.Env, c.SysProcAttr = "/", environment, as
	out, err := c.CombinedOutput()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// environment keeps what the user sets for other PostgreSQL servers (PGDATA, PGPORT, ...) away from ours.
var environment = []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"}

// serve launches postgres and waits until it answers.
func (o Options) serve(ctx context.Context, as *syscall.SysProcAttr, alive *os.File) (*Server, error) {
	log, err := o.openLog()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	before, _ := log.Seek(0, io.SeekEnd)
	s, err := o.launch(as, alive, log)
	if err != nil {
		return nil, err
	}
	var refused error
	err = poll(ctx, readyWait, func() (bool, error) {
		if s.gone() {
			text, _ := os.ReadFile(log.Name())
			return false, fmt.Errorf("PostgreSQL did not start (%v); the end of %s:\n%s", s.cmd.ProcessState, log.Name(), lastLines(text[min(int(before), len(text)):]))
		}
		refused = s.ping(ctx)
		return refused == nil, nil
	}, func() error { return fmt.Errorf("PostgreSQL does not answer: %w", refused) })
	if err != nil {
		s.halt()
		o.dropSocket()
		return nil, err
	}
	return s, nil
}

func (o Options) launch(as *syscall.SysProcAttr, alive, log *os.File) (*Server, error) {
	socket, err := o.makeSocket(as)
	if err != nil {
		return nil, err
	}
	config := append([]string{"unix_socket_directories=" + socket}, settings...)
	if o.Volatile {
		config = append(config, volatile...)
	}
	c := exec.Command(filepath.Join(o.Bin, "postgres"), "-D", o.path("data"), "-p", port) //nolint:noctx // it is stopped in its own way
	for _, setting := range config {
		c.Args = append(c.Args, "-c", setting)
	}
	c.Dir, c.Env, c.SysProcAttr = "/", environment, as
	c.Stdout, c.Stderr, c.ExtraFiles = log, log, []*os.File{alive}

	s := &Server{socket: socket, cmd: c, exited: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // Linux ends postgres together with this thread, not with the process
		defer runtime.UnlockOSThread()
		err := c.Start()
		started <- err
		if err == nil {
			s.exitErr = c.Wait()
			close(s.exited)
		}
	}()
	return s, <-started
}

func (o Options) openLog() (*os.File, error) {
	name := o.path("postgres.log")
	if old, err := os.Stat(name); err == nil && old.Size() > maxLog {
		if err := os.Rename(name, name+".1"); err != nil {
			return nil, err
		}
	}
	return os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
}

func lastLines(text []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-10):], []byte("\n"))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
