package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	osuser "os/user"
	"strconv"
	"syscall"
)

// identity tells as whom PostgreSQL runs: it refuses to be root. It takes the first way in which the program
// starts and gets to its directory.
func (o Options) identity(ctx context.Context) (*syscall.SysProcAttr, error) {
	var failed error
	for _, as := range o.identities() {
		out, err := o.command(ctx, as, "/bin/sh", "-c", `cd "$0" && exec "$1" --version`, o.Dir, o.Bin+"/postgres")
		if err == nil {
			return as, nil
		}
		failed = fmt.Errorf("cannot run PostgreSQL (%w): %s", err, lastLines(out))
	}
	if failed == nil {
		failed = errors.New("PostgreSQL refuses to run as root, and there is neither a user postgres nor a user nobody")
	}
	return nil, failed
}

func (o Options) identities() []*syscall.SysProcAttr {
	if os.Geteuid() != 0 {
		return asUser(nil)
	}
	if owner := ownerOf(o.path("data")); owner != nil && owner.Uid != 0 {
		return asUser(owner) // who made the data goes on, even if root starts it once
	}
	ways := asMappedRoot()
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := osuser.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(u.Uid, 10, 32)
			gid, _ := strconv.ParseUint(u.Gid, 10, 32)
			ways = append(ways, asUser(&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)})...)
		}
	}
	return ways
}

func ownerOf(path string) *syscall.Credential {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	stat := info.Sys().(*syscall.Stat_t)
	return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}
}

// give makes PostgreSQL the owner of a directory that we made for it.
func give(dir string, as *syscall.SysProcAttr) error {
	if as.Credential == nil {
		return nil
	}
	return os.Lchown(dir, int(as.Credential.Uid), int(as.Credential.Gid))
}
