package controller

import (
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

const classKind = "SecretProviderClass"

// TestClassHistories draws histories of workloads that mount SecretProviderClasses, some of them
// together with ConfigMaps and Secrets.
func TestClassHistories(t *testing.T) {
	testKind(t, "TestClassHistories", classKind, classBounds())
}

// classBounds limit the uses of each excuse in a thousand histories of classes: the measured
// number, and half as much again.
func classBounds() map[excuse]float64 {
	return map[excuse]float64{
		podWaits:            4739,
		beforeInstalled:     4510,
		beforeCover:         236,
		notReported:         157,
		writtenLate:         159,
		overEarlier:         123,
		shownAgain:          2,
		startedBack:         17,
		startedLate:         1,
		reportedBack:        2,
		givenInParts:        1,
		mayBeAdded:          1,
		rotationGone:        1,
		sourceGone:          2,
		optedInUnseen:       1,
		installedThen:       294,
		onlyNamed:           55,
		templateReturned:    64,
		cameOrWentUnordered: 1,
		clocksApart:         8,
		notProven:           12,
		showsNoTime:         12,
		ledgerGone:          18,
		backBeforeSeen:      2,
		sentBefore:          13,
		rolloutUndone:       16,
		changedInLapse:      27,
		shownBefore:         4,
		nothingToTry:        15,
		notAdopted:          34,
		podsOlder:           22,
		podsNotFound:        1,
		keyLostUnseen:       1,
		unreadable:          1,
	}
}

func classNames() []string { return []string{"vault", "tls"} }

// classObjects are the objects that a class may mount.
func classObjects() []string { return []string{"user", "password", "key"} }

// classWorkloads are the workloads at the beginning.
func classWorkloads() []drawnWorkload {
	names := annotations.DefaultNames()
	return []drawnWorkload{
		{"deployments", "till", []int{0}, map[string]string{names.Auto: "true"}},
		{"deployments", "bank", []int{1, 3}, map[string]string{names.SecretProviderClass: "vault, tls", names.ConfigMap: "routes"}},
		{"statefulsets", "safe", []int{2}, map[string]string{names.SPCAuto: "true"}},
		{"daemonsets", "guard", []int{0, 2}, map[string]string{names.Auto: "true", names.SecretProviderClass: "tls"}},
	}
}

// classesOf are the classes that the Pods of a workload mount. The workload guard also names
// another one.
func classesOf(name string) []string {
	return map[string][]string{"till": {"vault"}, "bank": {"vault", "tls"}, "safe": {"vault", "tls"}, "guard": {"vault"}}[name]
}

func mountClasses(t *corev1.PodTemplateSpec, name string) {
	for _, class := range classesOf(name) {
		t.Spec.Volumes = append(t.Spec.Volumes, simapi.Mount(class))
		t.Spec.Containers[0].VolumeMounts = append(t.Spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: class, MountPath: "/" + class})
	}
}

// mounted returns the classes that a workload mounts.
func mounted(obj simapi.Object) []simapi.Source {
	var found []simapi.Source
	for _, name := range simapi.Mounts(&templateOf(obj).Spec) {
		found = append(found, simapi.Source{Resource: simapi.ClassResource, Name: name})
	}
	return found
}

func classOfStatus(status simapi.Object) string {
	name, _, _ := unstructured.NestedString(status.(*unstructured.Unstructured).Object, "status", "secretProviderClassName")
	return name
}

func newDriver(h *history) *simapi.Driver {
	if h.kind != classKind {
		return nil
	}
	return simapi.NewDriver(h.pods)
}

// resourceOf returns the resource of a feed.
func resourceOf(f feed) string {
	if about, ok := f.Open.(attended); ok {
		return about.Opener.(opener).resource
	}
	return f.Open.(opener).resource
}

// stepDriver draws whether the driver acts on a Pod now, or the garbage collector runs.
func (h *history) stepDriver() bool {
	if h.rand.IntN(2) == 0 {
		return false
	}
	if h.rand.IntN(6) == 0 && h.driver.Clean() {
		return true
	}
	pods := h.server.List("pods")
	return len(pods) > 0 && h.driver.Step(pods[h.rand.IntN(len(pods))].(*corev1.Pod))
}

// stepAllDriver does one action, and returns false if nothing is left to do.
func (h *history) stepAllDriver() bool {
	return slices.ContainsFunc(h.server.List("pods"), func(pod simapi.Object) bool { return h.driver.Step(pod.(*corev1.Pod)) }) || h.driver.Clean()
}

func (u *users) className() string { return classNames()[u.h.rand.IntN(len(classNames()))] }

func (u *users) classWorkload() drawnWorkload {
	return classWorkloads()[u.h.rand.IntN(len(classWorkloads()))]
}

// settleClasses creates the objects that must exist before the Pods.
func (u *users) settleClasses() {
	for _, name := range classNames() {
		for _, id := range classObjects() {
			u.h.driver.Store(name, id, u.value())
		}
		u.createClass(name)
	}
	for _, w := range classWorkloads() {
		u.createWorkload(w)
	}
	for range 250 {
		u.h.stepPods()
	}
	if u.h.rand.IntN(2) == 0 {
		u.rotate(u.className())
	}
}

