package controller

import (
	"slices"
	"testing"
)

func TestTheBoundOfAnExcuse(t *testing.T) {
	for name, tc := range map[string]struct {
		perThousand float64
		histories   int
		each        []int // the uses in each of the first histories
		exceeds     bool
	}{
		"four histories use it often":                   {4656, 4, []int{12, 14, 10, 12}, false},
		"one history uses it in all its steps":          {51, 300, []int{60}, false},
		"some rare ones":                                {1, 10_000, slices.Repeat([]int{1}, 30), false},
		"rare ones become frequent":                     {1, 10_000, slices.Repeat([]int{1}, 60), true},
		"every history uses a rare one":                 {1, 100, slices.Repeat([]int{1}, 100), true},
		"a few use a rare one, a dozen times each":      {1, 10_000, slices.Repeat([]int{12}, 20), true},
		"many use it a dozen times each":                {51, 10_000, slices.Repeat([]int{12}, 120), true},
		"a frequent one becomes half as frequent again": {4656, 1000, slices.Repeat([]int{7}, 1000), true},
	} {
		t.Run(name, func(t *testing.T) {
			const name = "excuse: e"
			counts := map[string]int{}
			for _, uses := range tc.each {
				addCounts(counts, map[string]int{name: uses})
			}
			if used, most := counts[name], mostOf(tc.perThousand, uint64(tc.histories), counts, name); used > most != tc.exceeds {
				t.Errorf("%d of %d at most", used, most)
			}
		})
	}
}
