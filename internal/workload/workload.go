// Package workload reads objects with a pod template: their references, the progress of their
// rollout, the tool that applies them, and their marks. It does not know the data of their sources.
package workload

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// optedInAt is the newest time of a field manager that owns an annotation that selects sources, on
// a workload or its pod template. A manager has one time for all its fields, so the annotations may
// be older.
func optedInAt(meta *metav1.ObjectMeta, template map[string]string, names annotations.Names) (newest time.Time) {
	for _, key := range names.Asking() {
		_, own := meta.Annotations[key]
		if _, below := template[key]; !own && !below {
			continue
		}
		if at := source.LastWrite(meta, key); at.After(newest) {
			newest = at
		}
	}
	return newest
}

// Restarts reports whether the user wants the Pods restarted, without a change of the template.
func (w *Workload) Restarts() bool {
	return w.Restartable && w.Policy.RolloutStrategy() == policy.RolloutRestart
}

// MadeBy reports whether a Pod belongs to the workload, and does not only have its labels.
func (w *Workload) MadeBy(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	switch {
	case owner == nil:
		return false
	case owner.UID == w.UID:
		return true
	case w.Custom && !w.Restartable:
		return true // the kinds between them are unknown
	default:
		return owner.Kind == "ReplicaSet" && w.Key.Kind != "StatefulSet" && w.Key.Kind != "DaemonSet"
	}
}

