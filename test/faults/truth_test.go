package faults

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/harness"
)

// truth is what has happened, as the API server tells it on watches of our own.
type truth struct {
	mu  sync.Mutex
	err error
	// say notes what was seen.
	say func(format string, args ...any)
	// seen is the newest version of each object that has come.
	seen      map[types.UID]uint64
	contents  map[harness.Ref][]content
	templates map[types.UID]*corev1.PodTemplateSpec
	rolls     map[harness.Ref][]roll
	born      map[types.UID]uint64
}

// content is what a source was from a version on.
type content struct {
	version uint64
	text    string
	gone    bool
}

// roll is a change of a pod template.
type roll struct {
	version uint64
	// byUser is false for one that changed nothing but marks.
	byUser bool
}

func newTruth(say func(string, ...any)) *truth {
	return &truth{
		say: say, seen: map[types.UID]uint64{}, contents: map[harness.Ref][]content{},
		templates: map[types.UID]*corev1.PodTemplateSpec{}, rolls: map[harness.Ref][]roll{}, born: map[types.UID]uint64{},
	}
}

func (o *truth) see(v harness.Version) {
	o.mu.Lock()
	defer o.mu.Unlock()
	uid, name := v.Object.GetUID(), v.Object.GetName()
	o.seen[uid] = v.Number
	switch obj := v.Object.(type) {
	case *corev1.ConfigMap:
		o.content(harness.Ref{Kind: "configmap", Name: name}, v, []any{obj.Data, obj.BinaryData})
	case *corev1.Secret:
		o.content(harness.Ref{Kind: "secret", Name: name}, v, obj.Data)
	case *corev1.Pod:
		if _, known := o.born[uid]; !known {
			o.born[uid] = v.Number
		}
	case *appsv1.Deployment:
		o.template(harness.Ref{Kind: "deployment", Name: name}, uid, v.Number, &obj.Spec.Template)
	case *appsv1.StatefulSet:
		o.template(harness.Ref{Kind: "statefulset", Name: name}, uid, v.Number, &obj.Spec.Template)
	case *appsv1.DaemonSet:
		o.template(harness.Ref{Kind: "daemonset", Name: name}, uid, v.Number, &obj.Spec.Template)
	}
}

func (o *truth) content(src harness.Ref, v harness.Version, data any) {
	c := content{version: v.Number, gone: v.Deleted}
	if !v.Deleted {
		text, err := json.Marshal(data)
		if err != nil {
			o.err = err
		}
		c.text = string(text)
	}
	before := o.contents[src]
	if n := len(before); n > 0 && before[n-1].text == c.text && before[n-1].gone == c.gone {
		return
	}
	o.contents[src] = append(before, c)
}

func (o *truth) template(w harness.Ref, uid types.UID, version uint64, t *corev1.PodTemplateSpec) {
	before := o.templates[uid]
	o.templates[uid] = t
	if before == nil || equality.Semantic.DeepEqual(before, t) {
		return
	}
	r := roll{version: version, byUser: !equality.Semantic.DeepEqual(withoutMarks(before), withoutMarks(t))}
	o.rolls[w] = append(o.rolls[w], r)
	if !r.byUser {
		o.say("  %s is reloaded at %d", w, version)
	}
}

// withoutMarks is a template as its user wrote it.
func withoutMarks(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	t = t.DeepCopy()
	delete(t.Annotations, "reroll.dev/rolled")
	for i := range t.Spec.Containers {
		t.Spec.Containers[i].Env = slices.DeleteFunc(t.Spec.Containers[i].Env, func(v corev1.EnvVar) bool {
			return strings.HasPrefix(v.Name, "STAKATER_")
		})
	}
	return t
}

// present is the content of a source now.
func (o *truth) present(src harness.Ref) content {
	all := o.contents[src]
	if len(all) == 0 {
		return content{gone: true}
	}
	return all[len(all)-1]
}

// under is the content that a pod has which was created in a version. While a source is not there,
// no container starts: the pod waits for the next content.
func (o *truth) under(src harness.Ref, version uint64) content {
	all := o.contents[src]
	i, found := slices.BinarySearchFunc(all, version, func(c content, v uint64) int {
		switch {
		case c.version < v:
			return -1
		case c.version > v:
			return 1
		default:
			return 0
		}
	})
	if !found {
		i--
	}
	if i < 0 || all[i].gone {
		i++
	}
	if i < len(all) {
		return all[i]
	}
	return content{gone: true}
}

// rolledFor reports whether every workload that uses a source was reloaded since its content
// changed last.
func (o *truth) rolledFor(src harness.Ref) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	changed := o.present(src).version
	for _, w := range workloads() {
		if slices.Contains(w.sources, src) && !slices.ContainsFunc(o.rolls[w.Ref], func(r roll) bool { return !r.byUser && r.version > changed }) {
			return false
		}
	}
	return true
}

// changes are the versions, after one, in which the content of one of these sources became another.
func (o *truth) changes(list []harness.Ref, after uint64) []uint64 {
	var versions []uint64
	for _, src := range list {
		for i, c := range o.contents[src] {
			if c.version > after && !c.gone && i > 0 {
				versions = append(versions, c.version)
			}
		}
	}
	slices.Sort(versions)
	return versions
}

// hasSeen reports whether all that has led to this version of an object has come.
func (o *truth) hasSeen(obj metav1.Object, version uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil && o.seen[obj.GetUID()] < version {
		return fmt.Errorf("version %d of %s has not come yet", version, obj.GetName())
	}
	return o.err
}
