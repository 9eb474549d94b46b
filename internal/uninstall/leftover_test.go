package uninstall

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
)

const pausedAt = "deployment.reloader.stakater.com/paused-at"

// owns is a field manager of the pause.
func owns(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", Time: &metav1.Time{Time: time.Unix(1, 0)}, FieldsV1: metav1.NewFieldsV1(fields)}
}

const pauseFields = `{"f:metadata":{"f:annotations":{"f:deployment.reloader.stakater.com/paused-at":{}}},"f:spec":{"f:paused":{}}}`

// object reads a manifest. Its kind is custom if the scheme does not know it.
func object(t *testing.T, text string, fields ...metav1.ManagedFieldsEntry) (kinds.Kind, runtime.Object) {
	t.Helper()
	raw := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &raw.Object); err != nil {
		t.Fatal(err)
	}
	raw.SetNamespace("shop")
	raw.SetName("web")
	raw.SetUID("uid-1")
	raw.SetResourceVersion("7")
	raw.SetManagedFields(fields)
	gvk := raw.GroupVersionKind()
	kind, ok := kinds.All().Of(gvk.Group, gvk.Kind)
	if !ok {
		t.Fatalf("there is no kind %s", gvk)
	}
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		return kind, raw
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, typed); err != nil {
		t.Fatal(err)
	}
	return kind, typed
}

const deployment = "apiVersion: apps/v1\nkind: Deployment\n"

