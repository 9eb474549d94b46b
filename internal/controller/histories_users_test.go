package controller

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

// users are all clients that change the cluster and know nothing of the controller.
type users struct {
	h *history
	// values counts the values in sources, so that no value is repeated by accident.
	values int
	// before has the earlier data of sources, for users who restore it.
	before map[simapi.Source][]simapi.Object
	// saved has the annotations of deleted workloads, for users who restore a backup.
	saved map[string]map[string]string
	// keepers are the tools that manage sources.
	keepers map[simapi.Source]keeper
	// stored has the earlier objects of the provider of a class.
	stored map[string]map[string]string
}

func newUsers(h *history) users {
	return users{
		h: h, before: map[simapi.Source][]simapi.Object{}, saved: map[string]map[string]string{}, keepers: drawKeepers(h.seed),
		stored: map[string]map[string]string{},
	}
}

const namespace = "shop"

func inShop(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func plural(kind string) string { return strings.ToLower(kind) + "s" }

func versionOf(obj metav1.Object) uint64 {
	v, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64) // the server counts
	return v
}

// workload is the initial state of a workload.
type drawnWorkload struct {
	resource, name string
	sources        []int
	annotations    map[string]string
}

func workloads() []drawnWorkload {
	names := annotations.DefaultNames()
	auto := map[string]string{names.Auto: "true"}
	return []drawnWorkload{
		{"deployments", "web", []int{0, 2}, auto},
		{"deployments", "api", []int{0, 1, 3}, map[string]string{names.ConfigMap: "settings, routes", names.Secret: "cert"}},
		{"statefulsets", "db", []int{1, 2}, auto},
		{"daemonsets", "agent", []int{0, 1, 3}, map[string]string{names.ConfigMapAuto: "true", names.SecretAuto: "true"}},
	}
}

// settleIn creates the cluster before the controller is installed: Pods run, and some data has
// changed without a rollout.
func (u *users) settleIn() {
	h := u.h
	if h.inNamespace {
		u.createNamespace()
	}
	for _, src := range sources() {
		u.createSource(src)
	}
	switch h.kind {
	case "":
		for _, w := range workloads() {
			u.createWorkload(w)
		}
	case classKind:
		u.settleClasses()
	case cronJobKind:
		for _, w := range cronJobs() {
			u.createCronJob(w)
		}
	default:
		for _, w := range jobs() {
			u.createJob(w)
		}
	}
	for range 60 {
		h.stepPods()
	}
	h.elapse(time.Minute)
	u.editSource(u.source())
	h.elapse(time.Duration(2+h.rand.IntN(8)) * time.Second)
	h.oracle.installed()
}

func (u *users) workload() drawnWorkload { return workloads()[u.h.rand.IntN(len(workloads()))] }

func (u *users) manager() string {
	return []string{"kubectl-edit", "helm", "terraform"}[u.h.rand.IntN(3)]
}

func (h *history) workloads() []simapi.Object {
	return slices.Concat(h.server.List("deployments"), h.server.List("statefulsets"), h.server.List("daemonsets"))
}

func (u *users) createWorkload(w drawnWorkload) bool {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: w.name, Annotations: maps.Clone(w.annotations)}
	var below map[string]string
	if saved := u.saved[w.name]; saved != nil && u.h.rand.IntN(2) == 0 {
		meta.Annotations = maps.Clone(saved)
	} else if (u.h.optInLate || u.h.all != allNever) && u.h.rand.IntN(2) == 0 {
		meta.Annotations = map[string]string{}
	} else if u.below() {
		meta.Annotations, below = map[string]string{}, meta.Annotations
	}
	if w.resource == "deployments" && u.h.pauses {
		meta.Annotations[annotations.DefaultNames().PausePeriod] = "20s"
	}
	if u.h.rand.IntN(8) == 0 {
		meta.Labels = map[string]string{"app.kubernetes.io/managed-by": "Helm"}
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": w.name}}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": w.name}, Annotations: below},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app:" + u.value()}, {Name: "side", Image: "side:1"}}},
	}
	for _, i := range w.sources {
		refer(&template, sources()[i], u.optional())
	}
	mountClasses(&template, w.name)
	replicas := new(int32(1 + u.h.rand.IntN(3)))
	var obj simapi.Object
	switch w.resource {
	case "deployments":
		obj = &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: replicas, Selector: selector, Template: template}}
	case "statefulsets":
		obj = &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: replicas, Selector: selector, Template: template}}
	default:
		obj = &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}
	}
	_, err := u.h.server.Create(obj, u.manager())
	return err == nil
}

