package simapi

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Source names a ConfigMap or a Secret within a namespace.
type Source struct{ Resource, Name string }

// String is like the arguments of kubectl.
func (s Source) String() string { return strings.TrimSuffix(s.Resource, "s") + "/" + s.Name }

// InOrder ranges over sources in the order of their resources and names, unlike range.
func InOrder[V any](of map[Source]V) iter.Seq2[Source, V] {
	return func(yield func(Source, V) bool) {
		sorted := slices.SortedFunc(maps.Keys(of), func(a, b Source) int {
			return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name))
		})
		for _, src := range sorted {
			if !yield(src, of[src]) {
				return
			}
		}
	}
}

// Refers lists the sources that the template of a workload refers to.
func Refers(w Object) []Source {
	var found []Source
	eachReference(w, func(src Source, _ *bool) { found = append(found, src) })
	return found
}

// Needs tells of each of those whether pods wait for it.
func Needs(w Object) map[Source]bool {
	needs := map[Source]bool{}
	eachReference(w, func(src Source, optional *bool) { needs[src] = needs[src] || optional == nil || !*optional })
	return needs
}

func eachReference(w Object, take func(src Source, optional *bool)) {
	t, ok := template(w)
	if !ok {
		return
	}
	for _, container := range t.Spec.Containers {
		for _, variable := range container.Env {
			if from := variable.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
				take(Source{"configmaps", from.ConfigMapKeyRef.Name}, from.ConfigMapKeyRef.Optional)
			}
		}
		for _, from := range container.EnvFrom {
			if from.ConfigMapRef != nil {
				take(Source{"configmaps", from.ConfigMapRef.Name}, from.ConfigMapRef.Optional)
			}
			if from.SecretRef != nil {
				take(Source{"secrets", from.SecretRef.Name}, from.SecretRef.Optional)
			}
		}
	}
	for _, volume := range t.Spec.Volumes {
		if volume.ConfigMap != nil {
			take(Source{"configmaps", volume.ConfigMap.Name}, volume.ConfigMap.Optional)
		}
		if volume.Secret != nil {
			take(Source{"secrets", volume.Secret.SecretName}, volume.Secret.Optional)
		}
		for _, part := range projections(&volume) {
			if part.ClusterTrustBundle != nil {
				take(trusted(part.ClusterTrustBundle), part.ClusterTrustBundle.Optional)
			}
		}
	}
}

// Content is what pods of a namespace that start now see of a source; false if it does not exist.
func (s *Server) Content(namespace string, src Source) (content string, exists bool) {
	if src.Resource == BundleResource {
		return s.certificates(src)
	}
	obj, err := s.Get(src.Resource, types.NamespacedName{Namespace: namespace, Name: src.Name})
	if err != nil {
		return "", false
	}
	return ContentOf(obj), true
}

// ContentOf is all that a pod can see of a source, in a form that can be compared.
func ContentOf(obj Object) string {
	var values map[string]string
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		values = maps.Clone(o.Data)
		for key, raw := range o.BinaryData {
			if values == nil {
				values = map[string]string{}
			}
			values["binary:"+key] = string(raw)
		}
	case *corev1.Secret:
		values = texts(o.Data)
	}
	lines := make([]string, 0, len(values))
	for key, value := range values {
		lines = append(lines, fmt.Sprintf("%q=%q", key, value))
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}
