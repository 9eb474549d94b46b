package node_test

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// eachContainer is nil if one container of the Pods of the Deployment is as wanted, init containers
// included.
func eachContainer(wanted func(corev1.ContainerStatus) bool) func(*place) error {
	return func(p *place) error {
		var states []string
		for _, pod := range p.podsOf("app") {
			for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
				if wanted(s) {
					return nil
				}
				states = append(states, fmt.Sprintf("%s, container %s: %+v", pod.Name, s.Name, s.State))
			}
		}
		return fmt.Errorf("no container has; they are:\n%s", strings.Join(states, "\n"))
	}
}

func waiting(reason string) func(*place) error {
	return eachContainer(func(s corev1.ContainerStatus) bool { return s.State.Waiting != nil && s.State.Waiting.Reason == reason })
}

func restarted(p *place) error {
	return eachContainer(func(s corev1.ContainerStatus) bool { return s.RestartCount > 1 })(p)
}

func runningButNotReady(p *place) error {
	return eachContainer(func(s corev1.ContainerStatus) bool { return s.State.Running != nil && !s.Ready })(p)
}

// failedMount waits for the event of the kubelet: the status of the Pod does not show why.
func failedMount(why string) func(*place) error {
	return func(p *place) error {
		events, err := shared.admin.CoreV1().Events(p.Name).List(p.ctx, metav1.ListOptions{FieldSelector: "reason=FailedMount"})
		if err != nil {
			return err
		}
		var seen []string
		for i := range events.Items {
			if strings.Contains(events.Items[i].Message, why) {
				return nil
			}
			seen = append(seen, events.Items[i].Message)
		}
		return fmt.Errorf("no mount has failed with %q, but %q", why, seen)
	}
}

func refusedPods(p *place) error {
	d, err := shared.admin.AppsV1().Deployments(p.Name).Get(p.ctx, "app", metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, c := range d.Status.Conditions {
		if c.Type == "ReplicaFailure" && c.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return errors.New("its status has no ReplicaFailure")
}

func unschedulable(p *place) error {
	for _, pod := range p.podsOf("app") {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
				return nil
			}
		}
	}
	return errors.New("each Pod has a node")
}
