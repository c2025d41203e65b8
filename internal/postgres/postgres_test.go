package postgres

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStart(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	o.Volatile = false
	begin := time.Now()
	s := start(t, o)
	first := time.Since(begin)
	require.NoError(t, insert(t.Context(), s, "kept"))
	begin = time.Now()
	require.NoError(t, s.Stop())
	stop := time.Since(begin)
	require.NoError(t, s.Stop(), "again")
	<-s.Exited()
	requireGone(t, o)
	require.NoFileExists(t, filepath.Join(o.Dir, "socket"))

	begin = time.Now()
	s = start(t, o)
	t.Logf("first start %v, stop %v, second start %v", first, stop, time.Since(begin))
	require.Equal(t, []string{"kept"}, notes(t, s))
	require.Contains(t, s.URL("x"), "postgres://skillgraph@/x?host=%2F")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	s := start(t, o)
	for name, want := range map[string]string{
		"listen_addresses": "", "max_connections": "200", "server_encoding": "UTF8", "TimeZone": "UTC",
		"log_timezone": "UTC", "lc_messages": "C", "shared_buffers": "128MB", "fsync": "off",
	} {
		require.Equal(t, want, ask(t, s, "SHOW "+name), name)
	}
	require.Equal(t, "C skillgraph", ask(t, s, `SELECT datcollate || ' ' || current_user FROM pg_database WHERE datname = current_database()`))
	for _, dir := range []string{"socket", "data"} {
		info, err := os.Stat(filepath.Join(o.Dir, dir))
		require.NoError(t, err)
		require.Equal(t, os.ModeDir|0o700, info.Mode(), dir)
	}
	// Ctrl-C goes to our process group: PostgreSQL must not be in it.
	group, err := syscall.Getpgid(s.cmd.Process.Pid)
	require.NoError(t, err)
	require.Equal(t, s.cmd.Process.Pid, group)
}

func TestSocketElsewhere(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"long": strings.Repeat("long/", 25), "comma": "a,b", "space": "it's a b"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := madeOptions(t)
			o.Dir = filepath.Join(o.Dir, dir)
			s := start(t, o)
			joined, err := Join(timeout(t), o)
			require.NoError(t, err)
			require.Equal(t, s.URL("postgres"), joined.URL("postgres"))
			require.Equal(t, "1", ask(t, joined, "SELECT '1'"))
			require.NoError(t, joined.Stop())

			info, err := os.Stat(s.socket)
			require.NoError(t, err)
			require.Equal(t, os.ModeDir|0o700, info.Mode())
			require.NoError(t, s.Stop())
			require.NoDirExists(t, s.socket)
			require.NoFileExists(t, filepath.Join(o.Dir, "socket"))
		})
	}
}

func TestDataOfAnotherVersionIsRefused(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	data := filepath.Join(o.Dir, "data")
	require.NoError(t, os.MkdirAll(data, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("9\n"), 0o600))

	_, err := Start(timeout(t), o)
	require.ErrorContains(t, err, "made by PostgreSQL 9 and cannot be used by ")
	require.NotContains(t, err.Error(), "\n")

	bin, err := Find(timeout(t), o.cache())
	require.NoError(t, err)
	o.Bin = bin
	_, err = Start(timeout(t), o)
	require.ErrorContains(t, err, "PostgreSQL 9")
	require.ErrorContains(t, err, fmt.Sprintf("PostgreSQL %d in %s", version(t.Context(), bin), bin))

	left, err := os.ReadDir(data)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing is wiped or added")
}

func TestForeignDataIsRefused(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	precious := filepath.Join(o.Dir, "data", "precious")
	require.NoError(t, os.MkdirAll(precious, 0o700))
	_, err := Start(timeout(t), o)
	require.ErrorContains(t, err, "file exists")
	require.DirExists(t, precious)
	left, _ := filepath.Glob(filepath.Join(o.Dir, "data.tmp-*"))
	require.Empty(t, left)
}

func TestStartFailureShowsTheLog(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	require.NoError(t, start(t, o).Stop())
	conf, err := os.OpenFile(filepath.Join(o.Dir, "data", "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = conf.WriteString("nonsense = 1\n")
	require.NoError(t, err)
	require.NoError(t, conf.Close())

	_, err = Start(timeout(t), o)
	require.ErrorContains(t, err, `PostgreSQL did not start (exit status 1)`)
	require.ErrorContains(t, err, `unrecognized configuration parameter "nonsense"`)
	require.NotContains(t, err.Error(), "database system is shut down", "that is from the run before")
}

func TestStartCanBeCancelled(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond) // in the middle of initdb
	defer cancel()
	_, err := Start(ctx, o)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoDirExists(t, filepath.Join(o.Dir, "data"))
	start(t, o)
}

func TestLongLogIsSetAside(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	log := filepath.Join(o.Dir, "postgres.log")
	require.NoError(t, os.MkdirAll(o.Dir, 0o755))
	require.NoError(t, os.WriteFile(log, make([]byte, maxLog+1), 0o600))
	start(t, o)
	for name, most := range map[string]int64{log: 10_000, log + ".1": maxLog + 1} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), most)
	}
}

func TestNoTCP(t *testing.T) {
	t.Parallel()
	s := start(t, madeOptions(t))
	conn, err := net.Dial("unix", filepath.Join(s.socket, socketName))
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	tcp, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Skip("needs /proc")
	}
	fds, err := filepath.Glob("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/fd/*")
	require.NoError(t, err)
	require.NotEmpty(t, fds)
	for _, fd := range fds {
		target, _ := os.Readlink(fd)
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			require.NotContains(t, string(tcp), " "+strings.TrimSuffix(inode, "]")+" ")
		}
	}
}