func (u *users) edit(w drawnWorkload, edit func(obj simapi.Object)) bool {
	before := u.h.server.Version()
	_, err := u.h.server.Edit(w.resource, inShop(w.name), u.manager(), edit)
	return err == nil && u.h.server.Version() > before
}

func (u *users) editTemplate(w drawnWorkload) bool {
	image := "app:" + u.value()
	if u.h.rand.IntN(4) == 0 {
		image = "app:stable" // a template that may have existed before
	}
	return u.edit(w, func(obj simapi.Object) { templateOf(obj).Spec.Containers[0].Image = image })
}

func (u *users) changeReferences(w drawnWorkload) bool {
	src, optional := u.source(), u.optional()
	return u.edit(w, func(obj simapi.Object) {
		refers := simapi.Refers(obj)
		switch {
		case !slices.Contains(refers, src):
			refer(templateOf(obj), src, optional)
		case len(refers) > 1:
			leave(templateOf(obj), src)
		}
	})
}

// unrefer removes the reference of a workload to a source.
func (u *users) unrefer(name string, src simapi.Source) bool {
	w := workloads()[slices.IndexFunc(workloads(), func(w drawnWorkload) bool { return w.name == name })]
	return u.edit(w, func(obj simapi.Object) { leave(templateOf(obj), src) })
}

func (u *users) undo(name string) bool {
	return u.h.pods.Undo(inShop(name), "kubectl-rollout")
}

// editBoth is a release: source and workload change together, in either order.
func (u *users) editBoth(w drawnWorkload) bool {
	obj, err := u.h.server.Get(w.resource, inShop(w.name))
	if err != nil {
		return false
	}
	refers := simapi.Refers(obj)
	src := refers[u.h.rand.IntN(len(refers))]
	first, second := func() bool { return u.editSource(src) }, func() bool { return u.editTemplate(w) }
	if u.h.rand.IntN(2) == 0 {
		first, second = second, first
	}
	did := first()
	u.h.elapse(time.Duration(u.h.rand.IntN(800)) * time.Millisecond)
	return second() || did
}

func (u *users) scale(w drawnWorkload) bool {
	replicas := int32(u.h.rand.IntN(4))
	return u.edit(w, func(obj simapi.Object) {
		switch o := obj.(type) {
		case *appsv1.Deployment:
			o.Spec.Replicas = &replicas
		case *appsv1.StatefulSet:
			o.Spec.Replicas = &replicas
		}
	})
}

func (u *users) evict(w drawnWorkload) bool {
	obj, err := u.h.server.Get(w.resource, inShop(w.name))
	if err != nil {
		return false
	}
	pods := u.h.pods.Of(obj)
	if len(pods) == 0 {
		return false
	}
	u.h.pods.Evict(pods[u.h.rand.IntN(len(pods))])
	return true
}

func (u *users) writeStatus(w drawnWorkload) bool {
	u.values++
	noise := int32(u.values)
	return u.edit(w, func(obj simapi.Object) {
		switch o := obj.(type) {
		case *appsv1.Deployment:
			o.Status.CollisionCount = &noise
		case *appsv1.StatefulSet:
			o.Status.CollisionCount = &noise
		case *appsv1.DaemonSet:
			o.Status.CollisionCount = &noise
		}
	})
}

func annotationsOf(obj metav1.Object) map[string]string {
	annotations := map[string]string{}
	maps.Copy(annotations, obj.GetAnnotations())
	return annotations
}

func (u *users) opt(w drawnWorkload) bool {
	return u.edit(w, func(obj simapi.Object) {
		on := u.where(obj)
		annotations := annotationsOf(on)
		for key, value := range w.annotations {
			if _, in := annotations[key]; in {
				delete(annotations, key)
			} else {
				annotations[key] = value
			}
		}
		on.SetAnnotations(annotations)
	})
}

func (u *users) wipe(w drawnWorkload) bool {
	return u.edit(w, func(obj simapi.Object) {
		ann := maps.Clone(obj.GetAnnotations())
		delete(ann, annotations.Ledger)
		obj.SetAnnotations(ann)
	})
}

func (u *users) deleteWorkload(w drawnWorkload) bool {
	if obj, err := u.h.server.Get(w.resource, inShop(w.name)); err == nil {
		u.saved[w.name] = obj.GetAnnotations()
	}
	return u.h.server.Delete(w.resource, inShop(w.name)) == nil
}

func (u *users) createWorkloadAgain() bool {
	for _, w := range workloads() {
		if _, err := u.h.server.Get(w.resource, inShop(w.name)); err != nil {
			return u.createWorkload(w)
		}
	}
	return false
}
