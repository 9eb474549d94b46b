//go:build !race

package cli

import "testing"

// The test measures the additional cost of more objects. Four times as many objects may cost four
// times the time, and each of their bytes four bytes of memory. Both limits are doubled against
// chance. BenchmarkStamp measures the absolute numbers at full size.
func TestWhatStampTakesGrowsWithTheInput(t *testing.T) {
	const objects, times, twice = 200, 4, 2
	for _, form := range forms() {
		t.Run(form.name, func(t *testing.T) {
			small, large := form.of(many(objects)), form.of(many(times*objects))
			few, more := stampInChild(t, form, small, objects), stampInChild(t, form, large, times*objects)
			ratio := (more.heap - few.heap) / float64(len(large)-len(small))
			t.Logf("%.1f s, and %.1f s for %d times the objects; %.1f bytes of heap for each more of the input", few.cpu, more.cpu, times, ratio)
			if more.cpu > twice*times*few.cpu {
				t.Errorf("%.1f s, and %.1f s for %d times the objects", few.cpu, more.cpu, times)
			}
			if ratio > twice*mostMemory {
				t.Errorf("%.1f bytes of heap for each more of the input", ratio)
			}
		})
	}
}
