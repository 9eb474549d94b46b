package workload

import "time"

// MayHavePods reports whether the workload has Pods by its status, or may have because neither its
// status nor its selector shows it.
func (w *Workload) MayHavePods() bool {
	return w.Runs == nil && (w.Progress.Total > 0 || w.Progress.NoCounts && w.SelectorGuessed)
}

// Hides reports whether the workload has Pods, or may have, although none were found. Nothing is
// known of such Pods.
func (w *Workload) Hides(found int) bool { return found == 0 && w.MayHavePods() }

// HasRolled reports whether the status shows that the rollout has ended, with as many Pods of the
// current template as are wanted. Only the Pods prove that none of them is older.
func (w *Workload) HasRolled() bool { return w.RolledOut && w.Progress.Populated() }

// Progress is the progress of a rollout in the status, with the fields of the spec that control
// rollouts. It has many fields because kinds differ in how they count Pods and hold rollouts.
type Progress struct {
	// Observed reports whether the status has observed the current spec.
	Observed bool
	// Wanted is the desired number of Pods, Total the actual number, Updated the number with the
	// current template, Ready the number of all that are Ready, and Available the number of those that
	// have been Ready for long enough.
	Wanted, Total, Updated, Ready, Available int32
	// NoCounts reports whether the status does not count Pods, so that only a LIST of the Pods can.
	NoCounts bool
	// Deadline is the progress deadline in the spec; 0 for a kind without one.
	Deadline time.Duration
	// Paused is what a user has set, unless PausedByReroll reports that Reroll paused it until the
	// pause-period is over. Pausing reports that a step of the rollout pauses it, and Aborted that
	// it was aborted.
	Paused, PausedByReroll, Pausing, Aborted bool
	// OnDelete reports whether a Pod is replaced only after a user deletes it.
	OnDelete bool
	// Partition is how many Pods keep the previous template.
	Partition int32
	// Ordered reports whether Pods are replaced one after the other, each when the Pods before it
	// are ready.
	Ordered bool
	// Revision is the value by which the Pods of the present template are labeled, if the status
	// has it.
	Revision string
	// Overdue reports whether the status shows that the rollout has exceeded its deadline.
	Overdue bool
	// CompletedAt is when the rollout has completed. AvailableAt is since when enough Pods have
	// been available, or UnavailableAt since when too few have. The status of some kinds has these
	// times.
	CompletedAt, AvailableAt, UnavailableAt time.Time
	// MinReady is how long a Pod has to be ready until it is available, for kinds whose status does
	// not have these times.
	MinReady time.Duration
	// Refused is why Pods cannot be created, empty if nothing shows that.
	Refused string
}

// defaultDeadline is the default of Kubernetes for Deployments. StatefulSets and DaemonSets have no
// field for it.
const defaultDeadline = 10 * time.Minute

// ProgressDeadline is how long a rollout may make no progress until that is reported.
func (p *Progress) ProgressDeadline() time.Duration {
	if p.Deadline == 0 {
		return defaultDeadline
	}
	return p.Deadline
}

// Populated reports whether all wanted Pods of the current template exist. A StatefulSet deletes
// each Pod before it creates the next, so that in the meantime no older Pod exists although the
// last new Pod may never start.
func (p *Progress) Populated() bool { return p.Updated >= p.Wanted }

// Empty reports whether there are no Pods and none are wanted.
func (p *Progress) Empty() bool { return !p.NoCounts && p.Observed && p.Wanted == 0 && p.Total == 0 }

// AllAvailable reports whether all wanted Pods are available, as far as the status counts them.
func (w *Workload) AllAvailable() bool {
	p := &w.Progress
	return p.Available >= p.Wanted || p.NoCounts || w.Custom && p.Available == 0
}

// Old is how many Pods have an earlier template.
func (p *Progress) Old() int32 { return max(p.Total-p.Updated, 0) }

// Kept is how many Pods are kept on purpose.
func (p *Progress) Kept() int32 { return min(p.Partition, p.Total) }
