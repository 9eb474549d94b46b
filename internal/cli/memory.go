package cli

import (
	"context"
	"io/fs"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// gcPercent is the amount of garbage that may accumulate before a collection, in percent of the
// live heap. The variable GOGC overrides it. The default of Go is 100. Our live heap grows with the
// number of sources and workloads, and is small compared with the objects that are read and
// dropped. So half of the default costs little time, and keeps a container within its limit.
const gcPercent = 50

// startPercent is the same until everything has been read. Meanwhile, most allocations are objects
// that are read and dropped, on top of a live heap that later work hardly exceeds. The peak of the
// start decides which limit a container needs.
const startPercent = 25

// leastGarbage is the amount of garbage that may always accumulate. In a cluster of a thousand
// workloads, the live heap is a few MiB. If half of that triggered a collection, collections would
// be a quarter of the cost of an edit of many sources.
const leastGarbage = 8 << 20

// keepSmall makes the garbage collector run earlier than by default, and more often as memory
// approaches the limit of the container. The variables GOGC and GOMEMLIMIT override that. The
// caller calls started when everything has been read.
func keepSmall(ctx context.Context, getenv func(string) string, cgroup fs.FS) (started func()) {
	var complete atomic.Bool
	if getenv("GOGC") == "" {
		debug.SetGCPercent(startPercent)
		adapt(ctx, complete.Load)
	}
	if most, limited := memoryLimit(cgroup); limited && getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(most - most/limitShare)
	}
	return func() { complete.Store(true) }
}

// adapt updates the percentage after each collection, until the context ends.
func adapt(ctx context.Context, started func() bool) {
	kept := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	set := startPercent
	afterEachCollection(func() bool {
		metrics.Read(kept)
		least := startPercent
		if started() {
			least = gcPercent
		}
		if percent := percentFor(kept[0].Value.Uint64(), least); percent != set && ctx.Err() == nil {
			set = percent
			debug.SetGCPercent(percent)
		}
		return ctx.Err() == nil
	})
}

// percentFor returns the amount of garbage that may accumulate, in percent of the live heap, but no
// less than a given percentage. It changes in steps, because a change of the setting stops all
// goroutines for a moment.
func percentFor(kept uint64, least int) int {
	const step = 25
	// At a higher percentage, Go itself lets more than 8 MiB accumulate.
	const most = 200
	return min(max(least, int(leastGarbage*100/max(kept, 1))/step*step), most) //nolint:gosec // far below the largest int
}

// afterEachCollection calls a function after each garbage collection, as long as the function
// returns true. Go has no other notification of a collection than the finalizer of an unused
// object.
func afterEachCollection(do func() (again bool)) {
	type object struct{ _ *object }
	var gone func(*object)
	gone = func(o *object) {
		if do() {
			runtime.SetFinalizer(o, gone)
		}
	}
	runtime.SetFinalizer(&object{}, gone)
}

// cgroups is the directory in which the kernel describes the limits of a container.
const cgroups = "/sys/fs/cgroup"

// limitShare is the part of the memory of a container that is left for memory that Go does not
// count: one in limitShare.
const limitShare = 10

// memoryLimit returns the memory limit of the container in bytes. If no file has a limit, the
// container has none.
func memoryLimit(cgroup fs.FS) (bytes int64, limited bool) {
	const boundless = 1 << 60 // for no limit, cgroups v1 has a huge number
	for _, file := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(cgroup, file)
		if err != nil {
			continue
		}
		bytes, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return bytes, err == nil && 0 < bytes && bytes < boundless
	}
	return 0, false
}

// restEvery is how often Reroll checks whether the start is complete.
const restEvery = time.Second

// afterStart gives memory back when everything has been read, and again when the queue is empty.
// Held workloads may keep the queue from being empty for long, so started is called before.
func afterStart(ctx context.Context, c clock.WithTicker, ready func() bool, started func(), idle func() bool) {
	giveBack(ctx, c, ready, func() bool {
		started()
		return idle()
	})
}

// giveBack returns unused memory to the operating system at some moments, in their order. At the
// start, the process reads all objects and keeps next to nothing of them. Go would keep that memory
// for later, but nothing later needs as much. The same applies to the program itself.
func giveBack(ctx context.Context, c clock.WithTicker, moments ...func() bool) {
	ticker := c.NewTicker(restEvery)
	defer ticker.Stop()
	for _, come := range moments {
		for !come() {
			select {
			case <-ticker.C():
			case <-ctx.Done():
				return
			}
		}
		debug.FreeOSMemory()
		unmapProgram()
	}
}
