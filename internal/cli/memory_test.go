package cli

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"testing/fstest"

	"k8s.io/utils/clock"
)

func TestWhoSetsGOGCIsLeftIt(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	for _, tc := range []struct {
		given string
		want  int
	}{{"200", 77}, {"off", 77}, {"", startPercent}} {
		ended, end := context.WithCancel(t.Context())
		end() // so that no other code sets it
		keepSmall(ended, func(name string) string { return map[string]string{"GOGC": tc.given}[name] }, fstest.MapFS{})
		if got := debug.SetGCPercent(77); got != tc.want {
			t.Errorf("with GOGC=%q it is %d, must be %d", tc.given, got, tc.want)
		}
	}
}

func TestGarbageIsCollectedByWhatIsKept(t *testing.T) {
	for kept, want := range map[uint64]int{0: 200, 1 << 20: 200, 4 << 20: 200, 8 << 20: 100, 10 << 20: 75, 16 << 20: 50, 1 << 40: 50} {
		if got := percentFor(kept, gcPercent); got != want {
			t.Errorf("with %d bytes kept it is %d, must be %d", kept, got, want)
		}
	}
	for kept, want := range map[uint64]int{0: 200, 8 << 20: 100, 16 << 20: 50, 32 << 20: 25, 1 << 40: 25} {
		if got := percentFor(kept, startPercent); got != want {
			t.Errorf("with %d bytes kept at the start it is %d, must be %d", kept, got, want)
		}
	}
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	percent := func() int {
		now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(now)
		return int(now[0].Value.Uint64())
	}
	// If the condition never holds, the time-out of the tests ends the loop.
	collectUntil := func(come func() bool) {
		for !come() {
			runtime.GC()
		}
	}
	// The live heap is that of the test process, which other tests share.
	fits := func(least int) func() bool {
		return func() bool {
			live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
			metrics.Read(live)
			return percent() == percentFor(live[0].Value.Uint64(), least)
		}
	}
	started := keepSmall(ctx, func(string) string { return "" }, fstest.MapFS{})
	collectUntil(fits(startPercent))
	much := make([]byte, 64<<20)
	collectUntil(func() bool { return percent() == startPercent })
	started()
	collectUntil(func() bool { return percent() == gcPercent })
	runtime.KeepAlive(much)
	collectUntil(fits(gcPercent))
}

func TestTheMemoryOfTheContainerIsFollowed(t *testing.T) {
	const none = math.MaxInt64
	for about, tc := range map[string]struct {
		files   map[string]string
		setting string
		want    int64
	}{
		"a limit":                         {files: map[string]string{"memory.max": "100000000\n"}, want: 90000000},
		"none":                            {files: map[string]string{"memory.max": "max\n"}, want: none},
		"of the first version of cgroups": {files: map[string]string{"memory/memory.limit_in_bytes": "200000000\n"}, want: 180000000},
		"none of the first version":       {files: map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712\n"}, want: none},
		"no container":                    {want: none},
		"set by the user":                 {files: map[string]string{"memory.max": "100000000\n"}, setting: "50MiB", want: none},
	} {
		t.Run(about, func(t *testing.T) {
			before, gc := debug.SetMemoryLimit(none), debug.SetGCPercent(gcPercent)
			defer debug.SetMemoryLimit(before)
			defer debug.SetGCPercent(gc)
			cgroup := fstest.MapFS{}
			for name, text := range tc.files {
				cgroup[name] = &fstest.MapFile{Data: []byte(text)}
			}
			keepSmall(t.Context(), func(name string) string { return map[string]string{"GOMEMLIMIT": tc.setting}[name] }, cgroup)
			if got := debug.SetMemoryLimit(-1); got != tc.want {
				t.Errorf("the limit is %d, must be %d", got, tc.want)
			}
		})
	}
}

func TestWhatAStartHasTakenGoesBack(t *testing.T) {
	kept := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapIdle - m.HeapReleased
	}
	const taken = 256 << 20
	piles := make([][]byte, 0, 64)
	for range cap(piles) {
		piles = append(piles, make([]byte, taken/cap(piles)))
	}
	clear(piles)
	runtime.GC()
	before := kept()
	if before < taken/8 {
		t.Fatalf("%d MiB are kept for later, of %d that were taken", before>>20, taken>>20)
	}
	asked := 0
	giveBack(t.Context(), clock.RealClock{}, func() bool { asked++; return asked == 2 })
	if after := kept(); after > before/4 || asked != 2 {
		t.Errorf("%d MiB are kept for later, %d before; asked %d times", after>>20, before>>20, asked)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	giveBack(ended, clock.RealClock{}, func() bool { return false }) // returns at once
}

func TestTheStartIsCompleteEvenIfTheQueueIsNeverEmpty(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	read, started := false, false
	afterStart(ctx, clock.RealClock{}, func() bool {
		if started {
			t.Error("the start was complete before everything was read")
		}
		read = true
		return read
	}, func() { started = true }, func() bool {
		end()
		return false
	})
	if !read || !started {
		t.Errorf("read %v, started %v", read, started)
	}
}
