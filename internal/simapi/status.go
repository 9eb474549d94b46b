package simapi

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// tellStatus writes into the status of a workload what its controller sees, in a write of its own, and returns false if
// it stands there already. Until then the status is about an earlier generation, and says so.
func (p *Pods) tellStatus(w Object, pods []*corev1.Pod) bool {
	var all, current int32
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			all++
			if p.Current(w, pod) {
				current++
			}
		}
	}
	before := p.server.Version()
	_, err := p.server.Edit(ResourceOf(w), nameOf(w), "kube-controller-manager", func(obj Object) {
		generation := obj.GetGeneration()
		switch o := obj.(type) {
		case *appsv1.Deployment:
			o.Status.ObservedGeneration, o.Status.Replicas, o.Status.UpdatedReplicas = generation, all, current
		case *appsv1.StatefulSet:
			o.Status.ObservedGeneration, o.Status.Replicas, o.Status.UpdatedReplicas = generation, all, current
		case *appsv1.DaemonSet:
			o.Status.ObservedGeneration, o.Status.CurrentNumberScheduled, o.Status.UpdatedNumberScheduled = generation, all, current
		}
	})
	return err == nil && p.server.Version() != before
}
