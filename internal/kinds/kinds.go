// Package kinds knows the kinds of workload: where their pod template stands, how a mark is put on it, and what else
// belongs to a restart. Each kind is a file.
package kinds

import (
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Kind is one kind of workload. Of a custom one the API server may serve nothing, and it comes as JSON.
type Kind struct {
	// Its name is the kind that its objects have, with the group behind it where that alone could be taken for another one.
	workload.Kind

	// Resource has no plural where only the API server knows it.
	Resource schema.GroupVersionResource
	NewList  func() runtime.Object
	// Title is what its kind is called among users, if it is custom.
	Title string
	// Use is whether it is watched.
	Use Use
	// Template are the fields that lead to the pod template.
	Template []string
	// HasWorkloadRef reports whether its objects may use the pod template of another object, in
	// spec.workloadRef.
	HasWorkloadRef bool
	// between are what it makes and what makes its children.
	between between

	Adapter
	among Set
}

// Object is the kind that its objects have.
func (k Kind) Object() schema.GroupVersionKind {
	return k.Resource.GroupVersion().WithKind(workload.Key{Kind: k.Name}.Object())
}

// Label is the plural of its objects, told from others of that plural; where it is not known, the name.
func (k Kind) Label() string {
	switch {
	case k.Resource.Resource == "":
		return strings.ToLower(k.Name)
	case k.Name != k.Object().Kind:
		return k.Resource.GroupResource().String()
	default:
		return k.Resource.Resource
	}
}

// Adapter is what a kind has to answer.
type Adapter interface {
	// Parts returns where things stand in an object.
	Parts(obj runtime.Object) (Parts, error)
	// Patch writes a ledger, and whatever a reload writes unless it is nil, in one request.
	Patch(w *workload.Workload, ledger string, m *workload.Marking, names annotations.Names) (Patch, error)
}

// Runner is what a kind has to answer beyond that if its pods come and go in runs: a reload makes a Job.
type Runner interface {
	// Run returns the Job of a reload. It is held until the ledger records it: a Job that ran before could end, and
	// be cleaned up, and be created again by a controller that finds neither.
	Run(obj runtime.Object, w *workload.Workload, ledger ledger.Ledger, m *workload.Marking, names annotations.Names) (*batchv1.Job, error)
}

// Parts are the parts of a workload that matter here.
type Parts struct {
	Meta     *metav1.ObjectMeta
	Selector *metav1.LabelSelector
	// SelectorGuessed reports that the object itself does not have the labels of its Pods.
	SelectorGuessed bool
	Template        *corev1.PodTemplateSpec
	// RolledOut reports whether no rollout is in progress, as far as the status shows. Unobserved reports that it has no
	// generation, so that it may be about the template before.
	RolledOut, Unobserved bool
	Progress              workload.Progress
	// Runs is nil for kinds whose pods are to be there all the time.
	Runs *workload.Runs
	// Borrows names the object of the same namespace whose pod template is used, if that is not the object's own, and
	// Observed which generation of it.
	TemplateOwner *workload.Key
	Observed      int64
	// LeftAlone is why nothing may reload it, whatever its annotations are. Ended reports that it has run, so that only
	// annotations of its own make it run again.
	LeftAlone string
	Ended     bool
	// RestartAt is what stands in the field that restarts the pods.
	RestartAt string
	// Shape is nil for kinds whose lists merge by name.
	Shape *workload.Shape
}

// Set is every kind there is.
type Set []Kind

// All returns those that are built in, and those that a user has added.
func All(added ...Added) Set {
	all := Set{deployment(), statefulSet(), daemonSet(), cronJob(), job(), rollout(), deploymentConfig(), knativeService(), cloneSet(), advancedStatefulSet(), advancedDaemonSet()}
	for _, a := range added {
		if i := all.indexOf(a.Group, a.Kind); i >= 0 {
			all[i].Resource.Version, all[i].Use = a.Version, Always
			continue
		}
		all = append(all, a.kind())
	}
	for i := range all {
		all[i].among = all
	}
	return all
}

func (s Set) indexOf(group, kind string) int {
	return slices.IndexFunc(s, func(k Kind) bool { return k.Resource.Group == group && k.Object().Kind == kind })
}

// Named finds a kind by its name.
func (s Set) Named(name string) (Kind, bool) {
	i := slices.IndexFunc(s, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return s[i], true
}

// Labeled finds a kind by its Label.
func (s Set) Labeled(label string) (Kind, bool) {
	i := slices.IndexFunc(s, func(k Kind) bool { return k.Label() == label })
	if i < 0 {
		return Kind{}, false
	}
	return s[i], true
}

// Of finds the kind of an object.
func (s Set) Of(group, kind string) (Kind, bool) {
	i := s.indexOf(group, kind)
	if i < 0 {
		return Kind{}, false
	}
	return s[i], true
}

// Read returns what is kept of an object.
func (k Kind) Read(obj runtime.Object, names annotations.Names) (workload.Workload, error) {
	parts, err := k.Parts(obj)
	if err != nil {
		return workload.Workload{}, err
	}
	w := workload.New(k.Kind, parts.Meta, parts.Selector, parts.Template, names)
	w.Generation = parts.Meta.Generation
	if parts.TemplateOwner != nil {
		w.UseTemplateOf(*parts.TemplateOwner, IsTemplateOwner(*parts.TemplateOwner), names)
		w.Generation = parts.Observed
	}
	w.Parent = k.among.parentOf(parts.Meta)
	w.APIVersion = k.Resource.GroupVersion().String()
	w.Marks.RestartAt, w.SelectorGuessed = parts.RestartAt, parts.SelectorGuessed
	w.Progress, w.Runs = parts.Progress, parts.Runs
	switch {
	case parts.LeftAlone != "":
		w.Policy, w.LeftAlone = policy.NoPolicy(), parts.LeftAlone
	case parts.Ended:
		w.Policy = w.Policy.ByItself()
	}
	if k.Pausable {
		w.Pause = workload.ReadPause(parts.Meta, parts.Progress.Paused, names)
		w.Progress.Held = w.Pause.Ours()
	}
	w.RolledOut, w.Unobserved, w.Shape = parts.RolledOut, parts.Unobserved, parts.Shape
	return w, nil
}
