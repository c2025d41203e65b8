package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDiesWithItsOwner(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	owner := spawn(t, job{Do: "start", Row: "kept", Options: o}, nil)
	owner.ready(t)
	require.False(t, Abandoned(o.Dir))
	owner.kill(t)
	s := start(t, o) // at once: the old PostgreSQL may still be stopping
	require.Equal(t, []string{"kept"}, notes(t, s))
	require.NoError(t, s.Stop())

	owner = spawn(t, job{Do: "start", Row: "kept2", Options: o}, nil)
	owner.ready(t)
	owner.kill(t)
	requireGone(t, o) // without our help
	require.True(t, Abandoned(o.Dir))
	require.False(t, Abandoned(t.TempDir()), "there is no cluster")
}

// The old PostgreSQL may take its time to stop: until it is gone, the next one waits.
func TestStartWaitsForTheOldPostgres(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	owner := spawn(t, job{Do: "start", Row: "kept", Options: o}, nil)
	owner.ready(t)
	checkpointer, err := strconv.Atoi(ask(t, &Server{socket: o.socket()},
		`SELECT pid::text FROM pg_stat_activity WHERE backend_type = 'checkpointer'`))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(checkpointer, syscall.SIGSTOP)) // PostgreSQL cannot stop without it
	resume := func() { _ = syscall.Kill(checkpointer, syscall.SIGCONT) }
	t.Cleanup(resume)
	owner.kill(t)
	var resumed atomic.Bool
	time.AfterFunc(500*time.Millisecond, func() { resumed.Store(true); resume() })
	s := start(t, o)
	require.True(t, resumed.Load())
	require.Equal(t, []string{"kept"}, notes(t, s))
}

func TestKilledInInitdb(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	owner := spawn(t, job{Do: "start", Options: o}, nil)
	halves := func() []string { found, _ := filepath.Glob(filepath.Join(o.Dir, "data.tmp-*", "base")); return found }
	require.Eventually(t, func() bool { return len(halves()) > 0 }, limit, time.Millisecond)
	owner.kill(t)
	require.NoDirExists(t, filepath.Join(o.Dir, "data"))

	leftover := filepath.Join(o.Dir, "data.tmp-1")
	require.NoError(t, os.MkdirAll(leftover, 0o700))
	start(t, o)
	require.NoDirExists(t, leftover)
}

func TestPostgresIsKilled(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	o.Volatile = false
	s := start(t, o)
	require.NoError(t, insert(t.Context(), s, "kept"))
	require.NoError(t, s.cmd.Process.Kill())
	<-s.Exited()
	require.ErrorContains(t, s.Stop(), "PostgreSQL ended by itself (signal: killed)")
	require.Equal(t, []string{"kept"}, notes(t, start(t, o)))
}

// After a crash of the machine the old pid may belong to any process, which must neither stop us nor be stopped.
func TestStalePid(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	s := start(t, o)
	require.NoError(t, insert(t.Context(), s, "kept"))
	name := filepath.Join(o.Dir, "data", "postmaster.pid")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, s.Stop())

	innocent := exec.Command("sleep", "100")
	require.NoError(t, innocent.Start())
	t.Cleanup(func() { _ = innocent.Process.Kill(); _ = innocent.Wait() })
	_, rest, _ := strings.Cut(string(text), "\n")
	stale := fmt.Appendf(nil, "%d\n%s", innocent.Process.Pid, rest)
	require.NoError(t, os.WriteFile(name, stale, 0o600))

	require.Equal(t, []string{"kept"}, notes(t, start(t, o)))
	require.NoError(t, innocent.Process.Signal(syscall.Signal(0)), "still alive")
}

// A PostgreSQL that somebody runs by hand on our data is not disturbed.
func TestRunByHand(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	s := start(t, o)
	require.NoError(t, s.Stop())
	require.NoError(t, o.prepare())
	bin, err := Find(timeout(t), o.cache())
	require.NoError(t, err)
	by := o
	by.Bin = bin
	as, err := by.identity(timeout(t))
	require.NoError(t, err)
	hand := exec.Command(filepath.Join(bin, "postgres"), "-D", o.path("data"), "-c", "listen_addresses=", "-c", "unix_socket_directories="+o.Dir)
	hand.SysProcAttr, hand.Env = as, environment
	require.NoError(t, hand.Start())
	t.Cleanup(func() { _ = hand.Process.Signal(syscall.SIGINT); _ = hand.Wait() })
	byHand := &Server{socket: o.Dir}
	require.Eventually(t, func() bool { return byHand.ping(t.Context()) == nil }, limit, 10*time.Millisecond)

	_, err = Start(timeout(t), o)
	require.ErrorContains(t, err, `lock file "postmaster.pid" already exists`)
	require.Equal(t, "1", ask(t, byHand, "SELECT '1'"))
}
