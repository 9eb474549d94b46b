package cli

import (
	"runtime/debug"
	"testing"
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
