// Package kinds defines the kinds of workload: the path of their pod template, how they are marked,
// and how their Pods restart. A kind of Kubernetes or of Argo Rollouts is a file. Kinds of other
// projects are in third_party.go, kinds that a user adds in user_added.go.
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

// Kind is one kind of workload. The API server may not serve a custom kind, whose objects are read
// as JSON.
type Kind struct {
	// Its name is the kind of its objects, followed by the group if the kind alone is ambiguous.
	workload.Kind

	// Resource has no plural if only discovery knows it.
	Resource schema.GroupVersionResource
	NewList  func() runtime.Object
	// Title is the usual name of a custom kind.
	Title string
	// Use is whether the kind is watched.
	Use Use
	// Template is the path of the pod template.
	Template []string
	// HasWorkloadRef reports whether its objects may use the pod template of another object, in
	// spec.workloadRef.
	HasWorkloadRef bool
	// between are the kinds between the workload and its Pods.
	between between

	Adapter
	among Set
}

// Object is the kind of its objects.
func (k Kind) Object() schema.GroupVersionKind {
	return k.Resource.GroupVersion().WithKind(workload.Key{Kind: k.Name}.Object())
}

// Label is the plural of its objects, made unique; the name if the plural is unknown.
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

// Adapter contains the operations of each kind.
type Adapter interface {
	// Parts returns the relevant parts of an object.
	Parts(obj runtime.Object) (Parts, error)
	// Patch writes a ledger, and the changes of a reload unless m is nil, in one request.
	Patch(w *workload.Workload, ledger string, m *workload.Marking, names annotations.Names) (Patch, error)
}

// Runner contains the operations of kinds that run to completion: a reload creates a Job.
type Runner interface {
	// Run returns the Job of a reload. The Job is held until the ledger records it. Otherwise it
	// could end, be cleaned up, and be created again by a controller that finds neither.
	Run(obj runtime.Object, w *workload.Workload, ledger ledger.Ledger, m *workload.Marking, names annotations.Names) (*batchv1.Job, error)
}

// Parts are the parts of a workload that decisions need.
type Parts struct {
	Meta     *metav1.ObjectMeta
	Selector *metav1.LabelSelector
	// SelectorGuessed reports that the object does not contain the labels of its Pods.
	SelectorGuessed bool
	Template        *corev1.PodTemplateSpec
	// RolledOut reports whether the status shows no rollout in progress. Unobserved reports that
	// the status has no generation, so that it may be about the previous template.
	RolledOut, Unobserved bool
	Progress              workload.Progress
	// Runs is nil for kinds whose Pods run all the time.
	Runs *workload.Runs
	// TemplateOwner is the object of the same namespace that spec.workloadRef names, nil without
	// one. Observed is the generation of that object that the status is about.
	TemplateOwner *workload.Key
	Observed      int64
	// LeftAlone is why the workload must not be reloaded, regardless of its annotations. Ended
	// reports that it has run, so that only its own annotations let it run again.
	LeftAlone string
	Ended     bool
	// RestartAt is the value of the field that restarts the Pods.
	RestartAt string
	// Shape is nil for kinds whose lists merge by name.
	Shape *workload.Shape
}

// Set is a list of all kinds.
type Set []Kind

// All returns the kinds that Reroll knows, and the kinds that a user has added. A further one also needs
// permissions in the chart, and a place in its admission policy: docs/contributing/adding-a-kind.md.
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

// Read reads an object.
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
		w.Progress.PausedByReroll = w.Pause.Ours()
	}
	w.RolledOut, w.Unobserved, w.Shape = parts.RolledOut, parts.Unobserved, parts.Shape
	return w, nil
}
