package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, row := range []struct {
		has  int64
		m    memory
		want int64
	}{
		{math.MaxInt64, memory{live: 5 * mib, beside: 8 * mib}, 48 * mib},
		{48 * mib, memory{live: 5 * mib, beside: 8 * mib}, 48 * mib},
		{48 * mib, memory{live: 20 * mib, beside: 8 * mib}, 48 * mib},
		{48 * mib, memory{live: 96 * mib, beside: 8 * mib}, 200 * mib}, // at once, so that the collector is never short of room
		{48 * mib, memory{live: 5 * mib, beside: 160 * mib}, 200 * mib},
		{200 * mib, memory{live: 60 * mib, beside: 8 * mib}, 200 * mib},
		{200 * mib, memory{live: 20 * mib, beside: 8 * mib}, 48 * mib},
	} {
		require.Equal(t, row.want, memoryLimit(row.has, row.m), "%+v", row)
	}
}

func TestMakeRoom(t *testing.T) { //nolint:paralleltest // it sets what the whole process has, for good
	before := debug.SetMemoryLimit(-1)
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "100")
	makeRoom()
	require.Equal(t, before, debug.SetMemoryLimit(-1), "the operator has decided")
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "1GiB")
	makeRoom()
	require.Equal(t, before, debug.SetMemoryLimit(-1), "the operator has decided")
	t.Setenv("GOMEMLIMIT", "")
	makeRoom()
	require.Greater(t, debug.SetMemoryLimit(-1), int64(smallHeap))
	require.Less(t, debug.SetMemoryLimit(-1), int64(200<<20))
	kept := make([]byte, 100<<20)
	runtime.GC()
	require.Eventually(t, func() bool { return debug.SetMemoryLimit(-1) >= 200<<20 }, 10*time.Second, time.Millisecond)
	runtime.KeepAlive(kept)
}

func TestAfterCollection(t *testing.T) {
	t.Parallel()
	var times atomic.Int64
	afterCollection(func() { times.Add(1) })
	for n := range int64(3) {
		require.Eventually(t, func() bool { return times.Load() > n }, 10*time.Second, time.Millisecond)
		runtime.GC()
	}
	require.Eventually(t, func() bool { return times.Load() > 3 }, 10*time.Second, time.Millisecond)
}
