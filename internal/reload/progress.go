package reload

import (
	"strings"
	"time"
)

// Progress is how far the rollout of a workload has come, as its status tells,
// with what its spec says about rollouts.
type Progress struct {
	// Observed tells that the status is about what the object asks for now.
	Observed bool
	// Wanted is how many pods there are to be, Total how many there are, Updated
	// how many of those are of the present template, and Available how many of
	// all are ready for long enough.
	Wanted, Total, Updated, Available int32
	// Untold tells that the status has no numbers of pods, so that only the pods
	// can tell.
	Untold bool
	// Deadline is how long the workload itself allows between two steps forward;
	// 0 for a kind that says nothing about it.
	Deadline time.Duration
	// Paused is what a user has set, unless Held tells that we have until the
	// pause-period is over. Pausing is what the steps of the rollout come to, and
	// Aborted that it was given up.
	Paused, Held, Pausing, Aborted bool
	// OnDelete tells that a pod is replaced only if somebody deletes it.
	OnDelete bool
	// Partition is how many pods stay as they are.
	Partition int32
	// Ordered tells that one pod after the other is replaced, each when those
	// before it are ready.
	Ordered bool
	// Revision is the value by which the pods of the present template are
	// labelled, if the status tells.
	Revision string
	// Refused is why pods cannot be made, empty if nothing says so.
	Refused string
}

// defaultDeadline is that of Kubernetes for Deployments. StatefulSets and
// DaemonSets have no field for it.
const defaultDeadline = 10 * time.Minute

// Patience is how long a rollout may take from one step forward to the next
// until it is worth a word.
func (p *Progress) Patience() time.Duration {
	if p.Deadline == 0 {
		return defaultDeadline
	}
	return p.Deadline
}

// Populated tells that there are pods of the present template, or that there are
// to be none. In between all pods may be gone, which is no end.
func (p *Progress) Populated() bool { return p.Updated > 0 || p.Wanted == 0 }

// Empty tells that there are no pods, and that there are to be none.
func (p *Progress) Empty() bool { return !p.Untold && p.Observed && p.Wanted == 0 && p.Total == 0 }

// old is how many pods are of an earlier template.
func (p *Progress) old() int32 { return max(p.Total-p.Updated, 0) }

// kept is how many pods stay on purpose.
func (p *Progress) kept() int32 { return min(p.Partition, p.Total) }

// Purpose is the cause that stands in the object itself for pods that stay as
// they are, with how many those are. There is none before the status is about
// what the object asks for now, or while all pods are of the present template.
func Purpose(p *Progress) (cause Cause, old int) {
	switch {
	case !p.Observed, p.old() == 0:
		return "", 0
	case p.Held:
		return CauseHeld, int(p.old())
	case p.Paused:
		return CausePaused, int(p.old())
	case p.OnDelete:
		return CauseOnDelete, int(p.old())
	case p.Partition > 0:
		return CausePartition, int(p.kept())
	default:
		return "", 0
	}
}

// Shows is the cause that the status tells of a rollout that does not go on, or none.
func Shows(p *Progress) Cause {
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

// Settled tells that no other pods are left than those that stay on purpose, so
// that there is nothing to be read in them.
func Settled(p *Progress) bool {
	cause, old := Purpose(p)
	return cause != "" && int(p.old()) <= old
}

// Best is the farthest that a rollout has come. Pods that become ready and fail
// again and again are no progress.
type Best struct{ updated, available, fewest int32 }

// Reach takes a status in, and tells whether that is a step forward.
func (b *Best) Reach(p *Progress) bool {
	if !p.Observed {
		return false
	}
	next := Best{max(b.updated, p.Updated), max(b.available, p.Available), b.fewest}
	if old := p.old() + 1; next.fewest == 0 || old < next.fewest { // 0 is nothing yet
		next.fewest = old
	}
	forward := next != *b
	*b = next
	return forward
}

// refusal tells a quota, which a user can raise, from all else that keeps pods
// from being made.
func refusal(message string) (Cause, Trouble) {
	cause := CauseRefused
	if strings.Contains(message, "exceeded quota") {
		cause = CauseQuota
	}
	return cause, Trouble{Cause: cause, Message: message}
}
