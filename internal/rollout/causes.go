package rollout

import "slices"

// Cause is why a rollout has not completed. It is part of a link to the documentation.
type Cause string

// The causes. A cause that explains others comes before them.
const (
	CausePausePeriod   Cause = "pause-period"
	CausePaused        Cause = "paused"
	CausePausing       Cause = "rollout-pause"
	CauseAborted       Cause = "rollout-aborted"
	CauseOnDelete      Cause = "ondelete"
	CauseQuota         Cause = "quota"
	CauseRefused       Cause = "pods-refused"
	CauseImagePull     Cause = "image-pull"
	CauseOutOfMemory   Cause = "out-of-memory"
	CauseCrashLoop     Cause = "crash-loop"
	CauseCannotStart   Cause = "cannot-start"
	CauseUnschedulable Cause = "unschedulable"
	CauseReadiness     Cause = "readiness"
	CauseOrdered       Cause = "orderedready"
	CausePartition     Cause = "partition"
	CauseNotFound      Cause = "pods-not-found"
	CauseMissing       Cause = "pods-missing"
	CauseReverted      Cause = "reverted"
	CauseUnknown       Cause = "unknown"
)

// Causes are all causes, in that order.
func Causes() []Cause {
	return []Cause{
		CausePausePeriod, CausePaused, CausePausing, CauseAborted, CauseOnDelete, CauseQuota, CauseRefused, CauseImagePull,
		CauseOutOfMemory, CauseCrashLoop, CauseCannotStart, CauseUnschedulable, CauseReadiness, CauseOrdered, CausePartition,
		CauseNotFound, CauseMissing, CauseReverted, CauseUnknown,
	}
}

func (c Cause) rank() int { return slices.Index(Causes(), c) }

// Adds reports whether a cause adds something to the causes that were reported for the reload. An
// unknown cause does not follow a problem of the Pods: the Pods became ready a moment ago, and the
// status of the workload does not show that yet.
func (c Cause) Adds(reported map[Cause]bool) bool {
	if c != CauseUnknown {
		return !reported[c]
	}
	for known := range reported {
		if known == c || CauseQuota.rank() <= known.rank() && known.rank() <= CauseOrdered.rank() {
			return false
		}
	}
	return true
}
