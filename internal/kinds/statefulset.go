package kinds

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func statefulSet() Kind {
	return Kind{
		Name:     "StatefulSet",
		Resource: appsv1.SchemeGroupVersion.WithResource("statefulsets"),
		NewList:  func() runtime.Object { return &appsv1.StatefulSetList{} },
		Parts: func(obj runtime.Object) (Parts, bool) {
			o, ok := obj.(*appsv1.StatefulSet)
			if !ok {
				return Parts{}, false
			}
			return Parts{
				Meta: &o.ObjectMeta, Selector: o.Spec.Selector, Template: &o.Spec.Template,
				AtRest: o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedReplicas == o.Status.Replicas,
			}, true
		},
	}
}
