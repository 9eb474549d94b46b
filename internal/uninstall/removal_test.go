package uninstall

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// shop is a cluster with Deployments, which fails as a test says.
type shop struct {
	*simapi.Server
	unread []string
	// before is called before each patch.
	before func(name string) error
}

func newShop(t *testing.T, texts map[string]string) *shop {
	t.Helper()
	s := &shop{Server: simapi.New(time.Unix(1000, 0)), before: func(string) error { return nil }}
	for name, text := range texts {
		_, obj := object(t, deployment+text)
		d := obj.(*appsv1.Deployment)
		d.Name, d.ResourceVersion = name, ""
		if _, err := s.Create(d, "reroll"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *shop) EachWorkload(_ context.Context, each func(kinds.Kind, runtime.Object)) ([]string, error) {
	kind, _ := kinds.All().Named("Deployment")
	for _, obj := range s.List("deployments") {
		d := obj.(*appsv1.Deployment).DeepCopy()
		if d.Spec.Paused { // the server does not record who wrote that
			d.ManagedFields = append(d.ManagedFields, owns("reroll", pauseFields))
		}
		each(kind, d)
	}
	return s.unread, nil
}

func (s *shop) Again(_ context.Context, _ kinds.Kind, key workload.Key) (runtime.Object, error) {
	obj, err := s.Get("deployments", types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return obj, err
}

func (s *shop) Patch(_ context.Context, _ kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	if err := s.before(key.Name); err != nil {
		return nil, err
	}
	return s.Server.Patch("deployments", types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, patch.Body, "reroll")
}

func (s *shop) edit(t *testing.T, name, key, value string) {
	t.Helper()
	_, err := s.Edit("deployments", types.NamespacedName{Namespace: "shop", Name: name}, "kubectl", func(o simapi.Object) {
		all := o.GetAnnotations()
		if value == "" {
			delete(all, key)
		} else {
			all[key] = value
		}
		o.SetAnnotations(all)
	})
	if err != nil {
		t.Fatal(err)
	}
}

const (
	adopted = `metadata: {annotations: {reroll.dev/ledger: "{}", example.com/own: a}}`
	marked  = adopted + "\nspec: {template: {spec: {containers: [{name: app, env: [{name: STAKATER_WEB_CONFIGMAP, value: a}]}]}}}"
	paused  = "metadata: {annotations: {" + pausedAt + `: "2026-03-01T12:00:00Z"}}` + "\nspec: {paused: true}"
)

// run returns what is printed.
func (s *shop) run(t *testing.T, dryRun bool) (string, *Run) {
	t.Helper()
	var out strings.Builder
	r := &Run{Cluster: s, Names: annotations.DefaultNames(), DryRun: dryRun, Out: &out}
	if err := r.Workloads(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.Summary()
	return out.String(), r
}

func TestARemovalListsThenRemovesThenFindsMarkersOnly(t *testing.T) {
	s := newShop(t, map[string]string{"api": adopted, "web": marked, "cart": paused, "other": "metadata: {annotations: {example.com/own: a}}"})
	version := s.Version()
	const left = "Deployment shop/web: stays in the pod template: STAKATER_WEB_CONFIGMAP\n"
	const keep = "Change markers stay in 1 pod template. They have no effect, and to remove one rolls the workload.\n"
	want := `Deployment shop/api: would remove annotation reroll.dev/ledger
Deployment shop/cart: would resume it, which rolls out its pending change, remove annotation ` + pausedAt + `
Deployment shop/web: would remove annotation reroll.dev/ledger
` + left + "Would clean 3 objects, and resume 1 of them.\n" + keep
	if got, _ := s.run(t, true); got != want || s.Version() != version {
		t.Errorf("a dry run prints (and has written %d times)\n%s", s.Version()-version, got)
	}
	want = strings.NewReplacer("would remove", "removed", "would resume", "resumed", "remove ann", "removed ann", "Would clean", "Cleaned", "and resume", "and resumed").Replace(want)
	got, r := s.run(t, false)
	if got != want || r.Failed() != 0 || s.Version() != version+3 {
		t.Errorf("got (%d failed, %d writes)\n%s\nwant\n%s", r.Failed(), s.Version()-version, got, want)
	}
	for _, obj := range s.List("deployments") {
		d := obj.(*appsv1.Deployment)
		if d.Spec.Paused || d.Annotations[annotations.Ledger] != "" || d.Name != "cart" && d.Annotations["example.com/own"] != "a" {
			t.Errorf("%s has %v, paused %v", d.Name, d.Annotations, d.Spec.Paused)
		}
	}
	if got, _ := s.run(t, false); got != left+"Cleaned 0 objects.\n"+keep {
		t.Errorf("again:\n%s", got)
	}
}

func TestAnObjectThatChangesMeanwhile(t *testing.T) {
	for about, tc := range map[string]struct {
		change func(t *testing.T, s *shop)
		prints string
		failed int
	}{
		"is read again, and keeps the change": {
			func(t *testing.T, s *shop) { s.edit(t, "web", "example.com/own", "b") },
			"Deployment shop/web: removed annotation reroll.dev/ledger\nCleaned 1 object.\n", 0,
		},
		"has nothing left to remove": {
			func(t *testing.T, s *shop) { s.edit(t, "web", annotations.Ledger, "") },
			"Cleaned 0 objects.\n", 0,
		},
		"is deleted": {
			func(t *testing.T, s *shop) {
				if err := s.Delete("deployments", types.NamespacedName{Namespace: "shop", Name: "web"}); err != nil {
					t.Fatal(err)
				}
			},
			"Cleaned 0 objects.\n", 0,
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := newShop(t, map[string]string{"web": adopted})
			s.before = func(string) error {
				s.before = func(string) error { return nil }
				tc.change(t, s)
				return nil
			}
			got, r := s.run(t, false)
			if got != tc.prints || r.Failed() != tc.failed {
				t.Errorf("%d failed, got\n%s", r.Failed(), got)
			}
			for _, obj := range s.List("deployments") {
				if obj.GetAnnotations()[annotations.Ledger] != "" || about == "is read again, and keeps the change" && obj.GetAnnotations()["example.com/own"] != "b" {
					t.Errorf("it has %v", obj.GetAnnotations())
				}
			}
		})
	}
}

func TestARemovalContinuesAfterAFailure(t *testing.T) {
	s := newShop(t, map[string]string{"api": adopted, "busy": adopted, "web": adopted})
	s.unread = []string{"statefulsets"}
	tries := 0
	s.before = func(name string) error {
		switch name {
		case "api":
			return errors.New("admission webhook \x1b[31mdenied\nthe request")
		case "busy":
			tries++
			return apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, name, errors.New("changed"))
		}
		return nil
	}
	got, r := s.run(t, false)
	for _, line := range []string{
		"Deployment shop/api: failed: admission webhook [31mdenied the request\n",
		"Deployment shop/busy: failed: Operation cannot be fulfilled",
		"Deployment shop/web: removed annotation reroll.dev/ledger\n",
		"statefulsets: you may not list them, so there may be more\n",
		"Cleaned 1 object; 3 failed.\n",
	} {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in\n%s", line, got)
		}
	}
	if r.Failed() != 3 || tries != attempts {
		t.Errorf("%d failed, and %d tries", r.Failed(), tries)
	}
}

func TestTheObjectsOfTheController(t *testing.T) {
	one := func(resource, kind, name string, fields ...metav1.ManagedFieldsEntry) runtime.Object {
		version := "v1"
		if kind == "Lease" {
			version = "coordination.k8s.io/v1"
		}
		return &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: version, Kind: kind},
			ObjectMeta: metav1.ObjectMeta{Namespace: "reroll", Name: name, UID: types.UID(resource), ResourceVersion: "3", ManagedFields: fields},
		}
	}
	all := []runtime.Object{
		one("leases", "Lease", "stakater-reloader-lock"), one("secrets", "Secret", "reroll-digest-key"), one("configmaps", "ConfigMap", "reloader-meta-info"),
	}
	taken := slices.Clone(all)
	taken[0] = one("leases", "Lease", "stakater-reloader-lock", owns("Reloader", `{"f:spec":{"f:renewTime":{}}}`))
	for about, tc := range map[string]struct {
		objects []runtime.Object
		dryRun  bool
		failed  int
		refused string
		prints  string
		deleted []string
	}{
		"are listed": {
			objects: all, dryRun: true,
			prints: "Lease reroll/stakater-reloader-lock: would delete\nSecret reroll/reroll-digest-key: would delete\nConfigMap reroll/reloader-meta-info: would delete\n",
		},
		"are deleted, the ConfigMap last": {
			objects: all, deleted: []string{"leases", "secrets", "configmaps"},
			prints: "Lease reroll/stakater-reloader-lock: deleted\nSecret reroll/reroll-digest-key: deleted\nConfigMap reroll/reloader-meta-info: deleted\n",
		},
		"are gone already": {},
		"stay where Reloader uses them": {
			objects: taken, deleted: []string{"secrets", "configmaps"},
			prints: "Lease reroll/stakater-reloader-lock: stays: another program uses it\nSecret reroll/reroll-digest-key: deleted\nConfigMap reroll/reloader-meta-info: deleted\n",
		},
		"stay while a workload is not clean": {
			objects: all, failed: 1, prints: "namespace reroll: the objects of the controller stay until all workloads are cleaned\n",
		},
		"are found again after one that fails": {
			objects: all, refused: "secrets", deleted: []string{"leases"},
			prints: "Lease reroll/stakater-reloader-lock: deleted\nSecret reroll/reroll-digest-key: failed: secrets \"reroll-digest-key\" is forbidden: <nil>\n",
		},
	} {
		t.Run(about, func(t *testing.T) {
			scheme := fake.NewTestScheme()
			if err := metav1.AddMetaToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			client := fake.NewSimpleMetadataClient(scheme, tc.objects...)
			var deleted []string
			client.PrependReactor("delete", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
				resource := action.GetResource()
				if resource.Resource == tc.refused {
					return true, nil, apierrors.NewForbidden(resource.GroupResource(), action.(clienttesting.DeleteAction).GetName(), nil)
				}
				only := action.(clienttesting.DeleteActionImpl).DeleteOptions.Preconditions
				if *only.UID != types.UID(resource.Resource) || *only.ResourceVersion != "3" {
					t.Errorf("%s: deleted under %+v", resource.Resource, only)
				}
				deleted = append(deleted, resource.Resource)
				return false, nil, nil
			})
			var out strings.Builder
			r := &Run{DryRun: tc.dryRun, Out: &out, failed: tc.failed}
			r.Own(t.Context(), client, "reroll")
			if out.String() != tc.prints || !slices.Equal(deleted, tc.deleted) {
				t.Errorf("deleted %v, and printed\n%s", deleted, out.String())
			}
		})
	}
}

func TestTheKeysOfControllersAreFound(t *testing.T) {
	key := func(ns, name string) runtime.Object {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	}
	for about, tc := range map[string]struct {
		ns        string
		forbidden bool
		want      []string
	}{
		"in all namespaces":                 {"", false, []string{"default", "reroll"}},
		"in one":                            {"default", false, []string{"default"}},
		"in the one of the kubeconfig only": {"", true, []string{"default"}},
	} {
		t.Run(about, func(t *testing.T) {
			scheme := fake.NewTestScheme()
			if err := metav1.AddMetaToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			client := fake.NewSimpleMetadataClient(scheme, key("default", "reroll-digest-key"), key("reroll", "reroll-digest-key"))
			client.PrependReactor("list", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if got := action.(clienttesting.ListAction).GetListRestrictions().Fields.String(); got != "metadata.name=reroll-digest-key" {
					t.Errorf("it lists %q", got)
				}
				return tc.forbidden, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", nil)
			})
			found, partly, err := Keys(t.Context(), client, tc.ns, "default", "shop")
			if err != nil || partly != tc.forbidden || !slices.Equal(found, tc.want) {
				t.Errorf("got %v, partly %t, %v", found, partly, err)
			}
		})
	}
}
