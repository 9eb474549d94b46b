// Package kinds knows the kinds of workload: where their pod template stands, how a mark is put on it, and what else
// belongs to a restart. Each kind is a file.
package kinds

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
)

// Kind is one kind of workload.
type Kind struct {
	// Name is the kind as manifests spell it.
	Name     string
	Resource schema.GroupVersionResource
	NewList  func() runtime.Object
	// Custom tells that a CustomResourceDefinition describes it: the API server may not serve it at all, it comes as
	// JSON, and nothing merges its lists by name.
	Custom bool
	// Title is what its kind is called among users, if it is custom.
	Title string
	// Parts returns where things stand in an object.
	Parts func(obj runtime.Object) (Parts, error)
}

// Parts are the parts of a workload that matter here.
type Parts struct {
	Meta     *metav1.ObjectMeta
	Selector *metav1.LabelSelector
	Template *corev1.PodTemplateSpec
	// AtRest tells that no rollout is under way, as far as the status tells.
	AtRest bool
	// Borrows names the object of the same namespace whose pod template is used, if that is not the object's own, and
	// Observed which generation of it.
	Borrows  *reload.WorkloadKey
	Observed int64
	// Restartable tells that the object has a field that restarts its pods and leaves the template alone.
	Restartable bool
	// RestartAt is what stands in that field.
	RestartAt string
	// Shape is nil for kinds whose lists merge by name.
	Shape *reload.Shape
}

// All returns every kind there is.
func All() []Kind {
	return []Kind{deployment(), statefulSet(), daemonSet(), rollout()}
}

// typed reads the objects of a kind with a Go type.
func typed[T runtime.Object](kind string, parts func(T) Parts) func(runtime.Object) (Parts, error) {
	return func(obj runtime.Object) (Parts, error) {
		o, ok := obj.(T)
		if !ok {
			return Parts{}, fmt.Errorf("a %T came where a %s was asked for", obj, kind)
		}
		return parts(o), nil
	}
}

// Read returns what is kept of an object.
func (k Kind) Read(obj runtime.Object, names reload.Names) (reload.Workload, error) {
	parts, err := k.Parts(obj)
	if err != nil {
		return reload.Workload{}, err
	}
	w := reload.NewWorkload(k.Name, parts.Meta, parts.Selector, parts.Template, names)
	w.Generation = parts.Meta.Generation
	if parts.Borrows != nil {
		w.Borrows, w.Generation = parts.Borrows, parts.Observed
	}
	w.APIVersion = k.Resource.GroupVersion().String()
	w.Marks.RestartAt = parts.RestartAt
	w.AtRest, w.Restartable, w.Custom, w.Shape = parts.AtRest, parts.Restartable, k.Custom, parts.Shape
	return w, nil
}

// Patch is one request that changes a workload.
type Patch struct {
	Type types.PatchType
	Body []byte
}

// The patch touches nothing but these fields. With the uid and the version in it, a write that lands late or on another
// object of the same name is refused by the API server.
type patchBody struct {
	Metadata patchMeta  `json:"metadata"`
	Spec     *patchSpec `json:"spec,omitempty"`
}

type patchMeta struct {
	UID             types.UID         `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

type patchSpec struct {
	Template  *patchTemplate `json:"template,omitempty"`
	RestartAt string         `json:"restartAt,omitempty"`
}

type patchTemplate struct {
	Metadata *patchMeta        `json:"metadata,omitempty"`
	Spec     *patchTemplateTop `json:"spec,omitempty"`
}

type patchTemplateTop struct {
	Containers []patchContainer `json:"containers"`
}

type patchContainer struct {
	Name string     `json:"name"`
	Env  []patchEnv `json:"env"`
}

type patchEnv struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Delete string `json:"$patch,omitempty"`
}

// LedgerPatch writes the ledger and leaves the pod template alone.
func (k Kind) LedgerPatch(w *reload.Workload, ledger string) (Patch, error) {
	return k.encode(patchBody{Metadata: ledgerMeta(w, ledger)})
}

// MarkPatch writes the ledger and marks the pod template, in one request: neither can be there without the other.
func (k Kind) MarkPatch(w *reload.Workload, ledger string, m reload.Marking, names reload.Names) (Patch, error) {
	if m.RestartAt != "" {
		return k.encode(patchBody{Metadata: ledgerMeta(w, ledger), Spec: &patchSpec{RestartAt: m.RestartAt}})
	}
	annotations := map[string]string{}
	if m.ReloadedFrom != "" {
		annotations[names.LastReloadedFrom] = m.ReloadedFrom
	}
	if m.Rolled != "" {
		annotations[reload.RolledAnnotation] = m.Rolled
	}
	if k.Custom && len(m.Env)+len(m.Removed) > 0 {
		return listPatch(w, ledger, m, annotations)
	}
	template := patchTemplate{}
	if len(annotations) > 0 {
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
	return k.encode(patchBody{Metadata: ledgerMeta(w, ledger), Spec: &patchSpec{Template: &template}})
}

func ledgerMeta(w *reload.Workload, ledger string) patchMeta {
	return patchMeta{
		UID:             w.UID,
		ResourceVersion: w.ResourceVersion,
		Annotations:     map[string]string{reload.LedgerAnnotation: ledger},
	}
}

func (k Kind) encode(body patchBody) (Patch, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return Patch{}, fmt.Errorf("encode the patch: %w", err)
	}
	if k.Custom {
		return Patch{Type: types.MergePatchType, Body: raw}, nil // there are no lists in it
	}
	// Strategic: containers and variables merge by name, and those of others stay.
	return Patch{Type: types.StrategicMergePatchType, Body: raw}, nil
}
