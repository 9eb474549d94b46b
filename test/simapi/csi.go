package simapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// The resources of the Secrets Store CSI driver.
const (
	ClassGroup     = "secrets-store.csi.x-k8s.io"
	ClassResource  = "secretproviderclasses"
	StatusResource = "secretproviderclasspodstatuses"

	csiDriver  = "secrets-store.csi.k8s.io"
	csiManager = "csi-secrets-store"
)

// Driver is the Secrets Store CSI driver of all nodes, with the provider that it asks. A pod that
// mounts a SecretProviderClass starts when the driver has mounted it. Each call of Step reads the
// provider for one pod, or writes the status of one: what happens in between makes that write a
// late one.
type Driver struct {
	server *Server
	// stores are the versions that the provider has, by class and id.
	stores map[string]map[string]string
	// turns are what pods could be given of a class, in the order in which that came to be.
	turns map[string][]map[string]string
	// read is what was read for a pod and is not in its status yet.
	read  map[mounting]int
	given map[mounting]Given
}

type mounting struct {
	pod   types.UID
	class string
}

// Given is what a pod has of a class: the turn that it has started with, and the present one.
type Given struct{ Started, Present int }

// NewDriver returns one that has mounted nothing, and has the pods wait for it.
func NewDriver(p *Pods) *Driver {
	p.driver = &Driver{
		server: p.server, stores: map[string]map[string]string{}, turns: map[string][]map[string]string{},
		read: map[mounting]int{}, given: map[mounting]Given{},
	}
	return p.driver
}

// NewClass returns a SecretProviderClass that mounts these objects.
func NewClass(namespace, name string, ids []string) Object {
	class := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": ClassGroup + "/v1", "kind": "SecretProviderClass", "spec": map[string]any{"provider": "vault"},
	}}
	class.SetNamespace(namespace)
	class.SetName(name)
	SetIDs(class, ids)
	return class
}

// IDs are the objects that a class mounts.
func IDs(class Object) []string {
	text, _, _ := unstructured.NestedString(class.(*unstructured.Unstructured).Object, "spec", "parameters", "objects")
	return strings.Fields(text)
}

// SetIDs changes those.
func SetIDs(class Object, ids []string) {
	_ = unstructured.SetNestedField(class.(*unstructured.Unstructured).Object, strings.Join(ids, " "), "spec", "parameters", "objects")
}

// Store has the provider hand out a version of an object from now on. What is mounted stays as it
// is.
func (d *Driver) Store(class, id, version string) {
	if d.stores[class] == nil {
		d.stores[class] = map[string]string{}
	}
	d.stores[class][id] = version
}

// Stored is what the provider has now.
func (d *Driver) Stored(class string) map[string]string { return maps.Clone(d.stores[class]) }

// Turn is the versions that pods were given with a turn.
func (d *Driver) Turn(class string, turn int) map[string]string { return d.turns[class][turn] }

// Turns are the versions that pods could be given of a class, in the order in which that came to
// be.
func (d *Driver) Turns(class string) []map[string]string { return d.turns[class] }

// Given is what a pod has of a class; false until it is mounted.
func (d *Driver) Given(pod types.UID, class string) (Given, bool) {
	given, ok := d.given[mounting{pod, class}]
	return given, ok
}

// Mounts lists the classes that a pod mounts.
func Mounts(spec *corev1.PodSpec) []string {
	var classes []string
	for i := range spec.Volumes {
		if csi := spec.Volumes[i].CSI; csi != nil && csi.Driver == csiDriver {
			classes = append(classes, csi.VolumeAttributes["secretProviderClass"])
		}
	}
	return classes
}

// Mount is a volume of a class.
func Mount(class string) corev1.Volume {
	return corev1.Volume{Name: class, VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver: csiDriver, ReadOnly: new(true), VolumeAttributes: map[string]string{"secretProviderClass": class},
	}}}
}

func (d *Driver) hasMounted(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(Mounts(&pod.Spec), func(class string) bool {
		_, ok := d.Given(pod.UID, class)
		return !ok
	})
}

// name is that of the next pod. The statuses of a driver are named by pods, so those of a
// StatefulSet have the same names there again.
func (p *Pods) name(w Object) string {
	if _, same := w.(*appsv1.StatefulSet); !same || p.driver == nil {
		p.names++
		return fmt.Sprintf("%s-%05d", w.GetName(), p.names)
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s-%d", w.GetName(), i)
		if _, err := p.server.Get("pods", types.NamespacedName{Namespace: w.GetNamespace(), Name: name}); err != nil {
			return name
		}
	}
}

