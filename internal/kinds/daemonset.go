package kinds

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/workload"
)

func daemonSet() Kind {
	return Kind{
		Kind:     workload.Kind{Name: "DaemonSet"},
		Resource: appsv1.SchemeGroupVersion.WithResource("daemonsets"),
		NewList:  func() runtime.Object { return &appsv1.DaemonSetList{} },
		Template: specTemplate(),
		Adapter: builtIn[*appsv1.DaemonSet]{"DaemonSet", func(o *appsv1.DaemonSet) Parts {
			return Parts{
				Meta: &o.ObjectMeta, Selector: o.Spec.Selector, Template: &o.Spec.Template,
				RolledOut: o.Status.ObservedGeneration >= o.Generation && o.Status.UpdatedNumberScheduled == o.Status.CurrentNumberScheduled,
				Progress: workload.Progress{
					Observed: o.Status.ObservedGeneration >= o.Generation,
					Wanted:   o.Status.DesiredNumberScheduled, Total: o.Status.CurrentNumberScheduled,
					Updated: o.Status.UpdatedNumberScheduled, Ready: o.Status.NumberReady, Available: o.Status.NumberAvailable,
					OnDelete: o.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType, MinReady: time.Duration(o.Spec.MinReadySeconds) * time.Second,
				},
			}
		}},
	}
}
