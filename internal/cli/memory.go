package cli

import (
	"context"
	"io/fs"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// gcPercent is how much garbage there may be beside what is kept, in percent of that, unless the variable GOGC says otherwise.
// By default Go lets as much pile up as is kept. What is kept here follows the number of sources and workloads, and is small
// beside what comes and goes while they are read; so half of it costs little time, and is what the limit of a container is about.
const gcPercent = 50

// leastGarbage is how much there may be however little is kept. In a cluster of a thousand workloads that is a few MiB: to look
// through them each time that half as much has come and gone would be a quarter of all that an edit of many costs.
const leastGarbage = 8 << 20

// keepSmall has garbage collected earlier than Go does by default, and ever more often where the memory that the container may
// use comes to its end. The variables GOGC and GOMEMLIMIT say otherwise.
func keepSmall(ctx context.Context, getenv func(string) string, cgroup fs.FS) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
		adapt(ctx)
	}
	if most, limited := memoryLimit(cgroup); limited && getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(most - most/limitShare)
	}
}

// adapt follows with the percentage what a collection of garbage has kept, until the context ends.
func adapt(ctx context.Context) {
	kept := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	set := gcPercent
	afterEachCollection(func() bool {
		metrics.Read(kept)
		if percent := percentFor(kept[0].Value.Uint64()); percent != set && ctx.Err() == nil {
			set = percent
			debug.SetGCPercent(percent)
		}
		return ctx.Err() == nil
	})
}

// percentFor is how much garbage there may be beside what is kept, in percent of that. It grows in steps, since to set it holds
// everything up for a moment.
func percentFor(kept uint64) int {
	const step = 25
	// Beyond that Go lets more than 8 MiB pile up by itself.
	const most = 200
	return min(max(gcPercent, int(leastGarbage*100/max(kept, 1))/step*step), most) //nolint:gosec // far below what an int holds
}

// afterEachCollection calls a function each time that garbage was collected, as long as it says so. Go gives no other word of that
// than the end of an object that nobody holds.
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

// cgroups is where the kernel tells a container about itself.
const cgroups = "/sys/fs/cgroup"

// limitShare is the part of a container's memory that is left to what Go does not count: one in so many.
const limitShare = 10

// memoryLimit is how many bytes the container may use, if it is limited. Where nothing tells, it is not.
func memoryLimit(cgroup fs.FS) (bytes int64, limited bool) {
	const boundless = 1 << 60 // cgroups of the first version have a number for that, too
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

// giveBack returns memory to the system that is not used any more, at some moments in a row. At a start all objects have been
// through it, and next to nothing of them stays. Go would keep it for later, and nothing later needs as much.
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
	}
}
