package simapi

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pods is the part of a cluster that makes pods of templates: the controllers of the workloads and
// the kubelets. Each call of Step moves one workload by one pod.
type Pods struct {
	server *Server
	// Nodes is how many pods a DaemonSet has.
	Nodes int

	templates map[types.UID][]corev1.PodTemplateSpec
	// numbered is, by workload, what follows from the template of a generation: the template cannot
	// change within one.
	numbered  map[types.UID]numbered
	revisions map[types.UID][]revision
	started   map[types.UID]map[Source]string
	names     int
	// driver mounts what pods wait for; nil where nothing is.
	driver *Driver
}

type numbered struct {
	generation int64
	revision   string
	needs      map[Source]bool
}

// NewPods returns one without pods.
func NewPods(s *Server, nodes int) *Pods {
	return &Pods{
		server:    s,
		Nodes:     nodes,
		templates: map[types.UID][]corev1.PodTemplateSpec{},
		numbered:  map[types.UID]numbered{},
		revisions: map[types.UID][]revision{},
		started:   map[types.UID]map[Source]string{},
	}
}

const revisionLabel = "revision"

// Of returns the pods of a workload, those that are about to end as well.
func (p *Pods) Of(w Object) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, obj := range p.server.kept["pods"] {
		if pod := obj.(*corev1.Pod); pod.OwnerReferences[0].UID == w.GetUID() {
			pods = append(pods, pod)
		}
	}
	// Their names have numbers of one length, so the oldest comes first.
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// Absent is the content of a source that was not there when a pod was started that can do without
// it.
const Absent = "(absent)"

// Content is what a pod was started with of each source it refers to; false until it has started.
func (p *Pods) Content(pod *corev1.Pod) (map[Source]string, bool) {
	content, ok := p.started[pod.UID]
	return content, ok
}

// Current reports whether a pod was made of the template that a workload has now.
func (p *Pods) Current(w Object, pod *corev1.Pod) bool {
	return pod.Labels[revisionLabel] == p.revision(w)
}

// revision numbers the different templates of a workload. One that comes back gets its old number,
// as it gets its old ReplicaSet or ControllerRevision in a cluster.
func (p *Pods) revision(w Object) string { return p.of(w).revision }

func (p *Pods) of(w Object) numbered {
	known, ok := p.numbered[w.GetUID()]
	if !ok || known.generation != w.GetGeneration() {
		known = numbered{w.GetGeneration(), p.number(w), Needs(w)}
		p.numbered[w.GetUID()] = known
	}
	return known
}

func (p *Pods) number(w Object) string {
	t, _ := template(w)
	known := p.templates[w.GetUID()]
	for i := range slices.Backward(known) {
		if equality.Semantic.DeepEqual(&known[i], t) {
			return number(i)
		}
	}
	p.templates[w.GetUID()] = append(known, *t)
	return number(len(known))
}

func number(i int) string { return strconv.Itoa(i + 1) }

// Step does the next thing there is to do for a workload, and returns false if there is nothing, or
// if it waits for a source that does not exist. A workload that is gone loses its pods.
func (p *Pods) Step(w Object) bool {
	p.keepRevision(w)
	pods := p.Of(w)
	if p.tellStatus(w, pods) {
		return true
	}
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			_ = p.server.Delete("pods", nameOf(pod))
			return true
		}
	}
	revision := p.revision(w)
	var old, current []*corev1.Pod
	waiting := false
	for _, pod := range pods {
		switch _, started := p.started[pod.UID]; {
		case pod.Labels[revisionLabel] != revision:
			old = append(old, pod)
		case started:
			current = append(current, pod)
		case p.start(w, pod):
			p.server.editStatus(pod, "kubelet", p.run)
			current = append(current, pod)
		default:
			current, waiting = append(current, pod), true
		}
	}
	want := p.replicas(w)
	_, surges := w.(*appsv1.Deployment)
	switch {
	case len(old) > 0 && len(pods) <= want && paused(w):
		return false // a real one would still replace those that are lost, by old ones
	case len(pods) > want && len(old) > 0 && (!waiting || len(pods) > want+1):
		p.end(old[0])
	case len(pods) > want && len(old) == 0:
		p.end(current[len(current)-1])
	case len(pods) < want:
		p.create(w, revision)
	case len(old) == 0 || waiting:
		return false
	case surges:
		p.create(w, revision)
	default:
		p.end(old[0])
	}
	return true
}

