package kinds

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

// builtIn is the adapter of a kind with a Go type. A strategic merge patch merges its containers
// and variables by name, and keeps those of other clients.
type builtIn[T runtime.Object] struct {
	kind  string
	parts func(T) Parts
}

// Parts returns the relevant parts of an object.
func (b builtIn[T]) Parts(obj runtime.Object) (Parts, error) {
	o, ok := obj.(T)
	if !ok {
		return Parts{}, fmt.Errorf("got a %T, want a %s", obj, b.kind)
	}
	return b.parts(o), nil
}

// Patch writes a ledger and a mark.
func (b builtIn[T]) Patch(w *workload.Workload, ledger string, m *workload.Marking, names annotations.Names) (Patch, error) {
	body := patchBody{Metadata: ledgerMeta(w, ledger)}
	if m != nil {
		body.Spec = &patchSpec{Template: mergedTemplate(w, m, names)}
		if m.PausedAt != "" {
			// In one request, so that neither exists without the other.
			body.Spec.Paused, body.Metadata.Annotations[names.PausedAt] = true, m.PausedAt
		}
	}
	return encode(types.StrategicMergePatchType, body)
}

func mergedTemplate(w *workload.Workload, m *workload.Marking, names annotations.Names) *patchTemplate {
	template := &patchTemplate{}
	if annotations := templateAnnotations(m, names); len(annotations) > 0 {
		template.Metadata = &patchMeta{Annotations: annotations}
	}
	for _, name := range w.Containers {
		var env []patchEnv
		for _, mark := range m.Env {
			if mark.Container == name {
				env = append(env, patchEnv{Name: mark.Variable, Value: mark.Value})
			}
		}
		for _, mark := range m.Removed {
			if mark.Container == name {
				env = append(env, patchEnv{Name: mark.Variable, Delete: "delete"})
			}
		}
		if len(env) == 0 {
			continue
		}
		if template.Spec == nil {
			template.Spec = &patchTemplateTop{}
		}
		template.Spec.Containers = append(template.Spec.Containers, patchContainer{Name: name, Env: env})
	}
	return template
}

// wanted is the desired number of Pods. The API server sets the default.
func wanted(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

// deadline is 0 if it is unset.
func deadline(seconds *int32) time.Duration {
	if seconds == nil {
		return 0
	}
	return time.Duration(*seconds) * time.Second
}
