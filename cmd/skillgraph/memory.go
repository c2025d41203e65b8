package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// What is allocated may grow to so much before any of it is collected; a server that has more than half of that in use has
// room for as much again, as Go would have it.
const smallMemory = 50 << 20

// makeRoom has memory collected rarely where there is little of it: most of the collector's work would else be to find
// again and again the few things that last. Whoever sets GOGC or GOMEMLIMIT knows better.
func makeRoom() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(400)
	afterCollection(func() {
		has := debug.SetMemoryLimit(-1)
		if limit := memoryLimit(has, inUse()); limit != has {
			debug.SetMemoryLimit(limit)
		}
	})
}

// memoryLimit is how far memory may grow. To change it stops everything for a moment, so it stays as it is for a little less.
func memoryLimit(has, used int64) int64 {
	want := max(smallMemory, 2*used)
	if want < has && want > has/2 {
		return has
	}
	return want
}

// inUse is what the last collection has left.
func inUse() int64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	return int64(live[0].Value.Uint64()) //nolint:gosec // no machine has so much
}

// afterCollection does it now and after each collection: that of an object which nobody needs tells of it.
func afterCollection(do func()) {
	do()
	garbage := &struct{ self any }{}
	garbage.self = garbage // with a pointer, it is not put into a block with what lasts
	runtime.AddCleanup(garbage, afterCollection, do)
}