func TestWhatIsLeftOnAWorkload(t *testing.T) {
	type want struct {
		Patch, Undecided string
		Markers          []string
	}
	head := `"resourceVersion":"7","uid":"uid-1"`
	for about, tc := range map[string]struct {
		text   string
		fields []metav1.ManagedFieldsEntry
		names  func(*annotations.Names)
		want   want
	}{
		"the ledger goes, and annotations of users and the marker stay": {
			text: deployment + `
metadata: {annotations: {reroll.dev/ledger: "{}", reroll.dev/settle: 5s, reloader.stakater.com/auto: "true"}}
spec: {template: {spec: {containers: [{name: app, env: [{name: STAKATER_WEB_CONFIGMAP, value: a}, {name: OTHER, value: b}]}, {name: side, env: [{name: STAKATER_WEB_CONFIGMAP, value: a}]}]}}}`,
			want: want{Patch: `{"metadata":{"annotations":{"reroll.dev/ledger":null},` + head + `}}`, Markers: []string{"STAKATER_WEB_CONFIGMAP"}},
		},
		"annotations of the pod template stay": {
			text: deployment + `
spec: {template: {metadata: {annotations: {reroll.dev/rolled: "1", reloader.stakater.com/last-reloaded-from: "{}"}}, spec: {containers: [{name: app}]}}}`,
			want: want{Markers: []string{"reloader.stakater.com/last-reloaded-from", "reroll.dev/rolled"}},
		},
		"nothing of Reroll is there": {text: deployment + `metadata: {annotations: {reroll.dev/settle: 5s, reloader.stakater.com/auto: "true"}}`},
		"it is being deleted": {
			text: deployment + `metadata: {deletionTimestamp: "2026-03-01T12:00:00Z", annotations: {reroll.dev/ledger: "{}"}}`,
		},
		"a Deployment that Reroll paused is resumed": {
			text:   deployment + "metadata: {annotations: {" + pausedAt + `: "2026-03-01T12:00:00Z", reroll.dev/ledger: "{}"}}` + "\nspec: {paused: true}",
			fields: []metav1.ManagedFieldsEntry{owns("reroll", pauseFields)},
			want:   want{Patch: `{"metadata":{"annotations":{"` + pausedAt + `":null,"reroll.dev/ledger":null},` + head + `},"spec":{"paused":false}}`},
		},
		"the annotation of the pause has another name": {
			text:   deployment + `metadata: {annotations: {example.com/paused: "2026-03-01T12:00:00Z"}}` + "\nspec: {paused: true}",
			fields: []metav1.ManagedFieldsEntry{owns("reroll", `{"f:metadata":{"f:annotations":{"f:example.com/paused":{}}},"f:spec":{"f:paused":{}}}`)},
			names:  func(n *annotations.Names) { n.PausedAt = "example.com/paused" },
			want:   want{Patch: `{"metadata":{"annotations":{"example.com/paused":null},` + head + `},"spec":{"paused":false}}`},
		},
		"a Deployment that a user paused stays paused": {
			text:   deployment + `metadata: {annotations: {reroll.dev/ledger: "{}"}}` + "\nspec: {paused: true}",
			fields: []metav1.ManagedFieldsEntry{owns("kubectl-rollout", `{"f:spec":{"f:paused":{}}}`)},
			want:   want{Patch: `{"metadata":{"annotations":{"reroll.dev/ledger":null},` + head + `}}`},
		},
		"a Deployment that Reloader paused is left to the user": {
			text:   deployment + "metadata: {annotations: {" + pausedAt + `: "2026-03-01T12:00:00Z"}}` + "\nspec: {paused: true}",
			fields: []metav1.ManagedFieldsEntry{owns("Reloader", pauseFields)},
			want:   want{Undecided: "it is paused, and its managed fields do not show that Reroll paused it"},
		},
		"the pause was ended by somebody else": {
			text: deployment + "metadata: {annotations: {" + pausedAt + `: "2026-03-01T12:00:00Z"}}`,
			want: want{Patch: `{"metadata":{"annotations":{"` + pausedAt + `":null},` + head + `}}`},
		},
		"a Job that ran for a CronJob": {
			text: `{apiVersion: batch/v1, kind: Job, metadata: {labels: {reroll.dev/run: "2", app: web}, annotations: {reroll.dev/ledger: "{}", reroll.dev/signed: x}}}`,
			want: want{Patch: `{"metadata":{"annotations":{"reroll.dev/ledger":null,"reroll.dev/signed":null},"labels":{"reroll.dev/run":null},` + head + `}}`},
		},
		"a Job that was unsuspended by its user": {
			text: `{apiVersion: batch/v1, kind: Job, metadata: {annotations: {reroll.dev/held: "true", reroll.dev/stays-suspended: "true"}}, spec: {suspend: false}}`,
			want: want{Patch: `{"metadata":{"annotations":{"reroll.dev/held":null,"reroll.dev/stays-suspended":null},` + head + `}}`},
		},
		"a Job that Reroll holds is left to the user": {
			text: `{apiVersion: batch/v1, kind: Job, metadata: {annotations: {reroll.dev/held: "true", reroll.dev/ledger: "{}"}}, spec: {suspend: true}}`,
			want: want{Undecided: "Reroll created it suspended. To run it, set spec.suspend to false; otherwise delete it"},
		},
		"a copy of a Job is left to the user": {
			text: `{apiVersion: batch/v1, kind: Job, metadata: {annotations: {reroll.dev/replaces: '{"name":"load","uid":"u","ledger":"{\"v\":1}"}', reroll.dev/signed: x}}, spec: {suspend: true}}`,
			want: want{Undecided: "it is the suspended copy of Job load, which Reroll was recreating. If that Job is missing, create it from this spec; then delete the copy"},
		},
		"a CronJob": {
			text: `{apiVersion: batch/v1, kind: CronJob, metadata: {annotations: {reroll.dev/ledger: "{}"}}}`,
			want: want{Patch: `{"metadata":{"annotations":{"reroll.dev/ledger":null},` + head + `}}`},
		},
		"a custom kind": {
			text: `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {annotations: {reroll.dev/ledger: "{}"}}, spec: {template: {metadata: {annotations: {reroll.dev/rolled: "1"}}, spec: {containers: [{name: app}]}}}}`,
			want: want{Patch: `{"metadata":{"annotations":{"reroll.dev/ledger":null},` + head + `}}`, Markers: []string{"reroll.dev/rolled"}},
		},
	} {
		t.Run(about, func(t *testing.T) {
			names := annotations.DefaultNames()
			if tc.names != nil {
				tc.names(&names)
			}
			kind, obj := object(t, tc.text, tc.fields...)
			l, err := Of(kind, obj, names)
			if err != nil {
				t.Fatal(err)
			}
			got := want{Undecided: l.Undecided, Markers: l.Markers}
			if l.Removable() {
				patch, err := l.Patch()
				if err != nil {
					t.Fatal(err)
				}
				got.Patch = string(patch.Body)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if l.Any() != (tc.want.Patch != "" || tc.want.Undecided != "" || tc.want.Markers != nil) {
				t.Errorf("listed: %v", l.Any())
			}
		})
	}
}
