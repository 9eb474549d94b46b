package kinds

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/workload"
)

const rolloutText = `{
	"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
	"metadata": {"namespace": "shop", "name": "web", "uid": "u-1", "resourceVersion": "42", "generation": 7},
	"spec": {
		"selector": {"matchLabels": {"app": "web"}},
		"strategy": {"canary": {"steps": [{"setWeight": 50}]}},
		"template": {"spec": {"initContainers": [{"name": "init"}], "containers": [{"name": "app"}, {"name": "sidecar"}]}}
	}
}`

func unstructuredRollout(changes ...func(map[string]any)) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON([]byte(rolloutText)); err != nil {
		panic(err)
	}
	for _, change := range changes {
		change(obj.Object)
	}
	return obj
}

func set(value any, fields ...string) func(map[string]any) {
	return func(obj map[string]any) {
		if err := unstructured.SetNestedField(obj, value, fields...); err != nil {
			panic(err)
		}
	}
}

func readRollout(t *testing.T, changes ...func(map[string]any)) workload.Workload {
	t.Helper()
	w, err := rollout().Read(unstructuredRollout(changes...), annotations.DefaultNames())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestARolloutIsRolledOutWhenAllItsPodsAreUpdatedAndRestarted(t *testing.T) {
	done := set(map[string]any{"observedGeneration": "7", "replicas": int64(2), "updatedReplicas": int64(2)}, "status")
	for about, tc := range map[string]struct {
		changes []func(map[string]any)
		want    bool
	}{
		"nothing is known yet":               {nil, false},
		"all are new":                        {[]func(map[string]any){done}, true},
		"its controller is behind":           {[]func(map[string]any){done, set("6", "status", "observedGeneration")}, false},
		"some are old":                       {[]func(map[string]any){done, set(int64(1), "status", "updatedReplicas")}, false},
		"a restart is under way":             {[]func(map[string]any){done, set("2026-03-01T12:00:00Z", "spec", "restartAt")}, false},
		"the restart before was done":        {[]func(map[string]any){done, set("2026-03-01T12:00:00Z", "spec", "restartAt"), set("2026-02-01T12:00:00Z", "status", "restartedAt")}, false},
		"the restart was done":               {[]func(map[string]any){done, set("2026-03-01T12:00:00Z", "spec", "restartAt"), set("2026-03-01T12:00:00Z", "status", "restartedAt")}, true},
		"the same time, spelled differently": {[]func(map[string]any){done, set("2026-03-01T14:00:00+02:00", "spec", "restartAt"), set("2026-03-01T12:00:00Z", "status", "restartedAt")}, true},
	} {
		t.Run(about, func(t *testing.T) {
			if w := readRollout(t, tc.changes...); w.RolledOut != tc.want {
				t.Errorf("at rest: %v, want %v", w.RolledOut, tc.want)
			}
		})
	}
}

func TestUnusedFieldsCannotMakeARolloutUnreadable(t *testing.T) {
	w := readRollout(t, set("two", "spec", "replicas"), set("no list", "status", "conditions"), set("x", "status", "canary"))
	if strings.Join(w.Containers, " ") != "app sidecar" {
		t.Errorf("containers %v", w.Containers)
	}
	_, err := rollout().Read(unstructuredRollout(set("no list", "spec", "template", "spec", "containers")), annotations.DefaultNames())
	if err == nil || !strings.HasPrefix(err.Error(), "read Rollout shop/web: ") {
		t.Errorf("a template that cannot be read: %v", err)
	}
}

// If all workloads are opted in, a Rollout needs no annotation for the notice.
func TestARolloutWithAnUnsupportedWorkloadRefIsReported(t *testing.T) {
	const told = "spec.workloadRef names a ReplicaSet of apps/v1, which Reroll does not roll; reference a Deployment of apps/v1"
	auto := func(value string) func(map[string]any) {
		return set(map[string]any{"reloader.stakater.com/auto": value}, "metadata", "annotations")
	}
	for about, tc := range map[string]struct {
		all     bool
		changes []func(map[string]any)
		want    string
	}{
		"it is opted in":                    {false, []func(map[string]any){auto("true")}, told},
		"it is opted in, and so are all":    {true, []func(map[string]any){auto("true")}, told},
		"all are opted in":                  {true, nil, told},
		"all are opted in, and it opts out": {true, []func(map[string]any){auto("false")}, ""},
		"it is not opted in":                {false, nil, ""},
	} {
		t.Run(about, func(t *testing.T) {
			ref := set(map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}, "spec", "workloadRef")
			w := readRollout(t, append(tc.changes, ref)...)
			w.Mistakes = w.AllMistakes(tc.all, policy.Policy{})
			if got := mistakesOf(&w); got != tc.want {
				t.Errorf("told %q, want %q", got, tc.want)
			}
		})
	}
}

