// Package inspect explains what the controller would decide, and why, from the objects that a user
// may read. It reads the cluster once, as the controller does at its start. It writes nothing.
package inspect

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Objects are the objects that were read, reduced to what is needed. The data of a Secret is hashed
// on arrival.
type Objects struct {
	settings   *Settings
	workloads  map[workload.Key]workload.Workload
	sources    map[source.Key]source.Source
	namespaces map[string]*rules.Namespace
	// unread has the resources, by their plural, that could not be listed.
	unread map[string]error
	// noDefaults reports whether the annotations of namespaces are unknown.
	noDefaults bool
	// scope is the namespace that was read, empty for all, and foreign has what workloads name outside.
	scope   string
	foreign foreign
	// grants are the ReferenceGrants of manifests, or of a cluster if they count; nil if only the
	// controller has read them.
	grants *grants
	// runs are the Jobs that the controller created for workloads.
	runs map[types.NamespacedName]kinds.OwnRun
	// skipped are objects that could not be decoded.
	skipped map[workload.Key]error
	// places and mistyped are for objects in manifests, by their names in findings.
	places   map[string]*place
	mistyped map[string][]mistyped
	// fieldNotes are those of workloads in manifests, by the same names.
	fieldNotes map[string][]string
	// live has the workloads and the sources of a process that follows the cluster, instead of the
	// maps.
	live *live
}

// NewObjects returns an empty set, to be filled with the settings of a controller.
func NewObjects(s *Settings) *Objects {
	o := &Objects{
		settings:  s,
		workloads: map[workload.Key]workload.Workload{}, sources: map[source.Key]source.Source{},
		namespaces: map[string]*rules.Namespace{}, unread: map[string]error{}, runs: map[types.NamespacedName]kinds.OwnRun{}, skipped: map[workload.Key]error{},
		places: map[string]*place{}, mistyped: map[string][]mistyped{}, fieldNotes: map[string][]string{},
	}
	o.grants = &grants{sets: map[string]*grant.Set{}, known: []string{""}}
	return o
}

// Put adds an object of any kind that matters here, and ignores others.
func (o *Objects) Put(obj runtime.Object) {
	switch typed := obj.(type) {
	case *corev1.Namespace:
		known := o.settings.Rules.ReadNamespace(&typed.ObjectMeta)
		o.putNamespace(typed.Name, &known)
	case *batchv1.Job:
		if run, ok := kinds.ReadRun(typed); ok {
			o.runs[types.NamespacedName{Namespace: typed.Namespace, Name: typed.Name}] = run
		}
		if !kinds.IsCopy(typed) {
			o.putWorkload(obj)
		}
	default:
		if !o.putSource(obj) && !o.putGrant(obj) {
			o.putWorkload(obj)
		}
	}
}

// putSource returns false for an object that is not a source.
func (o *Objects) putSource(obj runtime.Object) bool {
	for _, k := range kubeapi.SourceKinds() {
		src, ok := k.Read(obj, o.settings.Key, o.settings.Rules.Names)
		head, labeled := obj.(metav1.Object)
		if ok && labeled {
			src = o.settings.Rules.Select(src, head.GetLabels())
			switch {
			case o.live == nil:
				o.sources[src.Key] = src
			case o.settings.Rules.ReadsSource(src.Key.Kind):
				o.live.state.PutSource(src, false)
			}
			return true
		}
	}
	return false
}

func (o *Objects) putWorkload(obj runtime.Object) {
	kind, ok := o.kindOf(obj)
	if !ok {
		return
	}
	head, err := meta.Accessor(obj)
	if err != nil {
		return // only a type without metadata fails
	}
	key := workload.Key{Kind: kind.Name, Namespace: head.GetNamespace(), Name: head.GetName()}
	w, err := o.settings.Rules.Read(kind, obj)
	if err != nil {
		o.deleteWorkload(key)
		o.skipped[key] = err
		return
	}
	delete(o.skipped, key)
	if o.live != nil {
		o.live.putWorkload(w, o.settings.reads(key.Kind))
		return
	}
	o.workloads[key] = w
}

// addRuns adds the Jobs that the controller created to the status of a workload.
func (o *Objects) addRuns(w *workload.Workload) {
	if w.Runs == nil {
		return
	}
	w.Runs = kinds.WithOwn(w.Runs, w.UID, func(yield func(kinds.OwnRun) bool) {
		for _, run := range o.runsOf(w.Key) {
			// Without the key, the signature cannot be checked.
			if run = run.SignedBy(o.settings.Key); o.settings.Key.ID() == "" {
				run.Signed = true
			}
			if run.Of == w.Key && !yield(run) {
				return
			}
		}
	})
}

// runsOf returns the runs that may be those of a workload.
func (o *Objects) runsOf(key workload.Key) []kinds.OwnRun {
	if o.live != nil && o.live.runs != nil {
		return o.live.runs(key)
	}
	return slices.Collect(maps.Values(o.runs))
}

// Skipped explains each object that could not be decoded, except for those that the controller does
// not reconcile.
func (o *Objects) Skipped() []string {
	var all []string
	for key, err := range o.skipped {
		if o.settings.passesOver(o, key) == "" {
			all = append(all, oneLine("Could not "+err.Error()))
		}
	}
	slices.Sort(all)
	return all
}

