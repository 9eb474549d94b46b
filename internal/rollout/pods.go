package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Pod holds the fields of a Pod that show the outcome of a reload.
type Pod struct {
	Name    string
	Created time.Time
	Ready   bool
	// ReadySince is since when it has been ready; zero if it is not.
	ReadySince time.Time
	// Revision is the revision label that its controller has set, if any.
	Revision string
	// Trouble is why the Pod is not ready; empty if it is.
	Trouble Trouble

	marks digest.Digest
}

// Trouble is why a Pod is not ready.
type Trouble struct {
	Cause     Cause
	Container string
	Image     string
	// Reason is the reason that Kubernetes reports, such as "ImagePullBackOff".
	Reason string
	// Message is empty if it could contain more than names.
	Message string
	// Exited reports whether ExitCode is the exit code of the last run.
	Exited   bool
	ExitCode int32
}

// ReadPod returns the fields of a Pod that show the outcome of a reload.
func ReadPod(pod *corev1.Pod, names annotations.Names) Pod {
	marks := workload.MarksOf(pod.Annotations, &pod.Spec, names)
	r := Pod{
		Name: pod.Name, Created: pod.CreationTimestamp.Time, Revision: pod.Labels["controller-revision-hash"],
		Ready: conditionOf(pod, corev1.PodReady).Status == corev1.ConditionTrue, marks: marks.Digest(),
	}
	if r.Ready {
		r.ReadySince = conditionOf(pod, corev1.PodReady).LastTransitionTime.Time
	} else {
		r.Trouble = troubleOf(pod)
	}
	return r
}

// AvailableSince returns since when all Pods of a workload have been available. It is zero if that is
// unknown, because too few were found, or if some are not ready.
func AvailableSince(w *workload.Workload, pods []Pod) time.Time {
	if len(pods) == 0 || len(pods) < int(w.Progress.Wanted) {
		return time.Time{}
	}
	var since time.Time
	for i := range pods {
		if !pods[i].Ready || pods[i].ReadySince.IsZero() {
			return time.Time{}
		}
		if at := pods[i].ReadySince.Add(w.Progress.MinReady); at.After(since) {
			since = at
		}
	}
	return since
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

// troubleOf is for a Pod that is not ready. The reason of a waiting container shows more than a Pod
// that was not scheduled, and a running container shows least.
func troubleOf(pod *corev1.Pod) Trouble {
	var worst Trouble
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			t := containerTrouble(&statuses[i])
			if t.Cause != "" && (worst.Cause == "" || t.Cause.rank() < worst.Cause.rank()) {
				worst = t
				worst.Image = cmp.Or(imageOf(pod, t.Container), t.Image)
			}
		}
	}
	scheduled := conditionOf(pod, corev1.PodScheduled)
	switch {
	case worst.Cause != "" && worst.Cause != CauseReadiness:
		return worst
	case scheduled.Status == corev1.ConditionFalse:
		return Trouble{Cause: CauseUnschedulable, Reason: scheduled.Reason, Message: scheduled.Message}
	case worst.Cause != "":
		return worst
	case pod.Status.Phase == corev1.PodRunning:
		return Trouble{Cause: CauseReadiness}
	default:
		return Trouble{Cause: CauseCannotStart, Reason: string(cmp.Or(pod.Status.Phase, corev1.PodPending))}
	}
}

func imageOf(pod *corev1.Pod, container string) string {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if containers[i].Name == container {
				return containers[i].Image
			}
		}
	}
	return ""
}

func containerTrouble(s *corev1.ContainerStatus) Trouble {
	t := Trouble{Container: s.Name, Image: s.Image}
	ended := s.State.Terminated
	if ended == nil {
		ended = s.LastTerminationState.Terminated
	}
	if ended != nil {
		t.Exited, t.ExitCode = true, ended.ExitCode
	}
	switch waits := s.State.Waiting; {
	case waits != nil && slices.Contains(pullReasons(), waits.Reason):
		t.Cause, t.Reason = CauseImagePull, waits.Reason
	case waits != nil && waits.Reason == "CrashLoopBackOff", s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
		t.Cause, t.Reason = CauseCrashLoop, "CrashLoopBackOff"
		if waits == nil {
			t.Reason = s.State.Terminated.Reason
		}
	case waits != nil && waits.Reason == "PodInitializing":
		return Trouble{} // it waits for an init container
	case waits != nil:
		t.Cause, t.Reason = CauseCannotStart, waits.Reason
		if waits.Reason == "CreateContainerConfigError" {
			t.Message = waits.Message // which Secret or ConfigMap, or which key of it
		}
	case s.State.Running != nil && !s.Ready && s.RestartCount > 0 && t.Exited && t.ExitCode != 0:
		t.Cause, t.Reason = CauseCrashLoop, fmt.Sprintf("started %d times", s.RestartCount+1)
	case s.State.Running != nil && !s.Ready:
		t.Cause = CauseReadiness
	default:
		return Trouble{}
	}
	// The status of the next start shows only that the container ends again and again.
	if t.Cause == CauseCrashLoop && ended != nil && ended.Reason == outOfMemory {
		t.Cause, t.Reason = CauseOutOfMemory, outOfMemory
	}
	return t
}

// outOfMemory is the reason of the kubelet for a container that the kernel killed because its
// memory limit, or the memory of the node, was exhausted.
const outOfMemory = "OOMKilled"

// pullReasons are the reasons of the kubelet for an image that it cannot pull.
func pullReasons() []string {
	return []string{
		"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
		"RegistryUnavailable", "SignatureValidationFailed",
	}
}
