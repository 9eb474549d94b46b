package inspect

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Progress is how far a rollout is, as the status tells.
type Progress struct {
	// Updated of Wanted pods are of the present template.
	Updated, Wanted int64
	// Paused tells that somebody has paused the rollouts of the workload.
	Paused bool
}

func progressOf(obj runtime.Object) Progress {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return Progress{int64(o.Status.UpdatedReplicas), replicas(o.Spec.Replicas), o.Spec.Paused}
	case *appsv1.StatefulSet:
		return Progress{int64(o.Status.UpdatedReplicas), replicas(o.Spec.Replicas), false}
	case *appsv1.DaemonSet:
		return Progress{int64(o.Status.UpdatedNumberScheduled), int64(o.Status.DesiredNumberScheduled), false}
	case *unstructured.Unstructured:
		updated, _, _ := unstructured.NestedInt64(o.Object, "status", "updatedReplicas")
		wanted, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		if !found {
			wanted = 1
		}
		paused, _, _ := unstructured.NestedBool(o.Object, "spec", "paused")
		return Progress{updated, wanted, paused}
	default:
		return Progress{}
	}
}

// replicas is one where nobody says anything.
func replicas(n *int32) int64 {
	if n == nil {
		return 1
	}
	return int64(*n)
}
