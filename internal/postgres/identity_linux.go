package postgres

import "syscall"

const (
	capDACOverride   = 1
	capDACReadSearch = 2
)

// asUser runs PostgreSQL in a process group of its own, which Ctrl-C does not reach, and ends it when we die.
// For another user it first tries to keep a capability of root, with which data and programs below /root are found.
func asUser(c *syscall.Credential) []*syscall.SysProcAttr {
	plain := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT, Credential: c}
	if c == nil {
		return []*syscall.SysProcAttr{plain}
	}
	reader, writer := *plain, *plain
	reader.AmbientCaps = []uintptr{capDACReadSearch}
	writer.AmbientCaps = []uintptr{capDACOverride} // containers usually have this one only
	return []*syscall.SysProcAttr{&reader, &writer, plain}
}

// asMappedRoot runs PostgreSQL in a user namespace where root is called nobody: not root for PostgreSQL, but with
// the files of root. Many containers forbid it.
func asMappedRoot() []*syscall.SysProcAttr {
	root := []syscall.SysProcIDMap{{ContainerID: 65534, HostID: 0, Size: 1}}
	return []*syscall.SysProcAttr{{
		Setpgid:     true,
		Pdeathsig:   syscall.SIGINT,
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: root,
		GidMappings: root,
	}}
}
