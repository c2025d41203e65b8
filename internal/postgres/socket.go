package postgres

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	port          = "5432" // only a part of the socket's name
	socketName    = ".s.PGSQL." + port
	maxSocketPath = 103 // what macOS allows; Linux allows 107 bytes
)

// makeSocket makes the directory of the socket, which PostgreSQL's user alone can enter: whoever gets in is the
// superuser. Where its path is too long for a socket, "socket" is a link to a directory with a short one.
func (o Options) makeSocket(as *syscall.SysProcAttr) (string, error) {
	o.dropSocket()
	dir := o.path("socket")
	if !short(dir) {
		tmp, err := os.MkdirTemp("", "skillgraph-")
		if err != nil {
			return "", err
		}
		if err := os.Symlink(tmp, dir); err != nil {
			return "", err
		}
		return tmp, give(tmp, as)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return dir, give(dir, as)
}

// socket is the directory that makeSocket made, maybe in another process.
func (o Options) socket() string {
	dir := o.path("socket")
	if target, err := os.Readlink(dir); err == nil {
		return target
	}
	return dir
}

// dropSocket removes one by one what can be there, never a whole tree that a link leads to.
func (o Options) dropSocket() {
	dir := o.socket()
	_ = os.Remove(filepath.Join(dir, socketName))
	_ = os.Remove(filepath.Join(dir, socketName+".lock"))
	_ = os.Remove(dir)
	_ = os.Remove(o.path("socket"))
}

// short tells whether a socket can lie in dir and be named in a list, as PostgreSQL and pgx take one.
func short(dir string) bool {
	return len(filepath.Join(dir, socketName)) <= maxSocketPath && !strings.ContainsAny(dir, `,"`)
}
