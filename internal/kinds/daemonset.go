package kinds

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func daemonSet() Kind {
	return Kind{
		Name:     "DaemonSet",
		Resource: appsv1.SchemeGroupVersion.WithResource("daemonsets"),
		NewList:  func() runtime.Object { return &appsv1.DaemonSetList{} },
		Template: func(obj runtime.Object) (*metav1.ObjectMeta, *corev1.PodTemplateSpec, bool) {
			o, ok := obj.(*appsv1.DaemonSet)
			if !ok {
				return nil, nil, false
			}
			return &o.ObjectMeta, &o.Spec.Template, true
		},
	}
}
