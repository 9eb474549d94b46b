package controller

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// These histories draw which keys of a source count, templates that use some of them, and edits of
// used and unused keys, while the controller runs and while it does not. The oracle knows from tables
// which keys a template uses, and from each Pod with which values it started:
//
//  1. No change is lost. At rest, every Pod has the present value of each key that counted when it
//     was edited last, and still counts.
//  2. Nothing rolls without a change. Before each of our rollouts, such a key was edited after the
//     previous one, or a Pod lacked its present value. Only if a controller had to decide on what it
//     had not seen, or if keys were chosen in the same settle period, the rollout may be one in
//     doubt. Those are counted.

// keyUse is a way in which a template uses ConfigMap web, with the keys that it uses.
type keyUse struct {
	used  string
	apply func(*corev1.PodSpec)
}

func keyUses() []keyUse {
	name := corev1.LocalObjectReference{Name: "web"}
	variable := func(key string) corev1.EnvVar {
		return corev1.EnvVar{Name: "V" + key, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: name, Key: key, Optional: new(true)}}}
	}
	volume := func(spec *corev1.PodSpec, mount corev1.VolumeMount, items ...corev1.KeyToPath) {
		mount.Name = "v"
		spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: name, Items: items, Optional: new(true)}}}}
		spec.Containers[0].VolumeMounts = []corev1.VolumeMount{mount}
	}
	return []keyUse{
		{"abc", func(spec *corev1.PodSpec) {
			spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: name, Optional: new(true)}}}
		}},
		{"a", func(spec *corev1.PodSpec) { spec.Containers[0].Env = []corev1.EnvVar{variable("a")} }},
		{"ab", func(spec *corev1.PodSpec) { spec.Containers[0].Env = []corev1.EnvVar{variable("a"), variable("b")} }},
		{"b", func(spec *corev1.PodSpec) { volume(spec, corev1.VolumeMount{}, corev1.KeyToPath{Key: "b", Path: "x"}) }},
		{"c", func(spec *corev1.PodSpec) { volume(spec, corev1.VolumeMount{SubPath: "c"}) }},
		{"abc", func(spec *corev1.PodSpec) { volume(spec, corev1.VolumeMount{SubPathExpr: "$(X)"}) }},
	}
}

// keyAnnotations are values of the annotation with the keys that count; "used" for those of the
// template.
func keyAnnotations() map[string]string {
	return map[string]string{"": "abc", "all": "abc", "used": "used", "configmap/web=a": "a", "configmap/web=b,c": "bc", "configmap/web=!b": "ac", "used,secret/x=y": "used", "web=a": "abc"}
}

type keyHistory struct {
	*smallHistory
	// use and rule are, by workload, what its template and its annotation are.
	use  map[string]keyUse
	rule map[string]string
	// owed are, by workload, the keys whose latest edit counts.
	owed map[string]map[string]bool
	// edited is when a key that counts was edited last, and templateAt when the template last changed.
	edited, templateAt map[string]uint64
	// editedAt is the time of the latest edit, startedAt that of the latest start of a controller, and chosenAt that of the latest choice of keys.
	editedAt, startedAt time.Time
	chosenAt            map[string]time.Time
	// before are the keys that counted when the latest controller ended. Of the others, the ledger
	// shows nothing, and only an annotation that is there has a time.
	before map[string]string
	// doubt reports, by workload, whether something was written without a controller since the latest
	// rollout.
	doubt map[string]bool
	// always are the keys that have counted since the latest rest, by each choice: the ledger has these.
	always map[string]string
	// pardoned are values that a Pod does not have, and that keys had when they were chosen or at a rest.
	pardoned map[lackedKey]string
}

func newKeyHistory(t *testing.T, seed uint64) *keyHistory {
	return &keyHistory{
		smallHistory: newSmallHistory(t, seed),
		use:          map[string]keyUse{}, rule: map[string]string{}, owed: map[string]map[string]bool{}, doubt: map[string]bool{},
		before: map[string]string{}, chosenAt: map[string]time.Time{}, edited: map[string]uint64{}, templateAt: map[string]uint64{},
		always: map[string]string{}, pardoned: map[lackedKey]string{},
	}
}

// Patch implements API.
func (h *keyHistory) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	lacking := h.lacks(key.Name)
	obj, err := h.memory.Patch(ctx, kind, key, patch)
	if err == nil && bytes.Contains(patch.Body, []byte(`"template"`)) {
		h.judgeReload(key.Name, lacking)
	}
	return obj, err
}

