//go:build linux && !race

package web

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// What the pages of a large cluster may take. BenchmarkPages measures the numbers. Here, a target is
// held by the time of the processor, so that other programs on the machine change it little.
const (
	pageTakes      = 200 * time.Millisecond
	updateTakes    = 50 * time.Millisecond
	tenReadersTake = 100 * time.Millisecond // of each second
	viewTakes      = 20 << 20
)

func TestPagesOfALargeClusterCostLittle(t *testing.T) {
	view, objects := large(t)
	before := heap()
	view.Refresh(t.Context())
	h := handler(view)
	for _, path := range largePaths() {
		within(t, path, pageTakes, func(int) { fetch(t, h, path) })
	}
	edits := 0
	edit := func(int) {
		edits++
		objects.Put(edited(edits))
		view.Refresh(t.Context())
	}
	within(t, "an update", updateTakes, edit)
	within(t, "ten readers and an update", tenReadersTake, func(i int) {
		edit(i)
		var reading sync.WaitGroup
		for range 10 {
			reading.Go(func() { fetch(t, h, "/") })
		}
		reading.Wait()
	})
	if grown := int64(heap()) - int64(before); grown > viewTakes {
		t.Errorf("the pages take %d bytes of memory, more than %d", grown, viewTakes)
	}
	runtime.KeepAlive(objects)
	runtime.KeepAlive(view)
}

// within fails if something takes more time of the processor than it may, on average.
func within(t *testing.T, what string, most time.Duration, do func(i int)) {
	t.Helper()
	const times = 10
	began := used(t)
	for i := range times {
		do(i)
	}
	took := (used(t) - began) / times
	t.Logf("%s: %s", what, took)
	if took > most {
		t.Errorf("%s takes %s, more than %s", what, took, most)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
