package workload

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// RunLabel is on every Job that Reroll created, with the counter of the reload.
const RunLabel = annotations.Run

// Runs describes a workload whose Pods run to completion. It has no rollout: a reload is one more
// run.
type Runs struct {
	// Suspended reports whether the user has suspended it.
	Suspended bool
	// Begun reports whether the user has suspended it and resuming it starts nothing new: Pods
	// exist, some have succeeded, or all have ended.
	Begun bool
	// Once reports whether the workload itself is the only run: it is recreated for another run,
	// and so is its template.
	Once bool
	// Alone reports whether runs must not overlap, and Beside are the runs that have not ended
	// then.
	Alone  bool
	Beside []string
	// Last is when the latest run began, or when the workload was created if it has never run.
	Last time.Time
	// LastAtLeast reports whether the latest run may have begun later than Last.
	LastAtLeast bool
	// Resumed is when the latest run began or was resumed, as far as its status shows. Pods of it may have
	// started only then. Zero if no status was read.
	Resumed time.Time
	// Listed reports whether Last and Since are from a list of the runs.
	Listed bool
	// Since is a resource version after which a run began, 0 if none is known. The run has read all
	// data from before it.
	Since uint64
	// Own are the runs that Reroll created.
	Own []OwnRun
}

// OwnRun is a run that Reroll created. It carries its ledger, so that a controller that finds it
// can record it: from its creation on, the run has to take place.
type OwnRun struct {
	Name       string
	UID        types.UID
	Counter    int64
	LedgerText string
	// Held reports whether it has not started, because it waits until the ledger of the workload
	// records it.
	Held bool
}

// Notable returns why the ledger of a run cannot be written, nil if it can. Counter is the counter
// of the reload for which the run was created.
func (r *OwnRun) Notable(w *Workload, counter int64) error {
	if _, err := ReadLedger(r.LedgerText, w); err != nil {
		return fmt.Errorf("its annotation %s is invalid: %w", annotations.Ledger, err)
	}
	if r.Counter < counter {
		return fmt.Errorf("its label %s has %d, must be %d", RunLabel, r.Counter, counter)
	}
	return nil
}

// Equal reports whether no input of a decision differs.
func (r *Runs) Equal(other *Runs) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.Suspended == other.Suspended && r.Begun == other.Begun && r.Alone == other.Alone && len(r.Beside) == len(other.Beside)
}

// Resumes reports whether a suspended workload was unsuspended.
func (r *Runs) Resumes(now *Runs) bool {
	return r != nil && now != nil && r.Suspended && !now.Suspended
}

// Holds reports whether a run waits to start.
func (r *Runs) Holds() bool {
	return r != nil && slices.ContainsFunc(r.Own, func(run OwnRun) bool { return run.Held })
}

// Sort orders the runs by the time of their decision.
func (r *Runs) Sort() {
	slices.SortFunc(r.Own, func(a, b OwnRun) int { return cmp.Compare(a.Counter, b.Counter) })
}
