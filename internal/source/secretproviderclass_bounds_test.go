package source_test

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/source"
)

// worstReport is the largest status that the API server accepts, about 1.5 MiB.
func worstReport(d *driver, pod string, n, length int) source.ClassReport {
	r := d.mount(pod, "1")
	for i := range n {
		r.Objects[fmt.Sprintf("%s%d", strings.Repeat("i", length), i)] = strings.Repeat("v", length)
	}
	return r
}

func TestWhatAStatusKeepsIsBounded(t *testing.T) {
	for name, report := range map[string]func(d *driver) source.ClassReport{
		"many objects": func(d *driver) source.ClassReport { return worstReport(d, "a", 60_000, 1) },
		"long objects": func(d *driver) source.ClassReport { return worstReport(d, "a", 10, 80_000) },
	} {
		t.Run(name, func(t *testing.T) {
			class := source.NewClass(vault)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			r := report(newDriver())
			if !r.Bound() {
				t.Error("nobody is told")
			}
			class.Put(r)
			r = source.ClassReport{}
			runtime.GC()
			runtime.ReadMemStats(&after)
			if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 2<<20 {
				t.Errorf("%d bytes are kept, may be %d", kept, 2<<20)
			}
			runtime.KeepAlive(class)
		})
	}
	d := newDriver()
	if r := worstReport(d, "a", 999, 200); r.Bound() || len(r.Objects) != 1000 {
		t.Errorf("%d of 1,000 objects are kept", len(r.Objects))
	}
	// Pods that list other objects each fill a class as well.
	class := source.NewClass(vault)
	for i := range 50 {
		r := d.mount(fmt.Sprintf("pod-%d", i), "1")
		for j := range 100 {
			r.Objects[fmt.Sprintf("%d-%d", i, j)] = "1"
		}
		class.Put(r)
	}
	if src, _ := class.Source(); len(src.Keys) > 1001 || !class.Crowded() {
		t.Errorf("a class has %d objects", len(src.Keys))
	}
}

// What is beyond the bounds is compared as one: another version of any of it is a rotation.
func TestARotationBeyondTheBoundsIsSeen(t *testing.T) {
	for name, tc := range map[string]struct{ id, version, next string }{
		"of one among many":        {"zzz", "1", "2"},
		"of one with a long name":  {strings.Repeat("z", 300), "1", "2"},
		"to another long version":  {"a", strings.Repeat("v", 300) + "1", strings.Repeat("v", 300) + "2"},
		"of both, among many more": {strings.Repeat("z", 300), strings.Repeat("v", 300) + "1", strings.Repeat("v", 300) + "2"},
	} {
		t.Run(name, func(t *testing.T) {
			d, class := newDriver(), source.NewClass(vault)
			r := worstReport(d, "a", 3000, 1)
			r.Objects[tc.id] = tc.version
			rotated := r
			rotated.Objects = maps.Clone(r.Objects)
			rotated.Objects[tc.id] = tc.next
			rotated.Written, rotated.Version = d.tick(), d.version
			again := rotated
			again.Objects = maps.Clone(rotated.Objects)
			again.Written, again.Version = d.tick(), d.version
			for i, want := range []int{1, 1, 0} {
				now := []*source.ClassReport{&r, &rotated, &again}[i]
				now.Bound()
				if got := class.Put(*now); len(got) != want {
					t.Errorf("report %d: %d contents, want %d", i+1, len(got), want)
				}
			}
			if src, _ := class.Source(); src.Started["a"] {
				t.Error("the pod counts as started with what it was given while it ran")
			}
		})
	}
}

// source_test.BenchmarkWorstStatus is what an event of such a status takes: to bound it, and to
// compare what is left, for which other classes wait.
func BenchmarkWorstStatus(b *testing.B) {
	d := newDriver()
	class := source.NewClass(vault)
	large := worstReport(d, "a", 60_000, 1)
	bounded := large
	bounded.Objects = maps.Clone(large.Objects)
	bounded.Bound()
	b.Run("bound", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r := large
			r.Bound()
		}
	})
	b.Run("put", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			bounded.Objects = maps.Clone(bounded.Objects)
			bounded.Objects["i0"], bounded.Version, bounded.Written = fmt.Sprint(d.version), d.version+1, d.tick()
			class.Put(bounded)
		}
	})
}
