package reload

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Mark returns the marking of a reload and records it in the ledger of the decision. If it changes
// the template, no Pod has the new template yet, so that the change always starts a rollout.
func (d *Decision) Mark(w *workload.Workload, seen WorkloadSeen, secrets digest.SecretMarks, now time.Time) workload.Marking {
	m := strategyOf(d.Ledger.Step).mark(d, w, secrets, now)
	if w.Runs != nil {
		return m // the Pods of a run are new anyway, and the workload keeps its template
	}
	if m.RestartAt == "" && seen.MayHavePodsOf(workload.Revision(w.Template, w.Marks.With(m))) {
		// If the ledger was removed, the counter starts again; together with the time, the value is
		// unique.
		m.Rolled = fmt.Sprintf("%d-%d", d.Ledger.Counter, now.UnixMilli())
	}
	if w.Pauses() {
		m.PausedAt = now.UTC().Format(time.RFC3339)
	}
	d.Ledger.Marks, d.Ledger.Superseded = w.Marks.With(m).DigestAfter(d.Ledger.Step), nil
	return m
}

func (f *Facts) currentVariable(c *Concern) (string, bool) {
	container, ok := workload.MarkContainer(c.Uses, f.Workload.Containers, c.Verdict.Rule.WithoutReference())
	if !ok {
		return "", false
	}
	variable := workload.EnvVarName(c.Source.Key)
	mark, ok := f.mark(container, variable)
	return mark, ok && !f.shares(c.Source.Key, variable)
}