// PodRuns reports whether a Pod has neither ended nor is terminating. The data of such a Pod does
// not matter any more.
func PodRuns(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// Key identifies a workload in a cluster. It is comparable.
type Key struct {
	Kind      string
	Namespace string
	Name      string
}

// String returns the key in the form "Deployment shop/web".
func (k Key) String() string {
	return k.Kind + " " + k.Namespace + "/" + k.Name
}

// Object is the kind of its objects, without the API group after the first dot.
func (k Key) Object() string {
	kind, _, _ := strings.Cut(k.Kind, ".")
	return kind
}

// Parent is a workload that owns others, and reverts changes of them.
type Parent struct {
	Key Key
	// UID is empty if only its name is known.
	UID types.UID
}

// RolledOwner returns the workload that is rolled instead of this one, because it owns this one and
// reverts changes of it. Find returns the UID of a known workload.
func (w *Workload) RolledOwner(find func(Key) (types.UID, bool)) (Key, bool) {
	if w.Parent == nil {
		return Key{}, false
	}
	uid, known := find(w.Parent.Key)
	return w.Parent.Key, known && w.Parent.Is(uid)
}

// Is reports whether an object of that name is the parent.
func (p *Parent) Is(uid types.UID) bool { return p.UID == "" || p.UID == uid }

// Kind contains the properties of a kind that decisions need.
type Kind struct {
	Name string
	// Custom reports whether its lists are replaced as a whole, as for all kinds of a
	// CustomResourceDefinition.
	Custom bool
	// Restartable reports whether it has a field that restarts its Pods without a change of the
	// template.
	Restartable bool
	// Pausable reports whether it has a field that pauses its rollouts.
	Pausable bool
}

// Workload contains the parts of an object with a pod template that decisions need. It has many
// fields because the object itself is not kept in memory.
type Workload struct {
	Key Key
	// APIVersion is the apiVersion of the kind, for references to the object.
	APIVersion      string
	UID             types.UID
	ResourceVersion string
	Created         time.Time
	Deleting        bool
	// Custom, Restartable and Pausable are those of its kind. A workload whose template others use
	// is not pausable: pausing it would not hold their Pods.
	Custom, Restartable, Pausable bool
	Pause                         Pause
	// RolledOut reports whether all of its Pods have the current template. Unobserved reports that
	// this may be about the previous template, because its status has no observed generation.
	RolledOut, Unobserved bool
	Progress              Progress
	// Runs is nil for a workload whose Pods run all the time.
	Runs *Runs
	Tool Tool
	// Stamped reports whether its pod template has a stamp. The stamp itself is not used, because
	// it is no evidence of the data of Pods (docs/adr/0008-a-stamp-is-no-evidence.md).
	Stamped bool

	// References are the references of the pod template, sorted.
	References []Reference
	// Containers are the names of the regular containers, in the order of the
	// template.
	Containers []string
	// Template is a digest of the pod template without our marks.
	Template digest.Digest
	// Selector matches its Pods. SelectorGuessed reports that the object has none, so that it may
	// match other Pods, or none.
	Selector        *metav1.LabelSelector
	SelectorGuessed bool
	Policy          policy.Policy
	// OptedInAt is the earliest time since which its annotations provably have their values; zero
	// if nothing proves one.
	OptedInAt time.Time
	// KeysAt is since when the keys that count are provably chosen: mostly, when the annotation for
	// that was last written; zero if nothing shows it.
	KeysAt   time.Time
	Mistakes []annotations.Mistake
	// LeftAlone is why no source concerns it regardless of its annotations, empty if one can.
	LeftAlone string
	// ifAll are the additional mistakes if workloads are opted in by default.
	ifAll []annotations.Mistake
	// TemplateOwner is the object whose pod template this workload uses; nil if it has its own.
	TemplateOwner *Key
	// Generation grows with each change of the spec. For a workload that uses the template of
	// another object, it is the generation of that object that it has observed.
	Generation int64
	// Owner is the object whose controller made this one, empty without any.
	Owner string
	// Parent is the same object if it is of a kind that is rolled, else nil.
	Parent *Parent
	// Declared contains the parts of its manifest that would remove marks.
	Declared Declared
	// Shape is nil where lists merge by name.
	Shape *Shape

	// LedgerText is the ledger annotation of the object, empty without one.
	LedgerText string
	// Ledgers remembers how ledgers are read; nil if each is read anew.
	Ledgers *ledger.Memo
	Marks   Marks
}

// New reads an object with a pod template. The result shares no memory with the template except
// strings.
func New(kind Kind, meta *metav1.ObjectMeta, selector *metav1.LabelSelector, template *corev1.PodTemplateSpec, names annotations.Names) Workload {
	w := Workload{
		Key:             Key{Kind: kind.Name, Namespace: meta.Namespace, Name: meta.Name},
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
		LedgerText:      meta.Annotations[annotations.Ledger],
		Marks:           MarksOf(template.Annotations, &template.Spec, names),
	}
	w.Marks.Writers, w.Marks.Appliers = markWriters(meta.ManagedFields, names)
	w.Marks.ByReloader = byReloader(meta.ManagedFields, names)
	policy, refused := policy.Parse(meta.Annotations, template.Annotations, names)
	refused = append(refused, ownNamespace(&policy, meta.Namespace, names)...)
	w.Policy, w.Mistakes = policy, mistakesOf(kind, meta.Annotations, template.Annotations, refused, names)
	w.OptedInAt = optedInAt(meta, template.Annotations, names)
	if _, chosen := meta.Annotations[annotations.Keys]; chosen || template.Annotations[annotations.Keys] != "" {
		w.KeysAt = source.LastWrite(meta, annotations.Keys)
	}
	w.ifAll = searchesIfAll(policy, meta.Annotations, template.Annotations, names)
	for i := range template.Spec.Containers {
		w.Containers = append(w.Containers, template.Spec.Containers[i].Name)
	}
	return w
}

// templateDigest excludes the marks of reloads by any client: two templates that differ only in
// marks start the same Pods.
func templateDigest(template *corev1.PodTemplateSpec, names annotations.Names) digest.Digest {
	plain := *template
	for _, mark := range []string{annotations.Rolled, names.LastReloadedFrom} {
		if _, marked := plain.Annotations[mark]; marked {
			plain.Annotations = maps.Clone(plain.Annotations)
			delete(plain.Annotations, mark)
		}
	}
	cloned := false
	for i := range plain.Spec.Containers {
		if !slices.ContainsFunc(plain.Spec.Containers[i].Env, isMark) {
			continue
		}
		if !cloned {
			plain.Spec.Containers, cloned = slices.Clone(plain.Spec.Containers), true
		}
		container := &plain.Spec.Containers[i]
		container.Env = slices.DeleteFunc(slices.Clone(container.Env), isMark)
	}
	// As the API server stores it: maps are sorted, and it takes a third of the time of JSON.
	size := plain.Size()
	b := slices.Grow(digest.Beginning('t'), size)
	_, _ = plain.MarshalToSizedBuffer(b[len(b) : len(b)+size]) // API types always marshal
	return b[:len(b)+size].Digest()
}

// Reference returns how the pod template references a source, if it does.
func (w *Workload) Reference(key source.LocalKey) (Reference, bool) {
	i, found := slices.BinarySearchFunc(w.References, key, func(r Reference, k source.LocalKey) int {
		return source.CompareLocalKeys(r.Key, k)
	})
	if !found {
		return Reference{}, false
	}
	return w.References[i], true
}

// Selecting is a digest of what decides which sources concern the workload, apart from the sources
// themselves; zero if it selects none by their labels.
func (w *Workload) Selecting(autoReloadAll bool) digest.Digest {
	texts := w.Policy.Texts(autoReloadAll)
	if texts == nil {
		return digest.Digest{}
	}
	if w.Policy.ReferencesCount(autoReloadAll) {
		for _, ref := range w.References {
			texts = append(texts, ref.Key.String())
		}
	}
	e := digest.NewEncoder(sha256.New())
	e.Begin('w')
	for _, text := range texts {
		e.Text(text)
	}
	return digest.Digest(e.Sum(nil)[:len(digest.Digest{})])
}

// Verdict reports whether a source concerns the workload, and why.
func (w *Workload) Verdict(src source.Key, ann source.Annotations, autoReloadAll bool) policy.Verdict {
	_, refers := w.Reference(src.Local())
	return w.Policy.Verdict(src, ann, refers, autoReloadAll)
}

// Revision is a digest of the pod template, marks included. Pods of one revision are alike, and a
// workload that returns to an earlier revision keeps its Pods.
func (w *Workload) Revision() digest.Digest { return Revision(w.Template, w.Marks) }

// Revision is a digest of a whole pod template: of its part without marks, and of the marks.
func Revision(template digest.Digest, marks Marks) digest.Digest {
	all := marks.Digest()
	return append(append(digest.Beginning('r'), template[:]...), all[:]...).Digest()
}

// CompareKeys orders workloads by namespace, kind and name.
func CompareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}
