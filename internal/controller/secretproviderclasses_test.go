package controller

import (
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func readYAML(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

// A class that is deleted is no longer ignored, and keeps the data that Pods report. If the version
// of the deletion were unknown, the data would seem to be later than the opt-in, and Pods that
// started with another version of an object would be rolled. If data that arrived first counted as
// earlier, a rotation would be lost.
func TestADeletedClassConcernsWorkloadsFromThatVersionOn(t *testing.T) {
	s := newStage(t)
	web := workload.Workload{
		Key: named("web"), UID: "1", ResourceVersion: "2", References: []workload.Reference{{Key: source.LocalKey{Kind: source.SecretProviderClass, Name: "vault"}}},
	}
	web.Policy, _ = policy.Parse(map[string]string{annotations.DefaultNames().Auto: "true"}, nil, annotations.DefaultNames())
	s.known().PutWorkload(web, true)
	reports := s.controller.classReports("")
	report := func(resourceVersion, objectVersion string) {
		reports.arrives(readYAML(t, "{apiVersion: secrets-store.csi.x-k8s.io/v1, kind: SecretProviderClassPodStatus, metadata: {namespace: shop, name: web-1-vault, resourceVersion: '"+resourceVersion+"'}, status: {podName: web-1, secretProviderClassName: vault, objects: [{id: a, version: "+objectVersion+"}]}}"))
	}
	report("7", "v1")
	classes := s.controller.definitions("")
	ignored := func(resourceVersion string) *unstructured.Unstructured {
		return readYAML(t, "{apiVersion: secrets-store.csi.x-k8s.io/v1, kind: SecretProviderClass, metadata: {namespace: shop, name: vault, resourceVersion: '"+resourceVersion+"', annotations: {"+annotations.DefaultNames().Ignore+": 'true'}}}")
	}
	classes.arrives(ignored("8"))
	if f, _ := s.known().Facts(web.Key); len(f.Concerns) != 0 {
		t.Fatalf("ignored, and it concerns the workload: %+v", f.Concerns)
	}
	check := func(content uint64) {
		t.Helper()
		f, _ := s.known().Facts(web.Key)
		if len(f.Concerns) != 1 || f.Concerns[0].Seen.Annotations != 9 || f.Concerns[0].Seen.Content != content {
			t.Errorf("deleted in version 9, with data from version %d: %+v", content, f.Concerns)
		}
	}
	classes.departs(inShop("vault"), "9")
	check(7)
	classes.arrives(ignored("10"))
	report("12", "v2")
	classes.arrives(ignored("13"))
	classes.departs(inShop("vault"), "9")
	check(12)
}

// Its CustomResourceDefinition does not hold everybody to what a status should be. What cannot be
// read counts as nothing, and takes nothing else with it.
func TestStatusesWithUnexpectedFields(t *testing.T) {
	const head = "{apiVersion: secrets-store.csi.x-k8s.io/v1, kind: SecretProviderClassPodStatus, metadata: {namespace: shop, name: web-1-vault, resourceVersion: '7'}"
	const named = ", status: {podName: web-1, secretProviderClassName: vault"
	for about, tc := range map[string]struct {
		text    string
		class   string
		objects map[string]string
	}{
		"as it should be":               {head + named + ", objects: [{id: a, version: v1}, {id: b, version: v2}]}}", "vault", map[string]string{"a": "v1", "b": "v2"}},
		"no status":                     {head + "}", "", nil},
		"a status that is null":         {head + ", status: null}", "", nil},
		"a status that is text":         {head + ", status: mounted}", "", nil},
		"a status that is a list":       {head + ", status: [a]}", "", nil},
		"no class":                      {head + ", status: {podName: web-1, objects: [{id: a, version: v1}]}}", "", map[string]string{"a": "v1"}},
		"a class that is a number":      {head + ", status: {secretProviderClassName: 7}}", "", nil},
		"no objects":                    {head + named + "}}", "vault", nil},
		"objects that are null":         {head + named + ", objects: null}}", "vault", nil},
		"objects that are text":         {head + named + ", objects: many}}", "vault", nil},
		"objects that are a map":        {head + named + ", objects: {a: v1}}}", "vault", nil},
		"an object that is text":        {head + named + ", objects: [a, {id: b, version: v2}]}}", "vault", map[string]string{"b": "v2"}},
		"an object that is null":        {head + named + ", objects: [null, {id: b, version: v2}]}}", "vault", map[string]string{"b": "v2"}},
		"an object without an id":       {head + named + ", objects: [{version: v1}, {id: b, version: v2}]}}", "vault", map[string]string{"b": "v2"}},
		"an object without a version":   {head + named + ", objects: [{id: a}, {id: b, version: v2}]}}", "vault", map[string]string{"b": "v2"}},
		"an id that is a number":        {head + named + ", objects: [{id: 1, version: v1}, {id: b, version: v2}]}}", "vault", map[string]string{"b": "v2"}},
		"a version that is a list":      {head + named + ", objects: [{id: a, version: [v1]}, {id: b, version: v2}]}}", "vault", map[string]string{"b": "v2"}},
		"an object that is there twice": {head + named + ", objects: [{id: a, version: v1}, {id: a, version: v2}]}}", "vault", map[string]string{"a": "v2"}},
	} {
		t.Run(about, func(t *testing.T) {
			o := readYAML(t, tc.text)
			if r, _ := classReport(o); r.Class.Name != tc.class || !maps.Equal(r.Objects, tc.objects) {
				t.Errorf("it is of %q, and has %v", r.Class.Name, r.Objects)
			}
			// From a snapshot and from the watch, over what was right before, and gone.
			s := newStage(t)
			reports, right := s.controller.classReports(""), readYAML(t, head+named+", objects: [{id: a, version: v1}]}}")
			for _, live := range []bool{false, true} {
				reports.put(right, live)
				reports.put(o, live)
				reports.hasOnly(map[types.NamespacedName]struct{}{inShop("web-1-vault"): {}})
				want := 0
				if tc.class != "" {
					want = 1
				}
				if len(s.controller.classes.reports) != want {
					t.Errorf("live: %t: %d reports are known, want %d", live, len(s.controller.classes.reports), want)
				}
			}
			reports.arrives(right)
			if len(s.controller.classes.reports) != 1 {
				t.Error("the one that is right again is not known")
			}
			reports.departs(inShop("web-1-vault"), "")
			if len(s.controller.classes.reports) != 0 {
				t.Errorf("%d are known of one that is gone", len(s.controller.classes.reports))
			}
		})
	}
}

// A status whose labels were written later has a later resource version than its mounted versions.
func TestWhetherAStatusWasTouched(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	entry := func(fields string, after time.Duration) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: fields, Time: &metav1.Time{Time: at.Add(after)}, FieldsV1: metav1.NewFieldsV1(`{"f:` + fields + `":{}}`)}
	}
	objects, untimed := entry("objects", 0), metav1.ManagedFieldsEntry{FieldsV1: metav1.NewFieldsV1(`{"f:labels":{}}`)}
	for name, tc := range map[string]struct {
		version string
		fields  []metav1.ManagedFieldsEntry
		want    bool
	}{
		"only the driver has written it":      {"7", []metav1.ManagedFieldsEntry{objects}, false},
		"its labels were written later":       {"7", []metav1.ManagedFieldsEntry{objects, entry("labels", time.Minute)}, true},
		"its labels were written long before": {"7", []metav1.ManagedFieldsEntry{entry("labels", -time.Minute), objects}, false},
		"its labels were written just before": {"7", []metav1.ManagedFieldsEntry{entry("labels", -source.StartLag), objects}, true}, // maybe by another clock
		"one write has no time":               {"7", []metav1.ManagedFieldsEntry{objects, untimed}, true},
		"no manager is recorded":              {"7", nil, true},
		"its version is no number":            {"x", []metav1.ManagedFieldsEntry{objects}, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{Object: map[string]any{}}
			o.SetResourceVersion(tc.version)
			o.SetManagedFields(tc.fields)
			if r, _ := classReport(o); r.Touched != tc.want {
				t.Errorf("touched %t, want %t", r.Touched, tc.want)
			}
		})
	}
}
