package harness

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEditSetsAndRemovesKeysInOneWrite(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Apply(ctx, settings))

	must(t, n.Edit(ctx, ref(t, "configmap/settings"), "size=large", "note=a=b", "colour-"))
	cm, err := n.clients.typed.CoreV1().ConfigMaps(n.Name).Get(ctx, "settings", metav1.GetOptions{})
	must(t, err)
	if diff := cmp.Diff(map[string]string{"size": "large", "note": "a=b"}, cm.Data); diff != "" {
		t.Errorf("data of the ConfigMap (-want +got):\n%s", diff)
	}

	must(t, n.Edit(ctx, ref(t, "secrets/login"), "password=hunter3", "user-"))
	secret, err := n.clients.typed.CoreV1().Secrets(n.Name).Get(ctx, "login", metav1.GetOptions{})
	must(t, err)
	if diff := cmp.Diff(map[string][]byte{"password": []byte("hunter3")}, secret.Data); diff != "" {
		t.Errorf("data of the Secret (-want +got):\n%s", diff)
	}
	if writes := edits(n); writes > 2 {
		t.Errorf("two edits were %d writes", writes)
	}
	wantError(t, n.Edit(ctx, ref(t, "deployment/web"), "a=b"), "deployment/web has no data to edit")
}

func TestMetadataAndScaleAndDelete(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Apply(ctx, workloads))
	web := ref(t, "Deployments/web")
	must(t, n.Annotate(ctx, web, "a=1", "b=2"))
	must(t, n.Annotate(ctx, web, "a-"))
	must(t, n.Label(ctx, web, "team=shop"))
	must(t, n.Scale(ctx, web, 3))
	obj, err := n.Get(ctx, web)
	must(t, err)
	if _, there := obj.GetAnnotations()["a"]; there || obj.GetAnnotations()["b"] != "2" || obj.GetLabels()["team"] != "shop" {
		t.Errorf("annotations %v, labels %v", obj.GetAnnotations(), obj.GetLabels())
	}
	if replicas := obj.Object["spec"].(map[string]any)["replicas"]; replicas != int64(3) {
		t.Errorf("%v replicas", replicas)
	}
	must(t, n.Delete(ctx, web))
	if _, err := n.Get(ctx, web); !apierrors.IsNotFound(err) {
		t.Errorf("after Delete the answer is %v", err)
	}
	wantError(t, n.Delete(ctx, web), "deployment/web")
	wantError(t, n.Annotate(ctx, web, "a=1"), "change deployment/web")
	wantError(t, n.Annotate(ctx, ref(t, "gadget/web"), "a=1"), `the cluster serves no kind "gadget"`)
}

func TestApplyGoesByTheNamespaceAndTakesFieldsBack(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Apply(ctx, "# only words\n---\n"+settings+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: here, namespace: \"${NS}\"}\ndata: {where: \"${NS}\", other: \"$(A) $B\"}\n"))
	cm, err := n.clients.typed.CoreV1().ConfigMaps(n.Name).Get(ctx, "here", metav1.GetOptions{})
	must(t, err)
	if diff := cmp.Diff(map[string]string{"where": n.Name, "other": "$(A) $B"}, cm.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}

	must(t, n.Edit(ctx, ref(t, "configmap/settings"), "colour=red"))
	must(t, n.Apply(ctx, settings))
	cm, err = n.clients.typed.CoreV1().ConfigMaps(n.Name).Get(ctx, "settings", metav1.GetOptions{})
	must(t, err)
	if cm.Data["colour"] != "green" {
		t.Errorf("an edit withstands an apply: %v", cm.Data)
	}

	for manifest, want := range map[string]string{
		strings.Replace(settings, "name: login", "name: login, namespace: default", 1): `document 2, Secret "login": it is for namespace "default"`,
		"# only words": "no object in it",
		"a: [":         "document 1:",
		"kind: Pod":    "document 1: an object needs apiVersion, kind and metadata.name",
		"apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}": `document 1, Gadget "a": kind Gadget.example.com`,
	} {
		wantError(t, n.Apply(ctx, manifest), want)
	}
}

func TestChangesAndNamesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, changes := range [][]string{nil, {""}, {"-"}, {"=value"}, {"colour"}, {"size=large", "colour"}} {
		if _, err := parseChanges(changes); err == nil || !strings.Contains(err.Error(), "write key=value to set a key, key- to remove it") {
			t.Errorf("changes %q: %v", changes, err)
		}
	}
	for _, name := range []string{"", "web", "/web", "deployment/", "deployment/web/0"} {
		if _, err := ParseRef(name); err == nil || !strings.Contains(err.Error(), "write KIND/NAME") {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

func TestAwaitSaysHowThingsStood(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	looks := 0
	err := Await(ctx, "the tide", func(ctx context.Context) error {
		if looks++; looks == 3 {
			cancel(errors.New("the day is over"))
		}
		if ctx.Err() != nil {
			t.Error("the look is cut off")
		}
		return errors.New("it is at " + strconv.Itoa(looks))
	})
	wantError(t, err, "awaiting the tide: the day is over: it is at 3")
	err = Await(t.Context(), "the tide", func(context.Context) error { return final{errors.New("there is no sea")} })
	wantError(t, err, "awaiting the tide: there is no sea")
}
