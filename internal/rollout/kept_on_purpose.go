package rollout

import (
	"strings"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// IsKeptOnPurpose reports whether Pods are kept because a user wants that. A pause-period ends by
// itself, and so does a pause that is a step of a rollout: Pods that wait there will be replaced.
func IsKeptOnPurpose(p *workload.Progress) bool {
	cause, _ := Purpose(p)
	return cause != "" && cause != CausePausePeriod && !p.Pausing
}

// KeptOnPurpose returns the Pods that keep the previous data of sources after a rollout by another
// client; its cause is empty if there are none. The status of the workload shows it, as soon as it
// is about the present template: observed is false until then.
func KeptOnPurpose(w *workload.Workload, changed []source.Key) (kept Outcome, observed bool) {
	p := &w.Progress
	if !p.Observed || !IsKeptOnPurpose(p) {
		return Outcome{}, p.Observed
	}
	cause, old := Purpose(p)
	return Outcome{Cause: cause, Changed: changed, Old: old, All: int(p.Total), Wanted: int(p.Wanted)}, true
}

// Purpose is the cause in the object itself for Pods that are not replaced, with their number.
// There is none before the status is about the present spec, or while all Pods are of the present
// template.
func Purpose(p *workload.Progress) (cause Cause, old int) {
	switch {
	case !p.Observed, p.Old() == 0:
		return "", 0
	case p.PausedByReroll:
		return CausePausePeriod, int(p.Old())
	case p.Paused:
		return CausePaused, int(p.Old())
	case p.OnDelete:
		return CauseOnDelete, int(p.Old())
	case p.Partition > 0:
		return CausePartition, int(p.Kept())
	default:
		return "", 0
	}
}

// Shows is the cause that the status has for a rollout that does not progress, or none.
func Shows(p *workload.Progress) Cause {
	switch {
	case !p.Observed:
		return ""
	case p.Pausing:
		return CausePausing
	case p.Aborted:
		return CauseAborted
	case p.Refused != "":
		cause, _ := refusal(p.Refused)
		return cause
	default:
		return ""
	}
}

// AllKeptOnPurpose reports whether all remaining older Pods are kept on purpose, so that listing
// them would show nothing.
func AllKeptOnPurpose(p *workload.Progress) bool {
	cause, old := Purpose(p)
	return cause != "" && int(p.Old()) <= old
}

// refusal distinguishes a quota, which a user can raise, from everything else that keeps Pods from
// being created.
func refusal(message string) (Cause, Trouble) {
	cause := CauseRefused
	if strings.Contains(message, "exceeded quota") {
		cause = CauseQuota
	}
	return cause, Trouble{Cause: cause, Message: message}
}
