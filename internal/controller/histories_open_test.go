package controller

import (
	"maps"
	"slices"
	"testing"
)

// openBase is the base of the histories that make test draws. Other bases show more of the open
// failures.
const openBase = 1

// openHistories are the histories of that base that fail although it is unknown whether the
// controller or the oracle is wrong. They run like all others. One that passes must be removed from
// the list, and no other one may fail.
func openHistories() map[uint64]string {
	const waits = "the ledger of a reload that waited is written again after its sources no longer concern it, or after an undo, and still says that it waits; the oracle knows no change behind it"
	return map[uint64]string{4873: waits, 6925: waits, 8574: waits}
}

// withoutOpen removes the known failures from the failures of a run.
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
			t.Errorf("history %d does not fail any more: take it out of the open ones", seed)
		}
	}
	return others
}
