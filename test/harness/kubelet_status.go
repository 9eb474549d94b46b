package harness

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SimulatedStatus is what Namespace.Kubelet writes. test/node compares it with that of a real
// kubelet.
func SimulatedStatus(pod *corev1.Pod, says string) (corev1.PodStatus, error) {
	s := corev1.ContainerStatus{Started: new(false)}
	phase, sandbox := corev1.PodPending, corev1.ConditionTrue
	switch says {
	case "image-pull":
		s.State = waits("ImagePullBackOff", `Back-off pulling image "none": ErrImagePull: failed to pull and unpack image "none"`)
	case "crash-loop":
		phase = corev1.PodRunning
		s.State, s.RestartCount = waits("CrashLoopBackOff", "back-off 10s restarting failed container=app"), 2
		s.LastTerminationState = ends("Error", 1)
	case "out-of-memory":
		phase = corev1.PodRunning
		s.State, s.RestartCount = waits("CrashLoopBackOff", "back-off 10s restarting failed container=app"), 2
		s.LastTerminationState = ends("OOMKilled", 137)
	case "config-error":
		s.State = waits("CreateContainerConfigError", `secret "token" not found`)
	case "volume":
		sandbox = corev1.ConditionFalse
		s.State = waits("ContainerCreating", "")
	case "unready":
		phase, s.State, s.Started = corev1.PodRunning, isRunning(), new(true)
	case "ready":
		phase, s.State, s.Started, s.Ready = corev1.PodRunning, isRunning(), new(true), true
	default:
		return corev1.PodStatus{}, fmt.Errorf("a kubelet does not say %q here, but one of %q", says, KubeletSays())
	}
	if pod.Spec.NodeName == "" {
		phase = corev1.PodPending
	}
	status := corev1.PodStatus{Phase: phase, Conditions: conditions(pod, sandbox, s.Ready)}
	for i := range pod.Spec.Containers {
		s.Name, s.Image = pod.Spec.Containers[i].Name, pod.Spec.Containers[i].Image
		status.ContainerStatuses = append(status.ContainerStatuses, s)
	}
	return status, nil
}

func waits(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func isRunning() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
}

func ends(reason string, code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		Reason: reason, ExitCode: code, StartedAt: metav1.Now(), FinishedAt: metav1.Now(),
	}}
}

// conditions are those that a pod has, with those that a kubelet sets in the place of its own.
func conditions(pod *corev1.Pod, sandbox corev1.ConditionStatus, ready bool) []corev1.PodCondition {
	own := []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: sandbox},
		{Type: corev1.PodInitialized, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
	}
	if !ready {
		for _, i := range []int{2, 3} {
			own[i].Status, own[i].Reason = corev1.ConditionFalse, "ContainersNotReady"
		}
	}
	kept := slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c corev1.PodCondition) bool {
		return slices.ContainsFunc(own, func(o corev1.PodCondition) bool { return o.Type == c.Type })
	})
	for i := range own {
		own[i].LastTransitionTime = metav1.Now()
	}
	return append(kept, own...)
}
