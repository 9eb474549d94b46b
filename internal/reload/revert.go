package reload

import (
	"cmp"
	"fmt"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Revert reports that another client removed or changed a mark of ours, and that older Pods are
// left.
type Revert struct {
	// Source is the one whose content the old pods do not have.
	Source source.Key
	// Writer is the field manager that owns a mark now. A pure removal leaves no
	// trace, and then it is empty.
	Writer string
	// Owner is the object of an operator that created this one, and Tool manages it, as far as that
	// shows; one of them is the probable cause.
	Owner string
	Tool  workload.Tool
	// Old of All pods may not have the content. Both are 0 if no pods were found where there are some.
	Old, All int
	// Final reports whether every strategy was taken back, and nothing is written any
	// more until the content changes again.
	Final bool
}

// OldPods says how many pods may not have the content.
func (r *Revert) OldPods() string { return oldPods(r.Old, r.All) }

func oldPods(old, all int) string {
	if all == 0 {
		return "an unknown number of Pods"
	}
	return fmt.Sprintf("%d of %d Pods", old, all)
}

// By names the client that did it, no more surely than it is known.
func (r *Revert) By() string {
	switch {
	case r.Writer != "":
		return fmt.Sprintf("the field manager %q", r.Writer)
	case r.Owner != "":
		return "the operator of " + r.Owner + " (probably)"
	case r.Tool != workload.NoTool:
		return string(r.Tool) + " (probably)"
	default:
		return "somebody"
	}
}

// RevertNames are the values of Revert.Name.
func RevertNames() []string {
	return []string{string(workload.ArgoCD), string(workload.Flux), string(workload.Helm), string(workload.Kubectl), workload.ReloaderManager, operator, otherManager, unknownWriter}
}

const (
	operator      = "operator"
	otherManager  = "other"
	unknownWriter = "unknown"
)

// Name is By for a metric, one of RevertNames. Everybody may choose a field manager, and each
// name would be a series for ever.
func (r *Revert) Name() string {
	tool := r.Tool
	switch {
	case r.Writer == workload.ReloaderManager:
		return workload.ReloaderManager
	case r.Writer != "":
		if tool = workload.ToolOf(r.Writer); tool == workload.NoTool {
			return otherManager
		}
	case r.Owner != "":
		return operator
	}
	return cmp.Or(string(tool), unknownWriter)
}

// outlived decides on pods that are older than the content although the content
// is what the workload was last rolled with: their template came back.
func (f *Facts) outlived(t *tally, base base, next ledger.Ledger) Decision {
	last := &t.outlived[len(t.outlived)-1]
	d := Decision{
		Action: Reload, Changes: t.outlived, Ledger: next, Restores: base.restore,
		Why: fmt.Sprintf("its pod template was reverted during a rollout, and %s are older than %s",
			oldPods(f.Pods.older(last, f.Seen), f.Pods.Count), last.Source.Key),
	}
	d.Ledger.Counter++
	if base.ledger.Marks.IsZero() {
		d.Ledger.Step, d.Doubt = f.step(base.ledger.Step, t.outlived)
		return d // another client rolled it, and then reverted that: nothing of ours was removed
	}
	d.Reverted = &Revert{Source: last.Source.Key, Owner: f.Workload.Owner, Tool: f.Workload.Tool, Old: f.Pods.older(last, f.Seen), All: f.Pods.Count}
	d.Reverted.Writer = f.writer(last.Source.Key, base.ledger.Step)
	step, again := f.down(base.ledger.Step, t.outlived)
	switch {
	case d.Reverted.Writer == workload.ReloaderManager || f.showsReloaders(last):
		// Two controllers that each mark what the other has unmarked would never end.
		d.Action, d.Changes, d.Ledger.Counter = Record, nil, base.ledger.Counter
		d.Ledger.Marks = f.Workload.Marks.DigestAfter(base.ledger.Step)
		d.Reverted.Writer = workload.ReloaderManager
		d.Why = "Reloader also writes marks on it"
	case !again:
		d.Action, d.Reverted.Final, d.Ledger.Counter = Nothing, true, base.ledger.Counter
		if base.restore {
			d.Action = Record // the next controller has to know what its Pods lack
		}
		d.Why = d.Reverted.By() + " removed every mark; Reroll writes no further mark until the data changes again"
	default:
		d.Ledger.Step = step
	}
	return d
}

// writer is the field manager that owns what the latest reload wrote for a source. Marks elsewhere
// may be years old, and prove nothing; but marks of Reloader show that it runs, wherever it puts
// them.
func (f *Facts) writer(src source.Key, step ledger.Step) string {
	writers := f.Workload.Marks.Writers
	variable, annotation := writers[workload.EnvVarName(src)], writers[annotations.DefaultNames().LastReloadedFrom]
	switch {
	case step.Restarts():
		return writers[workload.RestartField]
	case step == ledger.StepVariables && variable != "":
		return variable
	case step != ledger.StepVariables && annotation != "":
		return annotation
	case f.Strategy != StrategyAnnotations && variable == workload.ReloaderManager:
		return variable
	default:
		return ""
	}
}

// showsReloaders reports whether the mark of a source is what only Reloader writes.
func (f *Facts) showsReloaders(c *Concern) bool {
	mark, ok := f.reloaderMark(c)
	return ok && c.Source.IsReloaderMark(f.Key, mark) && mark != workload.MarkHash(c.Source, f.SecretMarks)
}
