package postgres

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

func TestSecondStartIsRefused(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	servers := make([]*Server, 2)
	errs := make([]error, 2)
	var both errgroup.Group
	for i := range servers {
		both.Go(func() error { servers[i], errs[i] = Start(timeout(t), o); return nil })
	}
	_ = both.Wait()
	won := slices.IndexFunc(errs, func(err error) bool { return err == nil })
	require.NotEqual(t, -1, won, "%v", errs)
	t.Cleanup(func() { _ = servers[won].Stop() })
	require.ErrorContains(t, errs[1-won], "another skillgraph (pid "+strconv.Itoa(os.Getpid())+") is running on this data directory")
	require.Equal(t, "1", ask(t, servers[won], "SELECT '1'"))
}

func TestStartWaitsForACommand(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	command, err := Join(timeout(t), o)
	require.NoError(t, err)
	time.AfterFunc(500*time.Millisecond, func() { _ = command.Stop() })
	s := start(t, o)
	require.True(t, command.gone())
	require.Equal(t, "1", ask(t, s, "SELECT '1'"))
}

// A command beside a running server, in another process as in real life.
func TestJoinBesideAServer(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	s := start(t, o)
	command := spawn(t, job{Do: "join", Row: "command", Options: o}, nil)
	command.ready(t)
	require.Equal(t, []string{"command"}, notes(t, s))
	command.finish(t)
	require.Equal(t, []string{"command"}, notes(t, s), "the command has not stopped the server's cluster")
}

// The first command owns the cluster; it must not pull it away under the second one.
func TestOwnerWaitsForOtherCommands(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	first, err := Join(timeout(t), o)
	require.NoError(t, err)
	second, err := Join(timeout(t), o)
	require.NoError(t, err)
	require.Nil(t, second.cmd)

	var stop errgroup.Group
	stop.Go(first.Stop)
	for range 20 { // new connections, not only old ones
		require.NoError(t, insert(t.Context(), second, "x"))
		time.Sleep(10 * time.Millisecond)
	}
	require.False(t, first.gone())
	require.NoError(t, second.Stop())
	require.NoError(t, stop.Wait())
	requireGone(t, o)
}

// Commands come and go in any order: each finds a cluster, and no row is lost.
func TestJoinRace(t *testing.T) {
	t.Parallel()
	o := madeOptions(t)
	var all errgroup.Group
	for worker := range 6 {
		all.Go(func() error {
			for round := range 5 {
				s, err := Join(timeout(t), o)
				if err != nil {
					return fmt.Errorf("join: %w", err)
				}
				if err := insert(t.Context(), s, fmt.Sprintf("%d-%d", worker, round)); err != nil {
					return fmt.Errorf("insert: %w", err)
				}
				if err := s.Stop(); err != nil {
					return fmt.Errorf("stop: %w", err)
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	requireGone(t, o)
	require.Len(t, notes(t, start(t, o)), 30)
}

// Commands start at once, and a server starts while they finish.
func TestJoinRaceOfProcesses(t *testing.T) {
	t.Parallel()
	o := testOptions(t)
	var commands []*child
	for i := range 3 {
		commands = append(commands, spawn(t, job{Do: "join", Row: strconv.Itoa(i), Options: o}, nil))
	}
	for _, c := range commands {
		c.ready(t)
	}
	var stop errgroup.Group
	for _, c := range commands {
		stop.Go(func() error { _ = c.stdin.Close(); return c.Wait() })
	}
	s := start(t, o)
	require.NoError(t, stop.Wait())
	require.Equal(t, []string{"0", "1", "2"}, notes(t, s))
}
