package controller

import (
	"strings"
	"testing"
)

// A history that fails can be replayed only if nothing in it depends on the order of a map.
func TestHistoriesRepeat(t *testing.T) {
	plays := map[string]func(seed uint64) string{
		"TestHistoriesOfBundles": func(seed uint64) string {
			h := newBundleHistory(t, seed)
			h.run()
			return h.trace.String()
		},
		"TestHistoriesOfKeys": func(seed uint64) string {
			h := newKeyHistory(t, seed)
			h.run()
			return h.trace.String()
		},
	}
	for test, kept := range keptSeeds() {
		plays[test] = func(seed uint64) string {
			h := kept.draw(seed, allSteps)
			h.traced = true
			_ = h.run() // whether it passes is for the other tests
			return h.trace.String()
		}
	}
	const enough = full / 250
	base, count, _ := drawnSeeds(t, enough)
	for test, play := range plays {
		for seed := base; seed < base+min(count, enough); seed++ {
			first, second := strings.Split(play(seed), "\n"), strings.Split(play(seed), "\n")
			for i := range min(len(first), len(second)) {
				if first[i] != second[i] {
					t.Errorf("seed %d of %s says %q, and when it is played again %q", seed, test, first[i], second[i])
					break
				}
			}
			if len(first) != len(second) {
				t.Errorf("seed %d of %s says %d lines, and when it is played again %d", seed, test, len(first), len(second))
			}
		}
	}
}
