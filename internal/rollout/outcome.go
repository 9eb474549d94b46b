// Package rollout decides whether the rollout of a reload has completed: which older Pods remain,
// and why. It does not decide on the next reload.
package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Reload is a reload whose rollout is tracked until no older Pod remains.
type Reload struct {
	UID types.UID
	// Changed are the sources whose change caused it; none if that is no longer known.
	Changed []source.Key

	marks digest.Digest
	step  ledger.Step
}

// LatestReload returns the latest reload of a workload from its ledger. It returns false if there
// was none, or if its marks are no longer in place, because a later rollout is not the rollout of
// that reload.
func LatestReload(w *workload.Workload) (Reload, bool) {
	known, err := workload.ReadLedger(w.LedgerText, w)
	if err != nil {
		return Reload{}, false
	}
	return ReloadOf(w, &known)
}

// ReloadOf is LatestReload for a ledger that was parsed before.
func ReloadOf(w *workload.Workload, known *ledger.Ledger) (Reload, bool) {
	if known.Counter == 0 || known.Marks.IsZero() {
		return Reload{}, false
	}
	p := Reload{UID: w.UID, marks: known.Marks, step: known.Step}
	return p, p.MarksInPlace(w)
}

// MarksInPlace reports whether the workload still has the marks of the reload. Whatever else has
// changed in its template, new Pods have the data.
func (p *Reload) MarksInPlace(w *workload.Workload) bool {
	return p.UID == w.UID && w.Marks.DigestAfter(p.step) == p.marks
}

// Outcome is the outcome of a reload.
type Outcome struct {
	// Cause is why Pods were not replaced, if there is a reason to report.
	Cause Cause
	// Changed are the sources of the reload, none if that is no longer known.
	Changed []source.Key
	// Old of All Pods were started before the reload, and Wanted is the desired number.
	Old, All, Wanted int
	// NotFound reports that the workload has Pods, or may have, but that none was found. They may
	// be from before the reload.
	NotFound bool
	// Pod is the Pod that shows the cause, if one does, and New reports whether it started after
	// the reload.
	Pod string
	New bool
	// AlreadyReported reports whether the cause was reported for this reload before.
	AlreadyReported bool
	Trouble
}

// Converged reports whether the rollout of a reload has completed: the workload has Pods of its
// template, if it wants any, and none of them is from before the reload.
func (o *Outcome) Converged(w *workload.Workload) bool {
	return w.HasRolled() && o.Old == 0 && !o.NotFound
}

// Exceeds reports whether a rollout in progress has exceeded its deadline. The status of a
// Deployment or a Rollout shows that. Otherwise the Pods show it: the rollout has started a Pod,
// and the deadline has passed since the latest one. A Rollout that pauses at a step is not stuck.
func (o *Outcome) Exceeds(w *workload.Workload, pods []Pod, now time.Time) bool {
	switch {
	case w.Progress.Pausing, w.Progress.Aborted:
		return false
	case w.Progress.Overdue && w.Progress.Observed: // the status is about the current template
		return true
	case o.All == 0 || o.Old == o.All:
		return false
	}
	var newest time.Time
	for i := range pods {
		if pods[i].Created.After(newest) {
			newest = pods[i].Created
		}
	}
	return now.Sub(newest) > w.Progress.ProgressDeadline()
}

// StatusOutcome is what the object alone shows of a reload: a cause that a user set on purpose, or
// none.
func (p *Reload) StatusOutcome(w *workload.Workload) Outcome {
	cause, old := Purpose(&w.Progress)
	return Outcome{Cause: cause, Changed: p.Changed, Old: old, All: int(w.Progress.Total), Wanted: int(w.Progress.Wanted)}
}

// PodsOutcome returns what the Pods prove about a reload whose marks are in place. The cause is why
// Pods were not replaced, if any are left, or are missing.
func (p *Reload) PodsOutcome(w *workload.Workload, pods []Pod) Outcome {
	o := Outcome{Changed: p.Changed, All: len(pods), Wanted: int(w.Progress.Wanted)}
	for i := range pods {
		if p.older(w, &pods[i]) {
			o.Old++
		}
	}
	o.NotFound = w.Hides(o.All)
	if o.Old > 0 || o.NotFound || o.All < o.Wanted {
		p.explain(w, pods, &o)
	}
	return o
}

// older reports whether a Pod was started before the reload. A reload either creates a template
// that no Pod has yet, or sets the time before which all Pods are replaced.
func (p *Reload) older(w *workload.Workload, pod *Pod) bool {
	if !p.step.Restarts() {
		return pod.marks != w.Marks.Digest()
	}
	restart, err := time.Parse(time.RFC3339, w.Marks.RestartAt)
	return err == nil && pod.Created.Before(restart)
}

func (p *Reload) explain(w *workload.Workload, pods []Pod, o *Outcome) {
	progress := &w.Progress
	pod, cause := p.explainingPod(w, pods)
	switch {
	case progress.PausedByReroll:
		o.Cause = CausePausePeriod
	case progress.Paused:
		o.Cause = CausePaused
	case progress.Pausing:
		o.Cause = CausePausing
	case progress.Aborted:
		o.Cause = CauseAborted
	case progress.OnDelete:
		o.Cause = CauseOnDelete
	case progress.Refused != "":
		o.Cause, o.Trouble = refusal(progress.Refused)
	case o.NotFound:
		o.Cause = CauseNotFound
	case pod != nil:
		o.Pod, o.New, o.Trouble = pod.Name, !p.older(w, pod), pod.Trouble
		o.Cause = cause
	case progress.Partition > 0 && o.Old <= int(progress.Partition):
		o.Cause = CausePartition
	case o.All < o.Wanted:
		o.Cause = CauseMissing
	default:
		o.Cause = CauseUnknown
	}
}

// explainingPod is the Pod that shows the cause: among the Pods of the reload that are not ready,
// the Pod whose trouble explains most. If Pods are replaced in order, it may be a Pod of an earlier
// template, for which all others wait.
func (p *Reload) explainingPod(w *workload.Workload, pods []Pod) (*Pod, Cause) {
	var found *Pod
	var cause Cause
	for i := range pods {
		pod := &pods[i]
		why := pod.Trouble.Cause
		if why == "" {
			continue
		}
		if p.older(w, pod) || w.Progress.Revision != "" && pod.Revision != w.Progress.Revision {
			if !w.Progress.Ordered {
				continue // it will be replaced anyway
			}
			why = CauseOrdered
		}
		if found == nil || why.rank() < cause.rank() || why == cause && pod.Name < found.Name {
			found, cause = pod, why
		}
	}
	return found, cause
}
