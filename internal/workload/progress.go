package workload

import "time"

// MayHavePods reports whether the workload has Pods by its status, or may have because neither its status nor its selector shows
// it.
func (w *Workload) MayHavePods() bool {
	return w.Runs == nil && (w.Progress.Total > 0 || w.Progress.Untold && w.SelectorGuessed)
}

// Hides reports whether the workload has Pods, or may have, although so many of them were found: none. Nothing is known of those.
func (w *Workload) Hides(found int) bool { return found == 0 && w.MayHavePods() }

// HasRolled reports whether no rollout is in progress by the status, and there are Pods of the present template if there are to be
// any. Only the Pods prove that none of them is older.
func (w *Workload) HasRolled() bool { return w.AtRest && w.Progress.Populated() }

// Progress is how far the rollout of a workload has come, as its status shows, with what its spec
// says about rollouts.
type Progress struct {
	// Observed reports whether the status is about what the object asks for now.
	Observed bool
	// Wanted is how many pods there are to be, Total how many there are, Updated
	// how many of those are of the present template, and Available how many of
	// all are ready for long enough.
	Wanted, Total, Updated, Available int32
	// Untold reports whether the status does not count Pods, so that only a LIST of the Pods can.
	Untold bool
	// Deadline is how long the workload itself allows between two steps forward;
	// 0 for a kind that says nothing about it.
	Deadline time.Duration
	// Paused is what a user has set, unless Held reports that Reroll paused it until the
	// pause-period is over. Pausing reports that a step of the rollout pauses it, and Aborted that
	// it was aborted.
	Paused, Held, Pausing, Aborted bool
	// OnDelete reports whether a pod is replaced only if somebody deletes it.
	OnDelete bool
	// Partition is how many pods stay as they are.
	Partition int32
	// Ordered reports whether one pod after the other is replaced, each when those
	// before it are ready.
	Ordered bool
	// Revision is the value by which the Pods of the present template are labeled, if the status
	// has it.
	Revision string
	// Overdue reports whether the status shows that the rollout has exceeded its deadline.
	Overdue bool
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

// Populated reports whether there are pods of the present template, or that there are
// to be none. In between all pods may be gone, which is no end.
func (p *Progress) Populated() bool { return p.Updated > 0 || p.Wanted == 0 }

// Empty reports whether there are no pods, and that there are to be none.
func (p *Progress) Empty() bool { return !p.Untold && p.Observed && p.Wanted == 0 && p.Total == 0 }

// Old is how many pods are of an earlier template.
func (p *Progress) Old() int32 { return max(p.Total-p.Updated, 0) }

// Kept is how many pods stay on purpose.
func (p *Progress) Kept() int32 { return min(p.Partition, p.Total) }
