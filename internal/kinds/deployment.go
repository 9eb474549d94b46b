package kinds

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/workload"
)

func deployment() Kind {
	return Kind{
		Kind:     workload.Kind{Name: "Deployment", Pausable: true},
		Resource: appsv1.SchemeGroupVersion.WithResource("deployments"),
		NewList:  func() runtime.Object { return &appsv1.DeploymentList{} },
		Template: specTemplate(),
		Adapter: builtIn[*appsv1.Deployment]{"Deployment", func(o *appsv1.Deployment) Parts {
			return Parts{
				Meta: &o.ObjectMeta, Selector: o.Spec.Selector, Template: &o.Spec.Template,
				RolledOut: o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedReplicas == o.Status.Replicas,
				Progress: workload.Progress{
					Observed: o.Status.ObservedGeneration >= o.Generation,
					Wanted:   wanted(o.Spec.Replicas), Total: o.Status.Replicas, Updated: o.Status.UpdatedReplicas, Ready: o.Status.ReadyReplicas, Available: o.Status.AvailableReplicas,
					Deadline: deadline(o.Spec.ProgressDeadlineSeconds), Paused: o.Spec.Paused, Refused: refused(o.Status.Conditions),
					Overdue: overdue(o.Status.Conditions), CompletedAt: completedAt(o.Status.Conditions), AvailableAt: availableSince(o.Status.Conditions, corev1.ConditionTrue),
					UnavailableAt: availableSince(o.Status.Conditions, corev1.ConditionFalse),
				},
			}
		}},
	}
}

func refused(conditions []appsv1.DeploymentCondition) string {
	for _, c := range conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

// pastDeadline is the reason by which Deployments and Rollouts report that a rollout has exceeded
// its deadline.
const pastDeadline = "ProgressDeadlineExceeded"

// completedAt is when the latest rollout has completed, and zero while it is in progress.
func completedAt(conditions []appsv1.DeploymentCondition) time.Time {
	for _, c := range conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionTrue && c.Reason == "NewReplicaSetAvailable" {
			return c.LastUpdateTime.Time
		}
	}
	return time.Time{}
}

// availableSince is since when enough Pods have been available, or have not been.
func availableSince(conditions []appsv1.DeploymentCondition, is corev1.ConditionStatus) time.Time {
	for _, c := range conditions {
		if c.Type == appsv1.DeploymentAvailable && c.Status == is {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func overdue(conditions []appsv1.DeploymentCondition) bool {
	return slices.ContainsFunc(conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == pastDeadline
	})
}