// Step does the next thing there is to do for a pod, and returns false if there is nothing. A class
// that does not exist is neither mounted nor rotated.
func (d *Driver) Step(of *corev1.Pod) bool {
	standing, err := d.server.Get("pods", nameOf(of))
	if err != nil || standing.GetUID() != of.UID || standing.GetDeletionTimestamp() != nil || Over(standing) {
		return false
	}
	pod := standing.(*corev1.Pod)
	for _, class := range Mounts(&pod.Spec) {
		key := mounting{pod.UID, class}
		if turn, read := d.read[key]; read {
			delete(d.read, key)
			d.write(pod, class, turn)
			return true
		}
		present, ok := d.present(pod.Namespace, class)
		if !ok {
			continue
		}
		given, mounted := d.given[key]
		if mounted && maps.Equal(d.Turn(class, given.Present), d.Turn(class, present)) {
			continue
		}
		d.read[key] = present
		return true
	}
	return false
}

// present is the turn that a pod would be given now.
func (d *Driver) present(namespace, name string) (turn int, ok bool) {
	class, err := d.server.Get(ClassResource, types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		return 0, false
	}
	versions := map[string]string{}
	for _, id := range IDs(class) {
		versions[id] = d.stores[name][id]
	}
	last := len(d.turns[name]) - 1
	if last >= 0 && maps.Equal(d.turns[name][last], versions) {
		return last, true
	}
	d.turns[name] = append(d.turns[name], versions)
	return last + 1, true
}

// write has the status of a pod say what it has. Over that of an earlier pod of the same name it is
// written, too.
func (d *Driver) write(pod *corev1.Pod, class string, turn int) {
	key := mounting{pod.UID, class}
	given, mounted := d.given[key]
	if !mounted {
		given.Started = turn
	}
	given.Present = turn
	d.given[key] = given
	status := d.status(pod, class, turn)
	if _, err := d.server.Create(status, csiManager); err == nil {
		return
	}
	_, _ = d.server.Edit(StatusResource, nameOf(status), csiManager, func(obj Object) {
		next := obj.(*unstructured.Unstructured)
		next.SetOwnerReferences(status.GetOwnerReferences())
		next.Object["status"] = status.Object["status"]
	})
}

func (d *Driver) status(pod *corev1.Pod, class string, turn int) *unstructured.Unstructured {
	objects := []any{}
	versions := d.Turn(class, turn)
	for _, id := range slices.Sorted(maps.Keys(versions)) {
		objects = append(objects, map[string]any{"id": id, "version": versions[id]})
	}
	status := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": ClassGroup + "/v1", "kind": "SecretProviderClassPodStatus",
		"status": map[string]any{"podName": pod.Name, "secretProviderClassName": class, "mounted": true, "objects": objects},
	}}
	status.SetNamespace(pod.Namespace)
	status.SetName(StatusName(pod, class))
	status.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}})
	return status
}

// StatusName is that of the status of a pod.
func StatusName(pod *corev1.Pod, class string) string {
	return fmt.Sprintf("%s-%s-%s", pod.Name, pod.Namespace, class)
}

// Clean deletes one status whose pod is gone, and returns false if there is none.
func (d *Driver) Clean() bool {
	for _, status := range d.server.List(StatusResource) {
		owner := status.GetOwnerReferences()[0]
		pod, err := d.server.Get("pods", types.NamespacedName{Namespace: status.GetNamespace(), Name: owner.Name})
		if err != nil || pod.GetUID() != owner.UID {
			return d.server.Delete(StatusResource, nameOf(status)) == nil
		}
	}
	return false
}

// customFields are the leaves of a custom resource: its spec, its owners, and what is mounted by
// its status.
func customFields(o *unstructured.Unstructured) map[string]string {
	if o.GetKind() == bundleKind {
		return bundleFields(o)
	}
	fields := map[string]string{}
	if spec, ok := o.Object["spec"]; ok {
		fields["spec/parameters"] = text(spec)
	}
	for _, owner := range o.GetOwnerReferences() {
		fields["ownerReferences/"+string(owner.UID)] = owner.Name
	}
	if objects, ok, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "objects"); ok {
		fields["status/objects"] = text(objects)
	}
	return fields
}

func text(value any) string {
	raw, _ := json.Marshal(value) // it came from JSON
	return string(raw)
}
