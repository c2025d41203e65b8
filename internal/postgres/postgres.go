// Package postgres runs the server's own PostgreSQL as a child process, so that nobody has to set one up.
//
// Everything lies in one directory:
//
//	data           the cluster; made once, never wiped
//	socket         where PostgreSQL listens: a directory, or a link to one with a shorter name
//	postgres.log   what PostgreSQL says
//	owner.lock     held by the process that runs the cluster; its content is the pid
//	users.lock     shared by the processes that use a cluster of another process
//	postgres.lock  held by the processes of PostgreSQL itself: when it is free, all of them are gone
//
// The locks vanish with the processes that hold them, however those end.
package postgres

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	user = "skillgraph"

	ownerWait = 5 * time.Second  // Start waits so long for a short command that runs the cluster
	usersWait = 10 * time.Second // Stop waits so long for commands that use the cluster
	joinWait  = 20 * time.Second // longer than usersWait: Join may arrive while the owner stops
	haltWait  = 30 * time.Second // after it PostgreSQL is stopped by force; it recovers at the next start
)

// Options say where a cluster lies and how it runs.
type Options struct {
	Dir      string // holds everything; made when it is missing
	Bin      string // the folder of initdb and postgres; empty: the one that fits the data, see Find
	Cache    string // where a downloaded PostgreSQL is kept; empty: the user's cache directory
	Volatile bool   // for tests: faster, and a crash of the machine may lose data
}

// Server is a running cluster. The process that started it owns it; others only use it.
type Server struct {
	socket string
	lock   *os.File // owner.lock, or users.lock when another process owns the cluster
	stop   func() error

	cmd     *exec.Cmd     // nil when another process owns the cluster
	exited  chan struct{} // closed when postgres is gone; nil when another process owns the cluster
	exitErr error         // how it ended; to be read after exited is closed
}

// Start runs the cluster, and makes it first where there is none. It is for the server: it fails when another
// process runs the cluster, after a few seconds in which a command may finish.
func Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.prepare(); err != nil {
		return nil, err
	}
	var owner *os.File
	err := poll(ctx, ownerWait, func() (bool, error) {
		var err error
		owner, err = tryLock(o.path("owner.lock"), syscall.LOCK_EX)
		return owner != nil, err
	}, func() error {
		return fmt.Errorf("another skillgraph (pid %s) is running on this data directory: %s", o.ownerPid(), o.Dir)
	})
	if err != nil {
		return nil, err
	}
	return o.own(ctx, owner)
}

// Join uses the cluster that another process runs, or runs it when nobody does. It is for short commands, which
// must work beside a server, beside each other, and alone.
func Join(ctx context.Context, o Options) (*Server, error) {
	if err := o.prepare(); err != nil {
		return nil, err
	}
	var s *Server
	err := poll(ctx, joinWait, func() (bool, error) {
		owner, err := tryLock(o.path("owner.lock"), syscall.LOCK_EX)
		if err != nil {
			return false, err
		}
		if owner != nil {
			s, err = o.own(ctx, owner)
		} else {
			s, err = o.attach(ctx)
		}
		return s != nil, err
	}, func() error {
		return fmt.Errorf("skillgraph (pid %s) holds this data directory, but its PostgreSQL does not answer: %s", o.ownerPid(), o.Dir)
	})
	return s, err
}

// Abandoned reports whether there is a cluster in the directory that nobody runs.
func Abandoned(dir string) bool {
	path := filepath.Join(dir, "owner.lock")
	if _, err := os.Stat(path); err != nil {
		return false
	}
	owner, err := tryLock(path, syscall.LOCK_EX)
	unlock(owner)
	return err == nil && owner != nil
}

// URL is where pgx and libpq find a database of the cluster.
func (s *Server) URL(database string) string {
	q := url.Values{"host": {s.socket}, "port": {port}, "sslmode": {"disable"}}
	query := strings.ReplaceAll(q.Encode(), "+", "%20") // libpq and pgx take + for itself
	u := url.URL{Scheme: "postgres", User: url.User(user), Path: "/" + database, RawQuery: query}
	return u.String()
}

// Stop ends the cluster and waits until it is gone. Commands that still use it get some seconds to finish;
// transactions that are open after that are rolled back. On the cluster of another process it only says goodbye.
func (s *Server) Stop() error { return s.stop() }

// Exited is closed when PostgreSQL ends, whoever ended it. It stays open on the cluster of another process.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// prepare makes the directory and its name unambiguous: PostgreSQL runs with another working directory.
func (o *Options) prepare() error {
	// Others may pass but not look: where PostgreSQL runs as another user, it has to get to its files.
	err := os.MkdirAll(o.Dir, 0o711)
	if err == nil {
		o.Dir, err = filepath.Abs(o.Dir)
	}
	if err == nil {
		o.Dir, err = filepath.EvalSymlinks(o.Dir)
	}
	return err
}

func (o Options) path(name string) string { return filepath.Join(o.Dir, name) }

func (o Options) ownerPid() string {
	pid, _ := os.ReadFile(o.path("owner.lock"))
	return string(pid)
}

// own runs the cluster for the holder of owner.lock.
func (o Options) own(ctx context.Context, owner *os.File) (*Server, error) {
	s, err := o.run(ctx, owner)
	if err != nil {
		unlock(owner)
		return nil, err
	}
	s.lock = owner
	s.stop = sync.OnceValue(func() error { return s.shutdown(o) })
	return s, nil
}

// attach uses the cluster of another process; without an answer yet it returns nil.
func (o Options) attach(ctx context.Context) (*Server, error) {
	users, err := tryLock(o.path("users.lock"), syscall.LOCK_SH)
	if users == nil {
		return nil, err
	}
	s := &Server{socket: o.socket(), lock: users}
	if s.ping(ctx) != nil {
		unlock(users)
		return nil, nil
	}
	s.stop = sync.OnceValue(func() error { unlock(users); return nil })
	return s, nil
}

func (s *Server) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

// shutdown holds users.lock until PostgreSQL is gone, so that nobody joins a cluster that is about to stop.
func (s *Server) shutdown(o Options) error {
	defer unlock(s.lock)
	var users *os.File
	_ = poll(context.Background(), usersWait, func() (bool, error) {
		users, _ = tryLock(o.path("users.lock"), syscall.LOCK_EX)
		return users != nil || s.gone(), nil
	}, func() error { return nil }) // too late for them
	defer func() { unlock(users) }()

	crashed := s.gone()
	s.halt()
	o.dropSocket()
	if crashed || s.exitErr != nil {
		return fmt.Errorf("PostgreSQL ended by itself (%v), see %s", s.cmd.ProcessState, o.path("postgres.log"))
	}
	return nil
}

// halt ends postgres: open transactions are rolled back, and what takes too long is cut off.
func (s *Server) halt() {
	_ = s.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-s.exited:
	case <-time.After(haltWait):
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.exited
	}
}

func (s *Server) gone() bool {
	select {
	case <-s.exited:
		return true
	default:
		return false
	}
}

// claim writes the pid into owner.lock, for the message that others get.
func claim(owner *os.File) error {
	if err := owner.Truncate(0); err != nil {
		return err
	}
	_, err := owner.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	return err
}
