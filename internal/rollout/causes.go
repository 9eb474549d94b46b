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