func paused(w Object) bool {
	d, ok := w.(*appsv1.Deployment)
	return ok && d.Spec.Paused
}

// Clean removes one pod or Job whose workload is gone, and returns false if there is none.
func (p *Pods) Clean() bool {
	for _, obj := range slices.Concat(p.server.List("pods"), p.server.List("jobs")) {
		if len(obj.GetOwnerReferences()) == 0 {
			continue
		}
		owner := obj.GetOwnerReferences()[0]
		w, err := p.server.Get(plural(owner.Kind), types.NamespacedName{Namespace: obj.GetNamespace(), Name: owner.Name})
		if err != nil || w.GetUID() != owner.UID {
			return p.server.Delete(ResourceOf(obj), nameOf(obj)) == nil
		}
	}
	return false
}

// Evict ends one pod, as a node that is drained does. One that has run to its end is left there.
func (p *Pods) Evict(pod *corev1.Pod) {
	if !Over(pod) {
		p.end(pod)
	}
}

func (p *Pods) end(pod *corev1.Pod) {
	now := p.server.second()
	_, _ = p.server.Edit("pods", nameOf(pod), "kubelet", func(obj Object) { obj.SetDeletionTimestamp(&now) })
}

func (p *Pods) create(w Object, revision string) {
	if made, ok := p.make(w, revision); ok && p.start(w, made) {
		p.server.editStatus(made, "kubelet", p.run)
	}
}

// make makes a pod, which has not started.
func (p *Pods) make(w Object, revision string) (*corev1.Pod, bool) {
	t, _ := template(w)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.GetNamespace(),
		Name:      p.name(w),
		Labels:    maps.Clone(t.Labels), Annotations: maps.Clone(t.Annotations),
		OwnerReferences: []metav1.OwnerReference{{
			Kind: kindOf(w), Name: w.GetName(), UID: w.GetUID(), Controller: new(true),
		}},
	}, Spec: *t.Spec.DeepCopy()}
	pod.Spec.NodeName = "node"
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[revisionLabel] = revision
	made, err := p.server.Create(pod, "kube-controller-manager")
	if err != nil {
		return nil, false
	}
	return made.(*corev1.Pod), true
}

// run is what the status of a pod shows whose container has started.
func (p *Pods) run(obj Object) {
	pod := obj.(*corev1.Pod)
	for range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(p.server.Now())}},
		})
	}
}

// start gives a pod the content of its sources, if all of them exist that it cannot do without. It
// may only be called while the workload still has the template that the pod was made of.
func (p *Pods) start(w Object, pod *corev1.Pod) bool {
	if p.driver != nil && !p.driver.hasMounted(pod) {
		return false
	}
	content := map[Source]string{}
	for src, needed := range p.of(w).needs {
		present, exists := p.server.Content(pod.Namespace, src)
		switch {
		case exists:
			content[src] = present
		case needed:
			return false
		default:
			content[src] = Absent
		}
	}
	p.started[pod.UID] = content
	return true
}

func (p *Pods) replicas(w Object) int {
	switch o := w.(type) {
	case *appsv1.Deployment:
		return int(*o.Spec.Replicas)
	case *appsv1.StatefulSet:
		return int(*o.Spec.Replicas)
	default:
		return p.Nodes
	}
}

func kindOf(w Object) string {
	switch w.(type) {
	case *appsv1.Deployment:
		return "Deployment"
	case *appsv1.StatefulSet:
		return "StatefulSet"
	case *batchv1.Job:
		return "Job"
	default:
		return "DaemonSet"
	}
}

func plural(kind string) string { return strings.ToLower(kind) + "s" }
