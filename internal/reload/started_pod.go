package reload

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/source"
)

// StartedPod holds the fields of a Pod that show which data it started with.
type StartedPod struct {
	Name    string
	Created time.Time
	// Started is when one of its containers was last started, by the clock of its node. It is zero
	// unless all containers run or the Pod has succeeded, because a container that does not run yet
	// may still start with earlier data.
	Started time.Time
	// Ready is since when it has been Ready, by the clock of its node; zero if it is not.
	Ready time.Time
	// Version is the resource version: the Pod was created no later.
	Version uint64
	// Unscheduled reports that the Pod has no node yet, so that it has read nothing.
	Unscheduled bool
}

// ReadStart returns the fields of a Pod that show which data it started with.
func ReadStart(pod *corev1.Pod) StartedPod {
	version, _ := strconv.ParseUint(pod.ResourceVersion, 10, 64) // no number: proves nothing
	return StartedPod{
		Name: pod.Name, Created: pod.CreationTimestamp.Time, Started: lastStart(pod), Ready: readySince(pod), Version: version, Unscheduled: pod.Spec.NodeName == "" && len(pod.Status.ContainerStatuses) == 0,
	}
}

// lastStart is zero unless all regular containers run, or have ended with a Pod that succeeded.
func lastStart(pod *corev1.Pod) time.Time {
	if len(pod.Status.ContainerStatuses) < len(pod.Spec.Containers) {
		return time.Time{}
	}
	var last time.Time
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if at := startOf(pod, &statuses[i]); at.After(last) {
				last = at
			}
		}
	}
	if slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return startOf(pod, &s).IsZero() }) {
		return time.Time{}
	}
	return last
}

// readySince is zero unless the Pod is Ready.
func readySince(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// startOf is zero for a container that may be started again.
func startOf(pod *corev1.Pod, s *corev1.ContainerStatus) time.Time {
	switch {
	case s.State.Running != nil:
		return s.State.Running.StartedAt.Time
	case s.State.Terminated != nil && pod.Status.Phase == corev1.PodSucceeded:
		return s.State.Terminated.StartedAt.Time
	default:
		return time.Time{}
	}
}

// ranBefore reports whether all containers of a Pod were started before a resource version and a
// time. A Pod that waits for a source, or pulls an image, may have mounted later data. A container
// that ends is restarted with the data of that time.
func (p *StartedPod) ranBefore(version uint64, t time.Time) bool {
	if p.Started.IsZero() {
		return false
	}
	return p.Version != 0 && p.Version < version || p.Created.Before(t) && p.Started.Add(source.StartLag).Before(t)
}

// readyBefore reports whether a Pod was Ready before a time of the API server, whose clock may differ
// by seconds from that of the node.
func (p *StartedPod) readyBefore(t time.Time) bool {
	return !p.Ready.IsZero() && p.Created.Before(t) && p.Ready.Add(source.StartLag).Before(t)
}
