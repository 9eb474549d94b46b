package simapi

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A patch of annotations alone comes to what merging in general comes to.
func TestAPatchOfAnnotationsAlone(t *testing.T) {
	server := New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	for name, annotations := range map[string]map[string]string{"bare": nil, "web": {"a": "1", "b": "2"}} {
		meta := metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: annotations, Labels: map[string]string{"a": "1"}}
		d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}}}
		old, err := server.Create(d, "kubectl")
		if err != nil {
			t.Fatal(err)
		}
		for body, alone := range map[string]bool{
			`{"metadata":{"uid":"another","resourceVersion":"7","annotations":{"a":"3"}}}`: true,
			`{"metadata":{"annotations":{"a":null,"c":"3"}}}`:                              true,
			`{"metadata":{"annotations":{"a":null,"b":null}}}`:                             true,
			`{"metadata":{"resourceVersion":"7"}}`:                                         true,
			`{"metadata":{"annotations":null}}`:                                            false,
			`{"metadata":{"annotations":{"$patch":"replace","c":"3"}}}`:                    false,
			`{"metadata":{"labels":{"b":"2"}}}`:                                            false,
			`{"metadata":{"annotations":{"c":"3"}},"spec":{"paused":true}}`:                false,
		} {
			want, err := merged(old, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			got, ok := annotated(old, []byte(body))
			if ok != alone || ok && !equality.Semantic.DeepEqual(got, want) {
				t.Errorf("%s on %s comes to %v, want %v; it is of annotations alone: %t, want %t", body, name, got, want, ok, alone)
			}
		}
	}
}
