package reload

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Revert reports that another client removed or changed a mark of ours, and that older Pods remain.
type Revert struct {
	// Source is the source whose current data the old Pods lack.
	Source source.Key
	// Writer is the field manager that owns a mark now. It is empty after a pure removal, which
	// leaves no trace.
	Writer string
	// Owner is the object of an operator that created this workload, and Tool is the tool that
	// manages it, as far as the object shows. One of them is the probable cause.
	Owner string
	Tool  workload.Tool
	// Old of All Pods may lack the current data. Both are 0 if no Pods were found although there
	// are some.
	Old, All int
	// Final reports whether the marks of all strategies were removed. Then nothing is written until
	// the data changes again.
	Final bool
}

// OldPods describes how many Pods may lack the current data.
func (r *Revert) OldPods() string { return oldPods(r.Old, r.All) }

func oldPods(old, all int) string {
	if all == 0 {
		return "an unknown number of Pods"
	}
	return fmt.Sprintf("%d of %d Pods", old, all)
}

// By names the client that removed the mark, with its degree of certainty.
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

// Name is By for a metric, one of RevertNames. Any client can choose a field manager, and each
// value would become a time series.
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

// A reverted mark is found in two steps: mayBeReverted compares the marks with the ledger, and kept
// asks mayBeOlder whether a Pod from before the data runs. Then afterRevert decides.

// mayBeOlder reports whether a Pod may be from before the data in the ledger. The ledger shows when that
// was written, unless a removed key left no time. Of data that was away, a source does not show that.
func (f *Facts) mayBeOlder(c *Concern, pods *Pods, base base) bool {
	if f.unlisted(pods) {
		return edited(c)
	}
	written := c
	if !c.wasAway() {
		written = c.writtenBy(time.Unix(base.ledger.DataTime, 0))
	}
	return pods.older(written, f.rollouts()) > 0 && (edited(c) || pods.olderThanSource(c))
}

// mayBeReverted reports whether the Pods may be others than the ledger describes.
func (f *Facts) mayBeReverted(base base) bool {
	switch {
	case f.Workload.Runs != nil:
		return false // no Pod of an earlier run is kept
	case base.err != nil, f.hasMarksOf(&base.ledger):
		return false // the latest reload has started all Pods of a template with these marks
	case f.Seen.TemplateReverted:
		return true
	default:
		// Our marks were removed while no controller watched, or by a restart, which no template
		// shows. Or the rollout of another client was reverted while no controller watched.
		unseen := f.Seen.Template == 0 && slices.Contains(base.ledger.Superseded, f.Workload.Revision())
		unseen = unseen || (f.Seen.Template == 0 || base.ledger.Step.Restarts()) && !base.ledger.Marks.IsZero()
		return unseen && f.Seen.Trusted != f.Workload.MarksDigest()
	}
}

// afterRevert decides on Pods that are older than the data although the workload was rolled with
// this data: their template was reverted.
func (f *Facts) afterRevert(t *tally, base base, next ledger.Ledger) Decision {
	last := &t.reverted[len(t.reverted)-1]
	d := Decision{
		Action: Reload, Changes: t.reverted, Ledger: next, Restores: base.restore,
		Why: fmt.Sprintf("its pod template was reverted during a rollout, and %s are older than %s",
			oldPods(f.Pods.older(last, f.Seen), f.Pods.Count), last.Source.Key),
	}
	d.Ledger.Counter++
	if base.ledger.Marks.IsZero() {
		d.Ledger.Step, d.Doubt = f.step(base.ledger.Step, t.reverted)
		return d // another client rolled it, and then reverted that: no mark of ours was removed
	}
	d.Reverted = &Revert{Source: last.Source.Key, Owner: f.Workload.Owner, Tool: f.Workload.Tool, Old: f.Pods.older(last, f.Seen), All: f.Pods.Count}
	d.Reverted.Writer = f.writer(last.Source.Key, base.ledger.Step)
	step, again := f.down(base.ledger.Step, t.reverted)
	switch {
	case d.Reverted.Writer == workload.ReloaderManager || f.showsReloaders(last):
		// If both controllers wrote their marks again, they would never stop.
		d.Action, d.Changes, d.Ledger.Counter = Record, nil, base.ledger.Counter
		d.Ledger.Marks = f.Workload.Marks.DigestAfter(base.ledger.Step)
		d.Reverted.Writer = workload.ReloaderManager
		d.Why = "Reloader also writes marks on it"
	case !again:
		d.Action, d.Reverted.Final, d.Ledger.Counter = Nothing, true, base.ledger.Counter
		if base.restore || t.records() {
			// The next controller has to know which data its Pods lack, and which they have of other sources.
			d.Action, d.Undecided, d.Unproven = Record, t.undecided, t.unproven
		}
		d.Why = d.Reverted.By() + " removed every mark; Reroll writes no further mark until the data changes again"
	default:
		d.Ledger.Step = step
	}
	return d
}

// writer is the field manager that owns the mark of the latest reload for a source. Marks in other
// places may be years old, and prove nothing. Marks of Reloader, however, show in any place that it
// runs.
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

// showsReloaders reports whether only Reloader writes such a mark of a source. A rollback may bring back a mark
// of ours that looks like one, from when the marks of Secrets were SHA-1. It also brings back the ledger.
func (f *Facts) showsReloaders(c *Concern) bool {
	mark, ok := f.reloaderMark(c)
	if !ok || !c.Source.IsReloaderMark(f.Key, mark) || mark == workload.MarkHash(c.Source, f.SecretMarks) {
		return false
	}
	current, err := f.read(f.Workload.LedgerText)
	return err != nil || !f.hasMarksOf(&current)
}

// hasMarksOf reports whether the marks of the pod template are those of a ledger.
func (f *Facts) hasMarksOf(l *ledger.Ledger) bool {
	return l.Marks == f.Workload.Marks.DigestAfter(l.Step)
}
