package postgres

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ways to run beside the plain one. Each makes a cluster, is killed, and finds its rows again.
func TestAsSomebodyElse(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	everyone := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65536}}
	confined := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, UidMappings: everyone, GidMappings: everyone, GidMappingsEnableSetgroups: true,
	}
	ordinary := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	const noNamespaces = "echo 0 > /proc/sys/user/max_user_namespaces && exec"
	const fewCapabilities = noNamespaces + " setpriv --bounding-set=-dac_read_search"
	for name, test := range map[string]struct {
		as     *syscall.SysProcAttr
		shell  string
		locked bool // below a directory that only root can enter
		mapped bool // root under another name
	}{
		"root":                        {mapped: true},
		"root below /root":            {mapped: true, locked: true},
		"root without namespaces":     {as: confined, shell: noNamespaces},
		"the same below /root":        {as: confined, shell: noNamespaces, locked: true},
		"in a container, below /root": {as: confined, shell: fewCapabilities, locked: true},
		"an ordinary user":            {as: ordinary},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t)
			top := filepath.Dir(o.Dir)
			if test.locked {
				require.NoError(t, os.Chmod(top, 0o700))
			}
			if test.as == ordinary {
				require.NoError(t, os.Chown(top, nobody, nobody))
			}
			j := job{Do: "start", Row: "a", Options: o, Shell: test.shell}
			first := spawn(t, j, test.as)
			first.ready(t)
			require.Equal(t, test.mapped, ownerOf(filepath.Join(o.Dir, "data")).Uid == 0)
			first.kill(t)
			requireGone(t, o)

			second := spawn(t, j, test.as)
			second.ready(t)
			second.finish(t)

			s := start(t, o) // root may run whatever cluster it finds, as the user who made it
			require.Equal(t, []string{"a", "a"}, notes(t, s))
			require.NoError(t, s.Stop())
			second = spawn(t, j, test.as) // and leaves it usable
			second.ready(t)
			second.finish(t)
		})
	}
}
