package controller

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// bounds limit the uses of each excuse in a thousand histories: the number that was measured in 52,000
// histories, and half as much again.
func bounds() map[excuse]float64 {
	return map[excuse]float64{
		unreadable:          1,
		madeAgain:           7,
		ledgerGone:          67,
		rolloutUndone:       90,
		templateReturned:    206,
		cameOrWentUnordered: 124,
		changedInLapse:      186,
		sentBefore:          44,
		saysNoMore:          1,
		cameBackUnseen:      10,
		showsNoTime:         180,
		podsOlder:           125,
		podsNotFound:        5,
		optedInUnseen:       51,
		labelShownLate:      1,
		optedInByStart:      0.1,
		keysUnseen:          1,
		keysOfGone:          1,
		installedThen:       385,
		allThen:             4,
		clocksApart:         4,
		inOneWrite:          3,
		seemsEdited:         9,
		podWaits:            6261,
		sourceGone:          956,
		startedWithout:      64,
		beforeInstalled:     6863,
		beforeCover:         1035,
		nothingToTry:        27,
		backBeforeSeen:      167,
		deletedUnseen:       46,
		overwrittenUnseen:   32,
		keyLostUnseen:       45,
		notAdopted:          97,
		notProven:           256,
		shownBefore:         7,
		labeledUnseen:       2,
		deletedUnasked:      17,
		broughtAlready:      1,
		leftEarly:           4,
		allSeenInParts:      185,
	}
}

// excusePrefix and historiesPrefix begin the counters of uses of an excuse, and of histories that use it.
const (
	excusePrefix    = "excuse: "
	historiesPrefix = "histories with "
)

// counter is the name under which the uses of an excuse are counted.
func (e excuse) counter() string { return excusePrefix + string(e) }

// excused counts the use of an excuse, and returns true.
func (o *oracle) excused(e excuse) bool {
	o.h.count(e.counter())
	o.h.say("excused: %s", e)
	return true
}

// addCounts adds what one history counted, and counts the excuses that it used.
func addCounts(all, of map[string]int) {
	for name, n := range of {
		if all[name] += n; strings.HasPrefix(name, excusePrefix) && n > 0 {
			all[historiesPrefix+name]++
		}
	}
}

// clump is the size of the clumps in which an excuse is used: some histories use it dozens of times, and
// most do not. The sum of the squares of its uses in each history, divided by all uses, was 15.6 at most for
// any excuse in 52,000 histories. The largest clump that was seen had 54 uses.
const clump = 20

// mostOf returns how many uses these histories may have, if they come in clumps of this size. By Chernoff's
// bound, more come by chance once in e^18 runs: all kinds of histories have some 250 bounds.
func mostOf(perThousand float64, histories uint64, clump float64) int {
	expected := perThousand * float64(histories) / 1000 / clump
	most := expected
	for expected > 0 && most*math.Log(most/expected)-most+expected < 18 {
		most++
	}
	return int(most * clump)
}

// excuseUse is how often histories used an excuse, and may.
type excuseUse struct {
	name                                 string
	uses, most, histories, mostHistories int
}

func (u excuseUse) String() string {
	return fmt.Sprintf("%s %d (of %d) in %d (of %d)", u.name, u.uses, u.most, u.histories, u.mostHistories)
}

func (u excuseUse) tooMuch() bool { return u.uses > u.most || u.histories > u.mostHistories }

// excusesUsed are the excuses that were used. A history that uses an excuse does so at least once. So the
// bound of the uses also limits the histories.
func excusesUsed(histories uint64, counts map[string]int, bounds map[excuse]float64) (all []excuseUse) {
	for _, counter := range slices.Sorted(maps.Keys(counts)) {
		if name, ok := strings.CutPrefix(counter, excusePrefix); ok {
			bound := bounds[excuse(name)]
			all = append(all, excuseUse{name, counts[counter], mostOf(bound, histories, clump), counts[historiesPrefix+counter], mostOf(bound, histories, 1)})
		}
	}
	return all
}

// checkExcuses fails if an excuse was used too often, or in too many histories.
func checkExcuses(t *testing.T, histories uint64, counts map[string]int, bounds map[excuse]float64) {
	t.Helper()
	for _, used := range excusesUsed(histories, counts, bounds) {
		if used.tooMuch() {
			t.Errorf("the oracle excused too much in %d histories: %s", histories, used)
		}
	}
}

// excuseLine formats the used excuses with their bounds.
func excuseLine(histories uint64, counts map[string]int, bounds map[excuse]float64) string {
	var cells []string
	for _, used := range excusesUsed(histories, counts, bounds) {
		cells = append(cells, used.String())
	}
	return "  excuses: " + strings.Join(cells, ", ") + "\n"
}

func TestTheBoundOfAnExcuse(t *testing.T) {
	for name, tc := range map[string]struct {
		perThousand float64
		histories   uint64
		each        []int // the uses in each of the first histories
		exceeds     bool
	}{
		"all histories use it often":                    {4656, 4, []int{12, 14, 10, 12}, false},
		"one history uses it in all its steps":          {51, 300, []int{60}, false},
		"one of few uses a rare one as often":           {0.1, 25, []int{60}, false},
		"some rare ones":                                {1, 10_000, slices.Repeat([]int{1}, 30), false},
		"rare ones become frequent":                     {1, 10_000, slices.Repeat([]int{1}, 60), true},
		"every history uses a rare one":                 {1, 100, slices.Repeat([]int{1}, 100), true},
		"five of a few histories use a very rare one":   {0.1, 150, slices.Repeat([]int{1}, 5), true},
		"five use a very rare one a thousand times":     {0.1, 150, slices.Repeat([]int{1000}, 5), true},
		"five use one a thousand times":                 {51, 150, slices.Repeat([]int{1000}, 5), true},
		"a few use a rare one, a dozen times each":      {1, 10_000, slices.Repeat([]int{12}, 20), true},
		"many use it a dozen times each":                {51, 10_000, slices.Repeat([]int{12}, 120), true},
		"a frequent one becomes half as frequent again": {4656, 1000, slices.Repeat([]int{7}, 1000), true},
		"one without a bound is used":                   {0, 1000, []int{1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			const e excuse = "e"
			counts := map[string]int{}
			for _, uses := range tc.each {
				addCounts(counts, map[string]int{e.counter(): uses})
			}
			used := excusesUsed(tc.histories, counts, map[excuse]float64{e: tc.perThousand})[0]
			if used.tooMuch() != tc.exceeds {
				t.Error(used)
			}
		})
	}
}
