package kinds

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
)

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "init"}},
		Containers:     []corev1.Container{{Name: "app"}, {Name: "sidecar"}},
	}}
}

func workloads() map[string]runtime.Object {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u-1", ResourceVersion: "42"}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	return map[string]runtime.Object{
		"Deployment":  &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template()}},
		"StatefulSet": &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template()}},
		"DaemonSet":   &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template()}},
		"Rollout":     unstructuredRollout(),
	}
}

func TestEveryKindIsRead(t *testing.T) {
	objects := workloads()
	for _, kind := range All() {
		t.Run(kind.Name, func(t *testing.T) {
			w, err := kind.Read(objects[kind.Name], reload.DefaultNames())
			if err != nil {
				t.Fatal(err)
			}
			want := reload.WorkloadKey{Kind: kind.Name, Namespace: "shop", Name: "web"}
			if w.Key != want || w.UID != "u-1" || w.ResourceVersion != "42" {
				t.Errorf("read as %s, uid %s, version %s", w.Key, w.UID, w.ResourceVersion)
			}
			if strings.Join(w.Containers, " ") != "app sidecar" || w.Selector.MatchLabels["app"] != "web" {
				t.Errorf("containers %v, selector %v", w.Containers, w.Selector)
			}
			if (kind.Resource.Group != "apps") != kind.Custom || w.Custom != kind.Custom || kind.Resource.Resource != strings.ToLower(kind.Name)+"s" {
				t.Errorf("served as %s", kind.Resource)
			}
			for other, obj := range objects {
				if _, err := kind.Read(obj, reload.DefaultNames()); (err == nil) != (other == kind.Name) {
					t.Errorf("a %s is read: %v", other, err)
				}
			}
		})
	}
	if len(All()) != len(objects) {
		t.Errorf("%d kinds, and %d are tried", len(All()), len(objects))
	}
	_, err := All()[0].Read(&corev1.Pod{}, reload.DefaultNames())
	if err == nil || err.Error() != "a *v1.Pod came where a "+All()[0].Name+" was asked for" {
		t.Errorf("a Pod: %v", err)
	}
}

func builtInKinds() []Kind {
	return slices.DeleteFunc(All(), func(k Kind) bool { return k.Custom })
}

// What a patch does not name it cannot touch, so these are compared to the byte.
func TestPatches(t *testing.T) {
	const head = `{"metadata":{"uid":"u-1","resourceVersion":"42","annotations":{"reroll.dev/ledger":"{\"v\":1}"}}`
	mark := func(container, variable, value string) reload.EnvMark {
		return reload.EnvMark{Container: container, Variable: variable, Value: value}
	}
	for about, tc := range map[string]struct {
		marking *reload.Marking // nil: the ledger alone
		want    string
	}{
		"the ledger alone": {nil, head + `}`},
		"one variable": {
			&reload.Marking{Env: []reload.EnvMark{mark("app", "STAKATER_A_CONFIGMAP", "0a")}},
			head + `,"spec":{"template":{"spec":{"containers":[{"name":"app","env":[{"name":"STAKATER_A_CONFIGMAP","value":"0a"}]}]}}}}`,
		},
		"two containers, in the order of the template": {
			&reload.Marking{Env: []reload.EnvMark{mark("sidecar", "B", "2"), mark("app", "A", "1"), mark("sidecar", "C", "3")}},
			head + `,"spec":{"template":{"spec":{"containers":[{"name":"app","env":[{"name":"A","value":"1"}]},{"name":"sidecar","env":[{"name":"B","value":"2"},{"name":"C","value":"3"}]}]}}}}`,
		},
		"a variable and what makes it a change": {
			&reload.Marking{Env: []reload.EnvMark{mark("app", "A", "1")}, Rolled: "7"},
			head + `,"spec":{"template":{"metadata":{"annotations":{"reroll.dev/rolled":"7"}},"spec":{"containers":[{"name":"app","env":[{"name":"A","value":"1"}]}]}}}}`,
		},
		"one variable goes and one comes": {
			&reload.Marking{Env: []reload.EnvMark{mark("app", "A", "1")}, Removed: []reload.EnvMark{mark("app", "B", ""), mark("sidecar", "B", "")}},
			head + `,"spec":{"template":{"spec":{"containers":[{"name":"app","env":[{"name":"A","value":"1"},{"name":"B","$patch":"delete"}]},{"name":"sidecar","env":[{"name":"B","$patch":"delete"}]}]}}}}`,
		},
		"no variable": {
			&reload.Marking{Rolled: "7"},
			head + `,"spec":{"template":{"metadata":{"annotations":{"reroll.dev/rolled":"7"}}}}}`,
		},
	} {
		t.Run(about, func(t *testing.T) {
			for _, kind := range builtInKinds() {
				w, err := kind.Read(workloads()[kind.Name], reload.DefaultNames())
				if err != nil {
					t.Fatal(err)
				}
				patch, err := kind.Patch(&w, `{"v":1}`, tc.marking, reload.DefaultNames())
				if err != nil || patch.Type != types.StrategicMergePatchType || string(patch.Body) != tc.want {
					t.Errorf("%s: %s, %v\n got %s\nwant %s", kind.Name, patch.Type, err, patch.Body, tc.want)
				}
			}
		})
	}
}