// kindOf returns the kind from the kind field of the object, or from its type, because the items of
// a list have no kind field.
func (o *Objects) kindOf(obj runtime.Object) (kinds.Kind, bool) {
	said := obj.GetObjectKind().GroupVersionKind()
	if kind, ok := o.settings.Rules.Kinds.Of(said.Group, said.Kind); ok {
		return kind, true
	}
	for _, kind := range o.settings.Rules.Kinds {
		if _, err := kind.Parts(obj); said.Kind == "" && err == nil {
			return kind, true
		}
	}
	return kinds.Kind{}, false
}

// parentOf returns the workload that created this one, if it exists.
func (o *Objects) parentOf(key workload.Key) (workload.Key, bool) {
	w, _ := o.workload(key)
	return w.RolledOwner(func(parent workload.Key) (types.UID, bool) {
		known, ok := o.workload(parent)
		return known.UID, ok && o.settings.reads(parent.Kind)
	})
}

// Delete removes an object.
func (o *Objects) Delete(resource string, name types.NamespacedName) {
	for _, kind := range o.settings.Rules.Kinds {
		if kind.Label() == resource {
			key := workload.Key{Kind: kind.Name, Namespace: name.Namespace, Name: name.Name}
			o.deleteWorkload(key)
			delete(o.skipped, key)
		}
	}
	if resource == kinds.Jobs().Resource.Resource {
		delete(o.runs, name)
	}
	for _, kind := range sourceKinds() {
		if kind.Resource() == resource {
			o.deleteSource(source.Key{Kind: kind, Namespace: name.Namespace, Name: name.Name})
		}
	}
}

func (o *Objects) deleteWorkload(key workload.Key) {
	if o.live != nil {
		o.live.deleteWorkload(key)
	}
	delete(o.workloads, key)
}

func (o *Objects) deleteSource(key source.Key) {
	if o.live != nil {
		o.live.state.DeleteSource(key, reload.Departure{})
	}
	delete(o.sources, key)
}

// Keep removes the objects of a resource that are not in the list.
func (o *Objects) Keep(resource string, named map[types.NamespacedName]struct{}) {
	if o.live != nil {
		o.keepLive(resource, named)
	}
	for key := range o.workloads {
		o.keep(resource, types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, named)
	}
	for key := range o.skipped {
		o.keep(resource, types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, named)
	}
	for name := range o.runs {
		o.keep(resource, name, named)
	}
	for key := range o.sources {
		if o.outside(key.Namespace) {
			continue
		}
		o.keep(resource, types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, named)
	}
}

func (o *Objects) keep(resource string, name types.NamespacedName, named map[types.NamespacedName]struct{}) {
	if _, ok := named[name]; !ok {
		o.Delete(resource, name)
	}
}

// sourceKinds returns the kinds of sources whose objects are read.
func sourceKinds() []source.Kind {
	var all []source.Kind
	for _, k := range kubeapi.SourceKinds() {
		all = append(all, k.Kind)
	}
	return all
}

// isSource reports whether the objects of a resource are sources.
func isSource(resource string) bool { return slices.Contains(SourceResources(), resource) }

// Pod is a running Pod.
type Pod struct {
	reload.StartedPod
	Labels labels.Set

	running rollout.Pod
	// owners is the only part of the object that is kept.
	owners corev1.Pod
}

// readPod returns the needed fields of a Pod. It returns false if the Pod has ended or is being
// deleted.
func readPod(pod *corev1.Pod, names annotations.Names) (Pod, bool) {
	return Pod{
		StartedPod: reload.ReadStart(pod), Labels: pod.Labels,
		running: rollout.ReadPod(pod, names), owners: corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: pod.OwnerReferences}},
	}, workload.PodRuns(pod)
}

// Pods returns the Pods of a namespace that have not ended and are not being deleted.
type Pods func(namespace string) ([]Pod, error)

// podsOf returns the Pods that match the selector of a workload.
func podsOf(w *workload.Workload, in Pods) ([]Pod, error) {
	if !w.Selects() {
		return nil, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil {
		return nil, err
	}
	all, err := in(w.Key.Namespace)
	var found []Pod
	for _, pod := range all {
		if selector.Matches(pod.Labels) {
			found = append(found, pod)
		}
	}
	return found, err
}

// Settings returns the settings that the objects were read with.
func (o *Objects) Settings() *Settings { return o.settings }

// listed returns the number of kinds of workloads that the controller reads and the user may list.
func (o *Objects) listed() int {
	n := 0
	for _, kind := range o.settings.Rules.Kinds {
		if o.unread[kind.Label()] == nil && o.settings.reads(kind.Name) && !kind.Custom {
			n++
		}
	}
	return n
}

// Unread returns the resources that may not be listed, except those that the controller does not
// read either.
func (o *Objects) Unread() []string {
	var all []string
	for _, resource := range slices.Sorted(maps.Keys(o.unread)) {
		if slices.ContainsFunc(o.settings.Rules.Kinds, func(k kinds.Kind) bool { return k.Label() == resource && !o.settings.reads(k.Name) }) {
			continue
		}
		if !slices.ContainsFunc(o.settings.Rules.IgnoredSources, func(k source.Kind) bool { return k.Resource() == resource }) {
			all = append(all, resource)
		}
	}
	return all
}
