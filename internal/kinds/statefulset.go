package kinds

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/reload"
)

func statefulSet() Kind {
	return Kind{
		WorkloadKind: reload.WorkloadKind{Name: "StatefulSet"},
		Resource:     appsv1.SchemeGroupVersion.WithResource("statefulsets"),
		NewList:      func() runtime.Object { return &appsv1.StatefulSetList{} },
		Adapter: builtIn[*appsv1.StatefulSet]{"StatefulSet", func(o *appsv1.StatefulSet) Parts {
			return Parts{
				Meta: &o.ObjectMeta, Selector: o.Spec.Selector, Template: &o.Spec.Template,
				AtRest: o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedReplicas == o.Status.Replicas,
			}
		}},
	}
}
