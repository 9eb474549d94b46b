package reload

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// WorkloadKey identifies a workload in a cluster. It is comparable.
type WorkloadKey struct {
	Kind      string
	Namespace string
	Name      string
}

// String returns the key in the form "Deployment shop/web".
func (k WorkloadKey) String() string {
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// Object is the kind that its objects have: two kinds of that name differ in what
// follows the first dot.
func (k WorkloadKey) Object() string {
	kind, _, _ := strings.Cut(k.Kind, ".")
	return kind
}

// Parent is a workload that makes others, and keeps them as it makes them.
type Parent struct {
	Key WorkloadKey
	// UID is empty where only its name is known.
	UID types.UID
}

// Is tells whether an object of that name is it.
func (p *Parent) Is(uid types.UID) bool { return p.UID == "" || p.UID == uid }

// WorkloadKind is what decisions need to know of a kind.
type WorkloadKind struct {
	Name string
	// Custom tells that tools that apply it replace its lists whole, as those of
	// all kinds that a CustomResourceDefinition describes.
	Custom bool
	// Restartable tells that it has a field that restarts its pods and leaves the
	// template alone.
	Restartable bool
	// Pausable tells that it has a field that holds its rollouts still.
	Pausable bool
}

// Workload is what is kept of an object that owns a pod template: what
// decisions need, and not the object.
type Workload struct {
	Key WorkloadKey
	// APIVersion is that of the kind, for who refers to the object.
	APIVersion      string
	UID             types.UID
	ResourceVersion string
	Created         time.Time
	Deleting        bool
	// Custom, Restartable and Pausable are those of its kind. One whose template
	// others borrow is not pausable: it would hold none of their pods.
	Custom, Restartable, Pausable bool
	Pause                         Pause
	// AtRest tells that all of its pods are of the present template. Unobserved
	// tells that this may be about the one before: its status names no generation.
	AtRest, Unobserved bool
	Progress           Progress
	// Runs is nil for a workload whose pods are to be there all the time.
	Runs *Runs
	Tool Tool
	// Stamped tells that its pod template has a stamp. That is all that is taken from it: what a stamp says of sources is
	// no evidence of what pods have (docs/adr/0008-a-stamp-is-no-evidence.md).
	Stamped bool

	// References are what the pod template refers to, sorted.
	References []Reference
	// Containers are the names of the regular containers, in the order of the
	// template.
	Containers []string
	// Template stands for all of the pod template but our marks.
	Template Digest
	// Selector finds its pods. SelectorGuessed reports that the object names none, so that it may find others, or none.
	Selector        *metav1.LabelSelector
	SelectorGuessed bool
	Policy          Policy
	// AskedAt is the earliest time at which its annotations provably asked for what they ask for; zero if nothing proves one.
	AskedAt  time.Time
	Problems []Problem
	// LeftAlone is why no source concerns it whatever it asks for, empty if one can.
	LeftAlone string
	// ifAll are those that come with --auto-reload-all.
	ifAll []Problem
	// Borrows is the object whose pod template this one uses; nil for one that
	// has its own.
	Borrows *WorkloadKey
	// Generation grows with each change of what the object asks for. Of one that
	// borrows its template it is how much of the lender's it has acted upon.
	Generation int64
	// Owner is the object whose controller made this one, empty without any.
	Owner string
	// Parent is the same object if it is of a kind that is rolled, else nil.
	Parent *Parent
	// Declared is what its manifest says about where marks are put.
	Declared Declared
	// Shape is nil where lists merge by name.
	Shape *Shape

	// LedgerText is the ledger as it stands on the object, empty without one.
	LedgerText string
	Marks      Marks
}

// Marks are the traces of earlier reloads that stand in a pod template, by
// whoever wrote them.
type Marks struct {
	// Env are the variables of the regular containers that look like marks.
	Env []EnvMark
	// ReloadedFrom is the text of the annotation.
	ReloadedFrom string
	// Rolled is the text of the annotation RolledAnnotation.
	Rolled string
	// RestartAt is the time before which all pods are started anew.
	RestartAt string
	// Writers are, by variable or annotation, field managers other than ours, and
	// Appliers those of them that have it in a manifest.
	Writers, Appliers map[string]string
	// ByReloader is when Reloader wrote to the object last, zero if no mark is its.
	ByReloader time.Time
}

// EnvMark is a variable of one container.
type EnvMark struct {
	Container, Variable, Value string
}

// NewWorkload returns what is kept of an object with a pod template. The result
// shares no memory with the template but strings.
func NewWorkload(kind WorkloadKind, meta *metav1.ObjectMeta, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, names Names) Workload {
	w := Workload{
		Key:             WorkloadKey{Kind: kind.Name, Namespace: meta.Namespace, Name: meta.Name},
		Custom:          kind.Custom,
		Restartable:     kind.Restartable,
		Pausable:        kind.Pausable,
		UID:             meta.UID,
		ResourceVersion: meta.ResourceVersion,
		Created:         meta.CreationTimestamp.Time,
		Deleting:        meta.DeletionTimestamp != nil,
		Tool:            toolOf(meta),
		Stamped:         isStamped(template.Annotations),
		Owner:           ownerOf(meta),
		Declared:        declaredIn(meta.Annotations),
		References:      References(&template.Spec),
		Selector:        selector,
		Template:        templateDigest(template, names),
		LedgerText:      meta.Annotations[LedgerAnnotation],
		Marks:           marksOf(template.Annotations, &template.Spec, names),
	}
	w.Marks.Writers, w.Marks.Appliers = markWriters(meta.ManagedFields, names)
	w.Marks.ByReloader = byReloader(meta.ManagedFields, names)
	policy, refused := ParsePolicy(meta.Annotations, template.Annotations, names)
	w.Policy, w.Problems = policy, problemsOf(kind, meta.Annotations, template.Annotations, refused, names)
	w.AskedAt = askedAt(meta, template.Annotations, names)
	w.ifAll = searchesIfAll(policy, meta.Annotations, template.Annotations, names)
	for i := range template.Spec.Containers {
		w.Containers = append(w.Containers, template.Spec.Containers[i].Name)
	}
	return w
}

// marksOf reads the marks of a pod template, or of a pod that was made of one.
func marksOf(annotations map[string]string, spec *corev1.PodSpec, names Names) Marks {
	m := Marks{ReloadedFrom: annotations[names.LastReloadedFrom], Rolled: annotations[RolledAnnotation]}
	for i := range spec.Containers {
		container := &spec.Containers[i]
		for _, env := range container.Env {
			if isMark(env) {
				m.Env = append(m.Env, EnvMark{Container: container.Name, Variable: env.Name, Value: env.Value})
			}
		}
	}
	return m
}

// templateDigest leaves out what a reload puts into a template, whoever did it:
// two templates that differ in nothing else start the same pods.
func templateDigest(template *corev1.PodTemplateSpec, names Names) Digest {
	plain := *template
	plain.Annotations = maps.Clone(template.Annotations)
	delete(plain.Annotations, RolledAnnotation)
	delete(plain.Annotations, names.LastReloadedFrom)
	plain.Spec.Containers = slices.Clone(template.Spec.Containers)
	for i := range plain.Spec.Containers {
		container := &plain.Spec.Containers[i]
		if slices.ContainsFunc(container.Env, isMark) {
			container.Env = slices.DeleteFunc(slices.Clone(container.Env), isMark)
		}
	}
	// As the API server writes it: maps are in order, and it takes a third of the time that JSON takes.
	size := plain.Size()
	b := slices.Grow(beginning('t'), size)
	_, _ = plain.MarshalToSizedBuffer(b[len(b) : len(b)+size]) // API types always can be
	return b[:len(b)+size].digest()
}

func isMark(env corev1.EnvVar) bool { return strings.HasPrefix(env.Name, envPrefix) }

// Reference returns how the pod template refers to a source, if it does.
func (w *Workload) Reference(key LocalKey) (Reference, bool) {
	i, found := slices.BinarySearchFunc(w.References, key, func(r Reference, k LocalKey) int {
		return compareLocalKeys(r.Key, k)
	})
	if !found {
		return Reference{}, false
	}
	return w.References[i], true
}

// Judge tells whether a source concerns the workload, and why.
func (w *Workload) Judge(src SourceKey, ann SourceAnnotations, autoReloadAll bool) Verdict {
	_, refers := w.Reference(src.Local())
	return w.Policy.Judge(src, ann, refers, autoReloadAll)
}

// Revision stands for all of the pod template, marks included: pods of the same
// revision are alike, and a workload that gets an earlier one back keeps the pods
// that it has of it.
func (w *Workload) Revision() Digest { return revision(w.Template, w.Marks) }

func revision(template Digest, marks Marks) Digest {
	all := marks.digest()
	return append(append(beginning('r'), template[:]...), all[:]...).digest()
}