// Argo Rollouts uses templates of few kinds, and Reroll rolls only Deployments among them. A
// Deployment of another API group does not count.
func TestOnlyADeploymentOfAppsIsATemplateOwner(t *testing.T) {
	all := All(Added{GroupVersionKind: schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Deployment"}})
	kind, ok := all.Of("argoproj.io", "Rollout")
	if !ok {
		t.Fatal("there is no Rollout")
	}
	for of, rolled := range map[string]bool{
		"apps/v1 Deployment": true, "apps/v1beta2 Deployment": true, "apps/v1 ReplicaSet": false, "v1 PodTemplate": false,
		"apps/v1 StatefulSet": false, "apps/v1 DaemonSet": false, "batch/v1 CronJob": false, "argoproj.io/v1alpha1 Rollout": false,
		"apps.kruise.io/v1beta1 StatefulSet": false, "example.org/v1 Deployment": false, " Deployment": false, "apps/v1/v1 Deployment": false,
	} {
		t.Run(of, func(t *testing.T) {
			version, name, _ := strings.Cut(of, " ")
			w, err := kind.Read(unstructuredRollout(
				set(map[string]any{"reloader.stakater.com/auto": "true"}, "metadata", "annotations"),
				set(map[string]any{"apiVersion": version, "kind": name, "name": "web"}, "spec", "workloadRef"),
			), annotations.DefaultNames())
			if err != nil {
				t.Fatal(err)
			}
			known := slices.ContainsFunc(all, func(k Kind) bool { return k.Name == w.TemplateOwner.Kind })
			told := "spec.workloadRef names a " + name + " of " + cmp.Or(version, "no apiVersion") + ", which Reroll does not roll; reference a Deployment of apps/v1"
			if rolled {
				told = ""
			}
			if got := mistakesOf(&w); known != rolled || got != told {
				t.Errorf("its template is that of %s, told %q, want %q", w.TemplateOwner, got, told)
			}
		})
	}
}

func mistakesOf(w *workload.Workload) string {
	var all []string
	for _, p := range w.Mistakes {
		all = append(all, p.String())
	}
	return strings.Join(all, ". ")
}

func TestPatchesOfARollout(t *testing.T) {
	const head = `{"metadata":{"uid":"u-1","resourceVersion":"42","annotations":{"reroll.dev/ledger":"{\"v\":1}"}}`
	for about, tc := range map[string]struct {
		marking *workload.Marking // nil: the ledger alone
		want    string
	}{
		"the ledger alone": {nil, head + `}`},
		"key of the annotation": {
			&workload.Marking{ReloadedFrom: "{}", Rolled: "7"},
			head + `,"spec":{"template":{"metadata":{"annotations":{"reloader.stakater.com/last-reloaded-from":"{}","reroll.dev/rolled":"7"}}}}}`,
		},
		"a restart": {&workload.Marking{RestartAt: "2026-03-01T12:00:00Z"}, head + `,"spec":{"restartAt":"2026-03-01T12:00:00Z"}}`},
	} {
		t.Run(about, func(t *testing.T) {
			w := readRollout(t)
			patch, err := rollout().Patch(&w, `{"v":1}`, tc.marking, annotations.DefaultNames())
			if err != nil || patch.Type != types.MergePatchType || string(patch.Body) != tc.want {
				t.Errorf("%s, %v\n got %s\nwant %s", patch.Type, err, patch.Body, tc.want)
			}
		})
	}
}

// A merge would replace the list of containers, and with it all that the patch does not name.
func TestVariablesOfARolloutAreSetEntryByEntry(t *testing.T) {
	env := []workload.EnvMark{{Container: "sidecar", Variable: "B", Value: "2"}, {Container: "app", Variable: "A", Value: "1"}, {Container: "sidecar", Variable: "C", Value: "3"}}
	removed := []workload.EnvMark{{Container: "sidecar", Variable: "GONE"}, {Container: "app", Variable: "NEVER"}}
	fence := []string{
		`{"op":"test","path":"/metadata/uid","value":"u-1"}`,
		`{"op":"test","path":"/metadata/resourceVersion","value":"42"}`,
	}
	for about, tc := range map[string]struct {
		changes []func(map[string]any)
		rolled  string
		want    []string
	}{
		"nothing is there yet": {nil, "7", []string{
			`{"op":"add","path":"/metadata/annotations","value":{"reroll.dev/ledger":"{}"}}`,
			`{"op":"add","path":"/spec/template/metadata","value":{}}`,
			`{"op":"add","path":"/spec/template/metadata/annotations","value":{"reroll.dev/rolled":"7"}}`,
			`{"op":"test","path":"/spec/template/spec/containers/0/name","value":"app"}`,
			`{"op":"add","path":"/spec/template/spec/containers/0/env","value":[{"name":"A","value":"1"}]}`,
			`{"op":"test","path":"/spec/template/spec/containers/1/name","value":"sidecar"}`,
			`{"op":"add","path":"/spec/template/spec/containers/1/env","value":[{"name":"B","value":"2"}]}`,
			`{"op":"add","path":"/spec/template/spec/containers/1/env/-","value":{"name":"C","value":"3"}}`,
		}},
		"others are there": {[]func(map[string]any){
			set(map[string]any{"team": "a"}, "metadata", "annotations"),
			set(map[string]any{"team": "a"}, "spec", "template", "metadata", "annotations"),
			set([]any{
				map[string]any{"name": "app", "env": []any{map[string]any{"name": "OWN", "value": "x"}}},
				map[string]any{"name": "sidecar", "env": []any{map[string]any{"name": "OWN", "value": "x"}, map[string]any{"name": "GONE", "value": "x"}, map[string]any{"name": "B", "value": "1"}}},
			}, "spec", "template", "spec", "containers"),
		}, "7", []string{
			`{"op":"add","path":"/metadata/annotations/reroll.dev~1ledger","value":"{}"}`,
			`{"op":"add","path":"/spec/template/metadata/annotations/reroll.dev~1rolled","value":"7"}`,
			`{"op":"test","path":"/spec/template/spec/containers/0/name","value":"app"}`,
			`{"op":"add","path":"/spec/template/spec/containers/0/env/-","value":{"name":"A","value":"1"}}`,
			`{"op":"test","path":"/spec/template/spec/containers/1/name","value":"sidecar"}`,
			`{"op":"replace","path":"/spec/template/spec/containers/1/env/2","value":{"name":"B","value":"2"}}`,
			`{"op":"add","path":"/spec/template/spec/containers/1/env/-","value":{"name":"C","value":"3"}}`,
			`{"op":"remove","path":"/spec/template/spec/containers/1/env/1"}`,
		}},
	} {
		t.Run(about, func(t *testing.T) {
			w := readRollout(t, tc.changes...)
			patch, err := rollout().Patch(&w, `{}`, &workload.Marking{Env: env, Removed: removed, Rolled: tc.rolled}, annotations.DefaultNames())
			if err != nil || patch.Type != types.JSONPatchType {
				t.Fatalf("%s, %v", patch.Type, err)
			}
			want := "[" + strings.Join(append(append([]string{}, fence...), tc.want...), ",") + "]"
			if string(patch.Body) != want {
				var got []json.RawMessage
				_ = json.Unmarshal(patch.Body, &got)
				t.Errorf("got  %s\nwant %s", patch.Body, want)
			}
		})
	}
}

func TestHowFarARolloutHasCome(t *testing.T) {
	w := readRollout(t, set(map[string]any{
		"observedGeneration": "7", "replicas": int64(4), "updatedReplicas": int64(1), "readyReplicas": int64(4), "availableReplicas": int64(3), "abort": true,
		"pauseConditions": []any{map[string]any{"reason": "CanaryPauseStep"}},
		"conditions":      []any{"odd", map[string]any{"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}, map[string]any{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}},
	}, "status"), set(int64(3), "spec", "replicas"), set(int64(60), "spec", "progressDeadlineSeconds"), set(true, "spec", "paused"))
	want := workload.Progress{
		Observed: true, Wanted: 3, Total: 4, Updated: 1, Ready: 4, Available: 3, Deadline: time.Minute,
		Paused: true, Pausing: true, Aborted: true, Refused: "exceeded quota", Overdue: true,
	}
	if w.Progress != want {
		t.Errorf("got %+v", w.Progress)
	}
	if got := readRollout(t).Progress; got != (workload.Progress{Wanted: 1}) {
		t.Errorf("of a new one %+v", got)
	}
}
