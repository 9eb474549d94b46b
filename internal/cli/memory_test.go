package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"

	"k8s.io/utils/clock"
)

func TestWhoSetsGOGCIsLeftIt(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	for _, tc := range []struct {
		given string
		want  int
	}{{"200", 77}, {"off", 77}, {"", gcPercent}} {
		keepSmall(func(name string) string {
			if name != "GOGC" {
				t.Errorf("%s is read", name)
			}
			return tc.given
		})
		if got := debug.SetGCPercent(77); got != tc.want {
			t.Errorf("with GOGC=%q it is %d, must be %d", tc.given, got, tc.want)
		}
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
	giveBack(ended, clock.RealClock{}, func() bool { return false }) // returns
}
