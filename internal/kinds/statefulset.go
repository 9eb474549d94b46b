package kinds

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/workload"
)

func statefulSet() Kind {
	return Kind{
		Kind:     workload.Kind{Name: "StatefulSet"},
		Resource: appsv1.SchemeGroupVersion.WithResource("statefulsets"),
		NewList:  func() runtime.Object { return &appsv1.StatefulSetList{} },
		Template: specTemplate(),
		Adapter: builtIn[*appsv1.StatefulSet]{"StatefulSet", func(o *appsv1.StatefulSet) Parts {
			return Parts{
				Meta: &o.ObjectMeta, Selector: o.Spec.Selector, Template: &o.Spec.Template,
				RolledOut: o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedReplicas == o.Status.Replicas,
				Progress: workload.Progress{
					Observed: o.Status.ObservedGeneration >= o.Generation,
					Wanted:   wanted(o.Spec.Replicas), Total: o.Status.Replicas, Updated: o.Status.UpdatedReplicas, Ready: o.Status.ReadyReplicas, Available: o.Status.AvailableReplicas,
					OnDelete: o.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType, Partition: partition(&o.Spec.UpdateStrategy),
					Ordered: o.Spec.PodManagementPolicy != appsv1.ParallelPodManagement, Revision: o.Status.UpdateRevision, MinReady: time.Duration(o.Spec.MinReadySeconds) * time.Second,
				},
			}
		}},
	}
}

func partition(s *appsv1.StatefulSetUpdateStrategy) int32 {
	if s.RollingUpdate == nil || s.RollingUpdate.Partition == nil {
		return 0
	}
	return *s.RollingUpdate.Partition
}
