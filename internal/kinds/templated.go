package kinds

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/workload"
)

// specTemplate is the path of the pod template for nearly all kinds.
func specTemplate() []string { return []string{"spec", "template"} }

// templated is a custom kind of which Reroll only needs the path of the pod template.
func templated(name, title string, resource schema.GroupVersionResource, template []string) Kind {
	parts := func(obj *unstructured.Unstructured) (Parts, error) { return templatedParts(obj, template) }
	return Kind{
		Kind:  workload.Kind{Name: name, Custom: true},
		Title: title, Resource: resource,
		NewList: func() runtime.Object { return &unstructured.UnstructuredList{} },
		Adapter: custom{name, template, parts}, Template: template,
	}
}

// NoTemplateError means that an object has no pod template at the path of its kind.
type NoTemplateError struct{ Path string }

// Error returns the message.
func (e NoTemplateError) Error() string { return "it has no pod template with containers at " + e.Path }

func templatedParts(obj *unstructured.Unstructured, path []string) (Parts, error) {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if err := decode(obj, &o, "metadata"); err != nil {
		return Parts{}, err
	}
	template, err := templateAt(obj, path)
	if err != nil {
		return Parts{}, err
	}
	p, observedKnown := statusProgress(obj.Object, o.Metadata.Generation)
	selector, guessed := selectorOf(obj, template)
	return Parts{
		Meta: &o.Metadata, Selector: selector, SelectorGuessed: guessed, Template: template, Progress: p,
		RolledOut: p.Observed && p.Updated == p.Total && !unready(obj.Object), Unobserved: !observedKnown, Shape: shapeOf(obj.Object, path...),
	}, nil
}

// templateAt returns no pod template without containers. Reroll could not roll it, so the path must
// be wrong.
func templateAt(obj *unstructured.Unstructured, path []string) (*corev1.PodTemplateSpec, error) {
	found, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	fields, _ := found.(map[string]any)
	if containers, _, bad := unstructured.NestedSlice(fields, "spec", "containers"); err != nil || bad != nil || len(containers) == 0 {
		return nil, NoTemplateError{strings.Join(path, ".")}
	}
	template := &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, template); err != nil {
		return nil, fmt.Errorf("the pod template at %s: %w", strings.Join(path, "."), err)
	}
	return template, nil
}

// selectorOf finds the selector of the object, in the form of Deployments or as a plain map, or
// else uses the labels of its pod template.
func selectorOf(obj *unstructured.Unstructured, template *corev1.PodTemplateSpec) (selector *metav1.LabelSelector, guessed bool) {
	if plain, _, err := unstructured.NestedStringMap(obj.Object, "spec", "selector"); err == nil && len(plain) > 0 {
		return &metav1.LabelSelector{MatchLabels: plain}, false
	}
	var o struct {
		Spec struct {
			Selector *metav1.LabelSelector `json:"selector"`
		} `json:"spec"`
	}
	err := decode(obj, &o, "spec.selector")
	if s := o.Spec.Selector; err == nil && s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		return s, false
	}
	if len(template.Labels) == 0 {
		return nil, true // an empty selector would match all Pods of the namespace
	}
	return &metav1.LabelSelector{MatchLabels: template.Labels}, true
}

// unknown is a number of Pods that the status does not show.
const unknown = -1

// statusProgress is the progress in the status, if it has the usual fields of Kubernetes. Without
// them, only the Pods show the progress. ObservedKnown reports whether the status has an observed
// generation.
func statusProgress(obj map[string]any, generation int64) (p workload.Progress, observedKnown bool) {
	number := func(unset int32, parent string, fields ...string) int32 {
		for _, field := range fields {
			if n, found, err := unstructured.NestedInt64(obj, parent, field); err == nil && found {
				return int32(min(max(n, 0), math.MaxInt32))
			}
		}
		return unset
	}
	observed, named, err := unstructured.NestedInt64(obj, "status", "observedGeneration")
	observedKnown = named && err == nil
	total := number(unknown, "status", "replicas", "currentNumberScheduled")
	p = workload.Progress{
		Observed: !observedKnown || observed >= generation, NoCounts: total == unknown,
		Wanted: number(number(max(total, 0), "status", "desiredNumberScheduled"), "spec", "replicas"),
		Total:  max(total, 0), Updated: number(max(total, 0), "status", "updatedReplicas", "updatedNumberScheduled"),
		Ready:     number(0, "status", "readyReplicas", "numberReady", "availableReplicas", "numberAvailable"),
		Available: number(0, "status", "availableReplicas", "numberAvailable"),
	}
	p.Paused, _, _ = unstructured.NestedBool(obj, "spec", "paused")
	return p, observedKnown
}

// unready reports whether the object has a condition that it is not ready, as some have while their
// Pods are replaced.
func unready(obj map[string]any) bool {
	conditions, _, _ := unstructured.NestedSlice(obj, "status", "conditions")
	for _, item := range conditions {
		if c, ok := item.(map[string]any); ok && c["type"] == "Ready" {
			return c["status"] != "True"
		}
	}
	return false
}