// counted are the keys that count for a workload.
func (h *keyHistory) counted(name string) string {
	keys := keyAnnotations()[h.rule[name]]
	if keys == "used" {
		return h.use[name].used
	}
	return keys
}

func (h *keyHistory) values() map[string]string {
	obj, err := h.server.Get("configmaps", inShop("web"))
	if err != nil {
		h.t.Fatal(err)
	}
	return obj.(*corev1.ConfigMap).Data
}

// judgeReload judges a reload by a key that Pods lacked before.
func (h *keyHistory) judgeReload(name, key string) {
	h.counts["reloads"]++
	h.say("%s is reloaded for %q, owed %v, counted %s, in doubt %t", name, key, slices.Sorted(maps.Keys(h.owed[name])), h.counted(name), h.doubt[name])
	switch {
	case key != "", h.edited[name] > h.templateAt[name]:
	case h.doubt[name], h.server.Now().Sub(h.startedAt) < 30*time.Second, h.server.Now().Sub(h.chosenAt[name]) < 10*time.Second:
		h.excused(inDoubt)
	default:
		h.fail("%s is rolled without a change of a key that counts", name)
	}
	h.doubt[name], h.templateAt[name] = false, h.server.Version()
}

// start runs a controller that knows nothing but what there is.
func (h *keyHistory) start() {
	h.startedAt = h.server.Now()
	h.begin(h, smallOptions())
}

// rest ends when nothing is left to do, and judges what Pods have.
func (h *keyHistory) rest() {
	if !h.up {
		h.start()
	}
	for left, rounds := 12, 0; left > 0; left, rounds = left-1, rounds+1 {
		h.deliver(true)
		if h.elapse(10 * time.Second); h.controller.queue.Depth() == 0 {
			continue
		}
		if left = max(left, 3); rounds == 100 { // a write that has met many conflicts is tried again minutes later
			h.fail("workloads are queued without end")
			return
		}
	}
	for name := range h.use {
		if key := h.lacks(name); key != "" {
			h.fail("%s lost the change of %s: counted %s", name, key, h.counted(name))
		}
		h.pardon(name)
		h.owed[name], h.doubt[name], h.always[name] = map[string]bool{}, false, h.counted(name)
	}
	h.say("at rest")
}

func (h *keyHistory) create(name string) {
	d := webDeployment()
	d.Name, d.Spec.Replicas = name, new(int32(2))
	h.use[name], h.rule[name], h.owed[name] = keyUses()[h.rand.IntN(len(keyUses()))], "", map[string]bool{}
	d.Spec.Template.Spec.Containers[0].EnvFrom = nil
	h.use[name].apply(&d.Spec.Template.Spec)
	if _, err := h.server.Create(d, "kubectl"); err != nil {
		h.t.Fatal(err)
	}
}