// classSteps are the actions of users with classes.
func (u *users) classSteps() []step {
	return []step{
		{"rotate a class", 30, func() bool { return u.rotate(u.className()) }},
		{"rotate a class back", 6, func() bool { return u.rotateBack(u.className()) }},
		{"rotate a class for a moment", 3, func() bool { return u.rotateForAMoment(u.className()) }},
		{"rotate a class and edit a source", 4, u.rotateAndEditSource},
		{"change the objects of a class", 6, func() bool { return u.changeClass(u.className()) }},
		{"say of a class whom it concerns", 6, func() bool { return u.annotateClass(u.className()) }},
		{"delete a class", 3, func() bool { return u.h.server.Delete(simapi.ClassResource, inShop(u.className())) == nil }},
		{"create a class again", 9, u.createClassAgain},
		{"edit a source", 8, func() bool { return u.editSource(u.source()) }},
		{"label a source", 2, func() bool { return u.touch(u.source()) }},
		{"edit a template", 8, func() bool { return u.editTemplate(u.classWorkload()) }},
		{"rotate a class and edit a template", 5, func() bool { return u.rotateAndEdit(u.className(), u.classWorkload()) }},
		{"undo a rollout", 5, func() bool { return u.undo([]string{"till", "bank"}[u.h.rand.IntN(2)]) }},
		{"scale", 6, func() bool { return u.scale(u.classWorkload()) }},
		{"evict a pod", 9, func() bool { return u.evict(u.classWorkload()) }},
		{"write a status", 2, func() bool { return u.writeStatus(u.classWorkload()) }},
		{"opt out or in", 5, func() bool { return u.opt(u.classWorkload()) }},
		{"ask for classes in another way", 5, func() bool { return u.askForClasses(u.classWorkload()) }},
		{"take the ledger away", 2, func() bool { return u.wipe(u.classWorkload()) }},
		{"delete a workload", 2, func() bool { return u.deleteWorkload(u.classWorkload()) }},
		{"create a workload again", 5, u.createClassWorkloadAgain},
	}
}

// rotate makes the provider serve another version of an object. The driver delivers it later.
func (u *users) rotate(name string) bool {
	ids := slices.Sorted(maps.Keys(u.h.driver.Stored(name)))
	id := ids[u.h.rand.IntN(len(ids))]
	u.stored[name] = u.h.driver.Stored(name)
	u.h.driver.Store(name, id, u.value())
	u.h.say("the provider has another %s of %s", id, name)
	return true
}

// rotateBack makes the provider serve the previous version.
func (u *users) rotateBack(name string) bool {
	before := u.stored[name]
	u.stored[name] = u.h.driver.Stored(name)
	for id, version := range before {
		u.h.driver.Store(name, id, version)
	}
	u.h.say("the provider has %v of %s again", before, name)
	return len(before) > 0
}

// rotateForAMoment makes the provider serve another version while some Pods get it.
func (u *users) rotateForAMoment(name string) bool {
	u.rotate(name)
	for range u.h.rand.IntN(30) {
		u.h.something()
	}
	return u.rotateBack(name)
}

func (u *users) rotateAndEditSource() bool {
	u.h.oracle.stepped() // counts as two
	return u.editSource(u.source()) && u.rotate(u.className())
}

func (u *users) rotateAndEdit(name string, w drawnWorkload) bool {
	first, second := func() bool { return u.rotate(name) }, func() bool { return u.editTemplate(w) }
	if u.h.rand.IntN(2) == 1 {
		first, second = second, first
	}
	did := first()
	u.moments()
	return second() || did
}

func (u *users) createClass(name string) bool {
	ids := [][]string{{"user", "password"}, {"password"}, {"user", "password", "key"}}[u.h.rand.IntN(3)]
	_, err := u.h.server.Create(simapi.NewClass(namespace, name, ids), u.manager())
	return err == nil
}

func (u *users) createClassAgain() bool {
	for _, name := range classNames() {
		if _, err := u.h.server.Get(simapi.ClassResource, inShop(name)); err != nil {
			return u.createClass(name)
		}
	}
	return false
}

func (u *users) editClass(name string, edit func(obj simapi.Object)) bool {
	before := u.h.server.Version()
	_, err := u.h.server.Edit(simapi.ClassResource, inShop(name), u.manager(), edit)
	return err == nil && u.h.server.Version() > before
}

// changeClass adds an object to a class, or removes one.
func (u *users) changeClass(name string) bool {
	ids := [][]string{{"user", "password"}, {"password"}, {"user", "password", "key"}}[u.h.rand.IntN(3)]
	return u.editClass(name, func(obj simapi.Object) { simapi.SetIDs(obj, ids) })
}

func (u *users) annotateClass(name string) bool {
	key := []string{annotations.DefaultNames().Match, annotations.DefaultNames().Ignore}[u.h.rand.IntN(2)]
	return u.editClass(name, func(obj simapi.Object) {
		value := "true"
		if obj.GetAnnotations()[key] == value {
			value = ""
		}
		u.annotate(obj, key, value)
	})
}

// asksForClasses are the opt-in annotations for classes.
func asksForClasses() []map[string]string {
	names := annotations.DefaultNames()
	return []map[string]string{
		{}, {names.SPCAuto: "true"}, {names.SPCAuto: "false"}, {names.SecretProviderClass: "vault"}, {names.SecretProviderClass: "vau.*, tls"},
		{names.Auto: "true", names.SPCExclude: "vault"}, {names.Search: "true"}, {names.SecretProviderClass: "tls", names.Search: "true"},
	}
}

// askForClasses replaces the annotations of a workload about classes.
func (u *users) askForClasses(w drawnWorkload) bool {
	ways := asksForClasses()
	asked := ways[u.h.rand.IntN(len(ways))]
	return u.edit(w, func(obj simapi.Object) {
		annotations := annotationsOf(obj)
		for _, way := range ways {
			for key := range way {
				delete(annotations, key)
			}
		}
		maps.Copy(annotations, asked)
		obj.SetAnnotations(annotations)
	})
}

func (u *users) createClassWorkloadAgain() bool {
	return u.createMissing(classWorkloads(), u.createWorkload)
}
