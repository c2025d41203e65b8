//go:build !linux

package postgres

import "syscall"

// asUser runs PostgreSQL in a process group of its own, which Ctrl-C does not reach.
func asUser(c *syscall.Credential) []*syscall.SysProcAttr {
	return []*syscall.SysProcAttr{{Setpgid: true, Credential: c}}
}

// asMappedRoot needs the user namespaces of Linux.
func asMappedRoot() []*syscall.SysProcAttr { return nil }