// edit changes some keys in one write.
func (h *keyHistory) edit() {
	changed := []string{"a", "b", "c"}
	h.rand.Shuffle(len(changed), func(i, j int) { changed[i], changed[j] = changed[j], changed[i] })
	changed = changed[:1+h.rand.IntN(2)*h.rand.IntN(2)]
	// The API server records no time for a removal. Without one, even edits of whole sources are lost,
	// so these histories have none that a controller does not see, or that comes with a choice of keys.
	remove := h.rand.IntN(5) == 0 && h.up && h.server.Now().Sub(h.chosenAt["web"]) > 10*time.Second && h.server.Now().Sub(h.chosenAt["api"]) > 10*time.Second
	_, err := h.server.Edit("configmaps", inShop("web"), "kubectl", func(obj simapi.Object) {
		cm := obj.(*corev1.ConfigMap)
		cm.Data = maps.Clone(cm.Data)
		for _, key := range changed {
			if _, exists := cm.Data[key]; exists && remove && len(cm.Data) > 1 { // without a key, it would lose its manager
				delete(cm.Data, key)
			} else {
				cm.Data[key] = fmt.Sprint(h.rand.IntN(1 << 30))
			}
		}
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.editedAt = h.server.Now()
	if h.say("user: edits %v, removes %t", changed, remove); remove {
		h.deliver(true)
	}
	for name := range h.use {
		// Watches are independent: the controller may see the edit before the choice of keys.
		// The ledger does not show the choice yet if the edit comes within the settle period.
		h.doubt[name] = h.doubt[name] || !h.up || h.pending("deployments", name) || h.server.Now().Sub(h.chosenAt[name]) < 10*time.Second
		for _, key := range changed {
			switch {
			case !strings.Contains(h.counted(name), key):
			case h.up, strings.Contains(h.before[name], key), h.rule[name] != "":
				h.owed[name][key], h.edited[name] = true, h.server.Version()
			default:
				h.excused(chosenInGap)
			}
		}
	}
}

// change edits a workload. Keys that no longer count are no longer owed.
func (h *keyHistory) change(name, what string, edit func(*appsv1.Deployment)) {
	if _, err := h.server.Edit("deployments", inShop(name), "helm", func(obj simapi.Object) { edit(obj.(*appsv1.Deployment)) }); err != nil {
		h.t.Fatal(err)
	}
	h.always[name] = strings.Map(func(key rune) rune {
		if strings.ContainsRune(h.counted(name), key) {
			return key
		}
		return -1
	}, h.always[name])
	for key := range h.owed[name] {
		if !strings.Contains(h.counted(name), key) {
			delete(h.owed[name], key)
		} else if _, exists := h.values()[key]; !h.up && (!strings.Contains(h.before[name], key) || !exists && h.counted(name) == "abc") {
			h.forgive(name, key, chosenInGap)
		}
	}
	h.doubt[name] = h.doubt[name] || !h.up || h.pending("configmaps", "web")
	if h.chosenAt[name] = h.server.Now(); h.up {
		h.pardon(name)
	}
	h.say("user: %s %s; %s counts", name, what, h.counted(name))
}

func (h *keyHistory) step() {
	name := []string{"web", "api"}[h.rand.IntN(2)]
	switch n := h.rand.IntN(20); {
	case n < 9:
		h.edit()
	case n < 13:
		rules := slices.Sorted(maps.Keys(keyAnnotations()))
		h.rule[name] = rules[h.rand.IntN(len(rules))]
		h.change(name, "counts "+h.rule[name], counts(h.rule[name]))
	case n < 15:
		h.use[name] = keyUses()[h.rand.IntN(len(keyUses()))]
		h.change(name, "uses "+h.use[name].used, func(d *appsv1.Deployment) {
			spec := &d.Spec.Template.Spec
			marks := slices.DeleteFunc(slices.Clone(spec.Containers[0].Env), func(v corev1.EnvVar) bool { return v.ValueFrom != nil })
			spec.Volumes, spec.Containers[0].VolumeMounts, spec.Containers[0].EnvFrom, spec.Containers[0].Env = nil, nil, nil, nil
			h.use[name].apply(spec)
			spec.Containers[0].Image = fmt.Sprint("web:", h.server.Version()) // no template comes back
			spec.Containers[0].Env = append(spec.Containers[0].Env, marks...)
		})
		h.templateAt[name] = h.server.Version()
	case n < 17:
		h.say("no controller runs")
		if h.up {
			if h.server.Now().Sub(h.startedAt) >= 10*time.Second { // otherwise it may not have compared anything
				h.before = map[string]string{"web": h.counted("web"), "api": h.counted("api")}
			}
			for name := range h.use {
				if h.server.Now().Sub(h.chosenAt[name]) < 10*time.Second {
					h.before[name] = "" // the ledger may not show the choice
					if h.rule[name] == "" || h.editedAt.Unix() < h.chosenAt[name].Unix() {
						for key := range h.owed[name] { // nor does a time
							if !strings.Contains(h.always[name], key) {
								h.forgive(name, key, chosenLate)
							}
						}
					}
				}
				// It has not seen them, or the age of Pods is too close to the edit for the next one.
				h.doubt[name] = h.doubt[name] || len(h.events) > 0 || h.server.Now().Sub(h.editedAt) < 10*time.Second || h.server.Now().Sub(h.chosenAt[name]) < 30*time.Second
			}
		}
		h.up = false
	case n < 19 && !h.up:
		h.start()
	}
	if h.rand.IntN(3) > 0 {
		h.elapse(time.Duration(h.rand.IntN(20)) * 500 * time.Millisecond)
	}
}

func (h *keyHistory) run() {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Data: map[string]string{"a": "1", "b": "1", "c": "1"}}
	if _, err := h.server.Create(cm, "kubectl"); err != nil {
		h.t.Fatal(err)
	}
	h.create("web")
	h.create("api")
	h.elapse(time.Minute)
	h.rest()
	for range 40 {
		h.step()
		if h.rand.IntN(6) == 0 {
			h.rest()
		}
		if h.failed != "" {
			return
		}
	}
	h.rest()
}

func TestHistoriesOfKeys(t *testing.T) {
	drawSmall(t, keyBounds(), func(seed uint64) *smallHistory {
		h := newKeyHistory(t, seed)
		h.run()
		return h.smallHistory
	})
}
