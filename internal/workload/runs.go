package workload

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// RunLabel is on every Job that we have made, with the counter of the reload.
const RunLabel = annotations.Run

// Runs is what matters of a workload whose pods come and go in runs. It is not
// rolled: a reload is one more run.
type Runs struct {
	// Suspended reports whether the user wants no run now.
	Suspended bool
	// Begun reports whether the user has suspended it and that resuming it begins nothing
	// anew: pods are left, some of them have succeeded, or all has ended.
	Begun bool
	// Once reports whether the workload itself is the only run: it is recreated for another run,
	// and so is its template.
	Once bool
	// Alone reports whether no two runs may be at the same time, and Beside are those
	// that have not ended then.
	Alone  bool
	Beside []string
	// Last is when the latest run began. Of what has never run it is when the
	// workload was made.
	Last time.Time
	// Since is a version of the API server after which a run began, 0 if none is known. What was written before it, that run has read.
	Since uint64
	// Own are the runs that we have made.
	Own []OwnRun
}

// OwnRun is a run that Reroll created. It carries the ledger that belongs to it, so that a
// controller that finds it can write that: a run is owed from its creation on.
type OwnRun struct {
	Name       string
	UID        types.UID
	Counter    int64
	LedgerText string
	// Held reports whether it has not started: it does not before the ledger of the workload
	// records it.
	Held bool
}

// Notable returns why the ledger that a run carries cannot be written, nil if it
// can be. Counter is that of the reload for which the run was made.
func (r *OwnRun) Notable(w *Workload, counter int64) error {
	if _, err := ReadLedger(r.LedgerText, w); err != nil {
		return fmt.Errorf("its annotation %s is invalid: %w", annotations.Ledger, err)
	}
	if r.Counter < counter {
		return fmt.Errorf("its label %s has %d, must be %d", RunLabel, r.Counter, counter)
	}
	return nil
}

// Equal reports whether nothing differs that a decision depends on.
func (r *Runs) Equal(other *Runs) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.Suspended == other.Suspended && r.Begun == other.Begun && r.Alone == other.Alone && len(r.Beside) == len(other.Beside)
}

// Resumes reports whether a workload that was suspended begins to run with another state of it.
func (r *Runs) Resumes(now *Runs) bool {
	return r != nil && now != nil && r.Suspended && !now.Suspended
}

// Holds reports whether a run waits to begin.
func (r *Runs) Holds() bool {
	return r != nil && slices.ContainsFunc(r.Own, func(run OwnRun) bool { return run.Held })
}

// Sort orders the runs by when they were decided on.
func (r *Runs) Sort() {
	slices.SortFunc(r.Own, func(a, b OwnRun) int { return cmp.Compare(a.Counter, b.Counter) })
}
