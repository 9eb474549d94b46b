// Package csi_test holds the CSI driver in memory, which random histories have, to the real Secrets Store
// CSI driver: each step is done with both. It needs root, because the real one mounts.
package csi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

const (
	namespace = "shop"
	class     = "vault"
)

// node is where a driver runs, with the API that it writes to.
type node interface {
	// store has the provider hand out these versions from now on.
	store(versions map[string]string)
	// mounts has the class mount these objects, or deletes it for none.
	mounts(ids ...string)
	// starts creates a Pod that mounts the class, and deletes an earlier one of that name.
	starts(pod string) *corev1.Pod
	// deletes ends a Pod, and waits until its status is collected.
	deletes(pod string)
	// looks has the driver do what there is to do for a Pod.
	looks(pod *corev1.Pod)
	// status is the status of a Pod; nil if there is none.
	status(pod *corev1.Pod) *unstructured.Unstructured
	// wait lets seconds pass: the times of the API are whole ones.
	wait()
}

// seen is what a look at a status says that depends on no version, uid or time.
type seen struct {
	before *unstructured.Unstructured
	lines  []string
}

func (s *seen) look(n node, what string, pod *corev1.Pod) {
	n.looks(pod)
	s.say(n, what, pod)
}

func (s *seen) say(n node, what string, pod *corev1.Pod) {
	now, before := n.status(pod), s.before
	s.before = now
	if now == nil {
		s.lines = append(s.lines, what+": no status")
		return
	}
	owner := now.GetOwnerReferences()[0]
	var versions []string
	for _, object := range objectsOf(now) {
		versions = append(versions, fmt.Sprint(object["id"], "=", object["version"]))
	}
	text := func(field string) string {
		value, _, _ := unstructured.NestedFieldNoCopy(now.Object, "status", field)
		return fmt.Sprint(value)
	}
	same := before != nil && before.GetUID() == now.GetUID()
	written := before == nil || before.GetResourceVersion() != now.GetResourceVersion()
	var managers []string
	newest := now.GetCreationTimestamp().Time
	for _, m := range now.GetManagedFields() {
		managers = append(managers, m.Manager+" "+string(m.Operation))
		if m.Time != nil && m.Time.After(newest) {
			newest = m.Time.Time
		}
	}
	s.lines = append(s.lines,
		fmt.Sprintf("%s: %s of %s/%s", what, strings.Join(versions, " "), text("podName"), text("secretProviderClassName")),
		fmt.Sprintf("  mounted %s, owned by %s %s of %s: %t", text("mounted"), owner.Kind, owner.Name, owner.APIVersion, owner.UID == pod.UID),
		fmt.Sprintf("  the same object %t, written %t, later than created %t, by %s", same, written, newest.After(now.GetCreationTimestamp().Time), strings.Join(managers, ", ")),
	)
}

// lives is the life of the statuses of two Pods.
func lives(n node) []string {
	var s seen
	n.store(map[string]string{"user": "1", "password": "1"})
	n.mounts("user", "password")
	web := n.starts("web-0")
	s.look(n, "mounted", web)
	n.wait()
	s.look(n, "nothing changed", web)
	n.store(map[string]string{"user": "1", "password": "2"})
	s.say(n, "the store changed", web)
	s.look(n, "rotated", web)
	n.store(map[string]string{"user": "1", "password": "1"})
	s.look(n, "rotated back", web)
	n.store(map[string]string{"user": "1", "password": "1", "key": "7"})
	n.mounts("user", "password", "key")
	s.look(n, "has another object", web)
	n.mounts("password", "key")
	s.look(n, "has lost one", web)

	again := n.starts("web-0")
	s.look(n, "a Pod of the same name has mounted", again)

	n.mounts()
	n.looks(again) // the driver has seen it: before, it would still mount what the store has
	n.store(map[string]string{"password": "3", "key": "7"})
	s.look(n, "the class is deleted", again)
	other := n.starts("web-1")
	n.looks(other)
	s.lines = append(s.lines, fmt.Sprintf("another Pod starts without it: has a status %t", n.status(other) != nil))
	n.mounts("password", "key")
	s.look(n, "the class is there again", again)
	n.deletes("web-0")
	s.say(n, "the Pod is deleted", again)
	return s.lines
}

func TestTheDriverInMemoryWritesWhatTheRealOneWrites(t *testing.T) {
	want := lives(newInMemory(t))
	got := lives(newOnANode(t))
	t.Log("\n" + strings.Join(got, "\n"))
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("the real one (-), and the one in memory (+):\n%s", diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func podOf(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", Image: "web"}},
			Volumes:    []corev1.Volume{simapi.Mount(class)},
		},
	}
}

func named(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// objectsOf are the mounted objects of a status.
func objectsOf(status *unstructured.Unstructured) (all []map[string]any) {
	if status == nil {
		return nil
	}
	objects, _, _ := unstructured.NestedSlice(status.Object, "status", "objects")
	for _, object := range objects {
		all = append(all, object.(map[string]any))
	}
	return all
}

func idsOf(status *unstructured.Unstructured) (ids []string) {
	for _, object := range objectsOf(status) {
		ids = append(ids, fmt.Sprint(object["id"]))
	}
	return ids
}
