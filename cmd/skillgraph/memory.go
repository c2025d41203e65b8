package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// smallHeap is how far what is allocated may grow before any of it is collected. A server that has more than half of that in
// use has room for as much again, as Go would have it.
const smallHeap = 40 << 20

// makeRoom has memory collected rarely where there is little of it: most of the collector's work would else be to find
// again and again the few things that last. Whoever sets GOGC or GOMEMLIMIT knows better.
func makeRoom() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(400)
	afterCollection(func() {
		has := debug.SetMemoryLimit(-1)
		if limit := memoryLimit(has, readMemory()); limit != has {
			debug.SetMemoryLimit(limit)
		}
	})
}

// memory is what the process has, in bytes.
type memory struct {
	live   int64 // of the heap, what the last collection has left
	beside int64 // beside the heap: stacks above all, which no collection makes smaller
}

// memoryLimit is how far memory may grow. To change it stops everything for a moment, so it stays as it is for a little less.
func memoryLimit(has int64, m memory) int64 {
	want := m.beside + max(smallHeap, 2*m.live)
	if want <= has && want > has/2 {
		return has
	}
	return want
}

func readMemory() memory {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"}, // of which the rest is the heap
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(samples)
	of := func(i int) int64 { return int64(samples[i].Value.Uint64()) } //nolint:gosec // no machine has so much
	return memory{live: of(0), beside: of(1) - of(2) - of(3) - of(4) - of(5)}
}

// afterCollection does it now and after each collection: that of an object which nobody needs tells of it.
func afterCollection(do func()) {
	do()
	garbage := &struct{ self any }{}
	garbage.self = garbage // with a pointer, it is not put into a block with what lasts
	runtime.AddCleanup(garbage, afterCollection, do)
}
