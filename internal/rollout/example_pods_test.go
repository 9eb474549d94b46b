package rollout

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

// afterReload is web, three pods large, after a reload by a variable.
func afterReload(kind string) *workload.Workload {
	w := &workload.Workload{
		Key: workload.Key{Kind: kind, Namespace: "shop", Name: "web"}, UID: "u-1",
		Marks:    workload.Marks{Env: []workload.EnvMark{{Container: "app", Variable: "STAKATER_CFG_CONFIGMAP", Value: content}}},
		Progress: workload.Progress{Observed: true, Wanted: 3, Total: 3, Updated: 1, Available: 2},
	}
	w.LedgerText = ledger.Ledger{UID: w.UID, Counter: 1, Marks: w.Marks.DigestAfter(ledger.StepVariables)}.String()
	return w
}

// podOf is a pod that is Ready, with a mark if it is of the reload.
func podOf(name string, marked bool, changes ...func(*corev1.Pod)) Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"controller-revision-hash": "web-2"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "web:1.0"}, {Name: "injected"}}},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "app", Image: "docker.io/library/web:1.0", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
	if marked {
		pod.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "OTHER", Value: "x"}, {Name: "STAKATER_CFG_CONFIGMAP", Value: content}}
	} else {
		pod.Labels["controller-revision-hash"] = "web-1"
	}
	for _, change := range changes {
		change(pod)
	}
	return ReadPod(pod, annotations.DefaultNames())
}

func notReady(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	pod.Status.ContainerStatuses[0].Ready = false
}

func waits(reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		notReady(pod)
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
}

func ended(code int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses[0].RestartCount = 3
		pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error"}
	}
}

func outOfMemoryOnce(pod *corev1.Pod) {
	ended(137)(pod)
	pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.Reason = "OOMKilled"
}

func unscheduled(pod *corev1.Pod) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/2 nodes are available: 2 Insufficient cpu."},
	}}
}

func newPod(changes ...func(*corev1.Pod)) []Pod {
	return []Pod{podOf("web-old-a", false), podOf("web-old-b", false), podOf("web-new", true, changes...)}
}
