package simapi

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// counts are what a controller tells in the status of a workload about its rollout.
type counts struct {
	generation              int64
	all, current, available int32
}

// tellStatus writes into the status of a workload what its controller sees, in a write of its own,
// and returns false if it stands there already. Until then the status is about an earlier
// generation, and says so.
func (p *Pods) tellStatus(w Object, pods []*corev1.Pod) bool {
	standing, err := p.server.Get(ResourceOf(w), nameOf(w))
	if err != nil {
		return false
	}
	now := counts{generation: standing.GetGeneration()}
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			now.all++
			if p.Current(w, pod) {
				now.current++
			}
			if len(pod.Status.ContainerStatuses) > 0 {
				now.available++
			}
		}
	}
	if told(standing) == now {
		return false
	}
	p.server.editStatus(standing, "kube-controller-manager", func(obj Object) {
		switch o := obj.(type) {
		case *appsv1.Deployment:
			o.Status.ObservedGeneration, o.Status.Replicas, o.Status.UpdatedReplicas = now.generation, now.all, now.current
			o.Status.ReadyReplicas, o.Status.AvailableReplicas = now.available, now.available
		case *appsv1.StatefulSet:
			o.Status.ObservedGeneration, o.Status.Replicas, o.Status.UpdatedReplicas = now.generation, now.all, now.current
			o.Status.ReadyReplicas, o.Status.AvailableReplicas = now.available, now.available
		case *appsv1.DaemonSet:
			o.Status.ObservedGeneration, o.Status.CurrentNumberScheduled, o.Status.UpdatedNumberScheduled = now.generation, now.all, now.current
			o.Status.NumberReady, o.Status.NumberAvailable = now.available, now.available
			o.Status.DesiredNumberScheduled = int32(p.Nodes) //nolint:gosec // a test has few
		}
	})
	return true
}

func told(w Object) counts {
	switch o := w.(type) {
	case *appsv1.Deployment:
		return counts{o.Status.ObservedGeneration, o.Status.Replicas, o.Status.UpdatedReplicas, o.Status.AvailableReplicas}
	case *appsv1.StatefulSet:
		return counts{o.Status.ObservedGeneration, o.Status.Replicas, o.Status.UpdatedReplicas, o.Status.AvailableReplicas}
	case *appsv1.DaemonSet:
		return counts{o.Status.ObservedGeneration, o.Status.CurrentNumberScheduled, o.Status.UpdatedNumberScheduled, o.Status.NumberAvailable}
	default:
		return counts{}
	}
}
