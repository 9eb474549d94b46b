// Package rollout knows whether a reload came to its end: which pods are left from before it, and why.
// It does not know which reload is next.
package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Pursuit is a reload that is followed until no pod is left from before it.
type Reload struct {
	UID types.UID
	// Counter is that of the reload in the ledger.
	Counter int64
	// Changed are the sources that it was for; none if nobody remembers.
	Changed []source.Key

	marks digest.Digest
	step  ledger.Step
}

// Pursue returns the latest reload of a workload, as its ledger records it. It returns false if
// there was none, or if its marks are no longer in place: what follows then is not the end of that
// reload.
func LatestReload(w *workload.Workload) (Reload, bool) {
	known, err := workload.ReadLedger(w.LedgerText, w)
	if err != nil || known.Counter == 0 || known.Marks.IsZero() {
		return Reload{}, false
	}
	p := Reload{UID: w.UID, Counter: known.Counter, marks: known.Marks, step: known.Step}
	return p, p.MarksInPlace(w)
}

// Stands reports whether the marks of the reload are those of the workload. Whatever
// else has changed in its template since, new pods have the content.
func (p *Reload) MarksInPlace(w *workload.Workload) bool {
	return p.UID == w.UID && w.Marks.DigestAfter(p.step) == p.marks
}

// Outcome is what has become of a reload.
type Outcome struct {
	// Cause is why Pods were not replaced, if there is a reason to report.
	Cause Cause
	// Changed are the sources of the reload, none if nobody remembers.
	Changed []source.Key
	// Old of All pods were started before the reload, and Wanted are to be.
	Old, All, Wanted int
	// NotFound reports that the workload has pods, or may have, and that none was found. They may be from before the reload.
	NotFound bool
	// Pod is the Pod that shows the cause, if one does, and New reports whether it started after
	// the reload.
	Pod string
	New bool
	// Told reports whether the cause was reported for this reload before.
	AlreadyReported bool
	Trouble
}

// Converged reports whether a reload has come to its end: the workload has pods of its
// template, if it is to have any, and none of them is from before the reload.
func (o *Outcome) Converged(w *workload.Workload) bool {
	return w.HasRolled() && o.Old == 0 && !o.NotFound
}

// Standing is what the object alone shows of a reload: a cause that a user set on purpose, or none.
func (p *Reload) StatusOutcome(w *workload.Workload) Outcome {
	cause, old := Purpose(&w.Progress)
	return Outcome{Cause: cause, Changed: p.Changed, Old: old, All: int(w.Progress.Total), Wanted: int(w.Progress.Wanted)}
}

// Judge returns what the Pods prove about a reload whose marks are in place. The cause is why Pods
// were not replaced, if any are left, or are missing.
func (p *Reload) Judge(w *workload.Workload, pods []Pod) Outcome {
	o := Outcome{Changed: p.Changed, All: len(pods), Wanted: int(w.Progress.Wanted)}
	for i := range pods {
		if p.older(w, &pods[i]) {
			o.Old++
		}
	}
	o.NotFound = w.Hides(o.All)
	if o.Old > 0 || o.NotFound || o.All == 0 && o.Wanted > 0 {
		p.explain(w, pods, &o)
	}
	return o
}

// older reports whether a pod was started before the reload. A reload makes a
// template that no pod is of, or names the time before which all pods have to
// go.
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
	case progress.Held:
		o.Cause = CauseHeld
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

// telling is the pod in which the cause shows: of those that are of the reload
// and not ready, the one whose trouble explains most. Where pods are replaced in
// order it may be one of an earlier template, for which all others wait.
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
				continue // it has to go anyway
			}
			why = CauseOrdered
		}
		if found == nil || why.rank() < cause.rank() || why == cause && pod.Name < found.Name {
			found, cause = pod, why
		}
	}
	return found, cause
}
