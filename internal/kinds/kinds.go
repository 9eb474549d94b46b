// Package kinds knows the kinds of workload: where their pod template stands, how a mark is put on it, and what else
// belongs to a restart. Each kind is a file.
package kinds

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

	Adapter
}

// Adapter is what a kind has to answer.
type Adapter interface {
	// Parts returns where things stand in an object.
	Parts(obj runtime.Object) (Parts, error)
	// Patch writes a ledger, and whatever a reload writes unless it is nil, in one request.
	Patch(w *reload.Workload, ledger string, m *reload.Marking, names reload.Names) (Patch, error)
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

// Read returns what is kept of an object.
func (k Kind) Read(obj runtime.Object, names reload.Names) (reload.Workload, error) {
	parts, err := k.Parts(obj)
	if err != nil {
		return reload.Workload{}, err
	}
	w := reload.NewWorkload(k.Name, parts.Meta, parts.Selector, parts.Template, names)
	w.Generation = parts.Meta.Generation
	if parts.Borrows != nil {
		w.Borrow(*parts.Borrows, names)
		w.Generation = parts.Observed
	}
	w.APIVersion = k.Resource.GroupVersion().String()
	w.Marks.RestartAt = parts.RestartAt
	w.AtRest, w.Restartable, w.Custom, w.Shape = parts.AtRest, parts.Restartable, k.Custom, parts.Shape
	return w, nil
}
