package reload

import (
	"fmt"
	"time"
)

// Marking is what a reload writes.
type Marking struct {
	Env []EnvMark
	// Removed are variables that stand there and have to go.
	Removed []EnvMark
	// ReloadedFrom is the text of the annotation that names the source.
	ReloadedFrom string
	// Rolled is a value for RolledAnnotation, if the rest alone would leave the
	// template as it is, or as one that pods may still be of.
	Rolled string
	// RestartAt is a time before which pods are started anew. Where it is set
	// the pod template stays as it is.
	RestartAt string
	// PausedAt is since when the workload is held still with this reload, if it
	// has to be.
	PausedAt string
}

// Mark returns the marking of a reload and notes it in the ledger of the
// decision. Where it changes the template, it always makes one that no pod is
// of: that is what makes the pods roll.
func (d *Decision) Mark(w *Workload, seen WorkloadSeen, secrets SecretMarks, now time.Time) Marking {
	m := strategyOf(d.Ledger.Step).mark(d, w, secrets, now)
	if w.Runs != nil {
		return m // the pods of a run are new anyway, and the workload keeps its template
	}
	if m.RestartAt == "" && seen.MayHavePods(revision(w.Template, w.Marks.with(m))) {
		// The counter alone starts again if the ledger was wiped; with the time it never comes twice.
		m.Rolled = fmt.Sprintf("%d-%d", d.Ledger.Counter, now.UnixMilli())
	}
	if w.pauses() {
		m.PausedAt = now.UTC().Format(time.RFC3339)
	}
	d.Ledger.Marks = w.Marks.with(m).left(d.Ledger.Step)
	return m
}
