package reload

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Mark returns the marking of a reload and notes it in the ledger of the
// decision. Where it changes the template, it always makes one that no pod is
// of: that is what makes the pods roll.
func (d *Decision) Mark(w *workload.Workload, seen WorkloadSeen, secrets digest.SecretMarks, now time.Time) workload.Marking {
	m := strategyOf(d.Ledger.Step).mark(d, w, secrets, now)
	if w.Runs != nil {
		return m // the pods of a run are new anyway, and the workload keeps its template
	}
	if m.RestartAt == "" && seen.MayHavePods(workload.Revision(w.Template, w.Marks.With(m))) {
		// The counter alone starts again if the ledger was wiped; with the time it never comes twice.
		m.Rolled = fmt.Sprintf("%d-%d", d.Ledger.Counter, now.UnixMilli())
	}
	if w.Pauses() {
		m.PausedAt = now.UTC().Format(time.RFC3339)
	}
	d.Ledger.Marks = w.Marks.With(m).DigestAfter(d.Ledger.Step)
	return m
}
