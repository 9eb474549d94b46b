package controller

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

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
			read := func(text string) *unstructured.Unstructured {
				o := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
					t.Fatal(err)
				}
				return o
			}
			o := read(tc.text)
			if r, _ := classReport(o); r.Class.Name != tc.class || !maps.Equal(r.Objects, tc.objects) {
				t.Errorf("it is of %q, and has %v", r.Class.Name, r.Objects)
			}
			// From a snapshot and from the watch, over what was right before, and gone.
			s := newStage(t)
			reports, right := s.classReports(""), read(head+named+", objects: [{id: a, version: v1}]}}")
			for _, live := range []bool{false, true} {
				reports.put(right, live)
				reports.put(o, live)
				reports.keep(map[types.NamespacedName]struct{}{inShop("web-1-vault"): {}})
				want := 0
				if tc.class != "" {
					want = 1
				}
				if len(s.classes.reports) != want {
					t.Errorf("live: %t: %d reports are known, want %d", live, len(s.classes.reports), want)
				}
			}
			reports.put(right, true)
			if len(s.classes.reports) != 1 {
				t.Error("the one that is right again is not known")
			}
			reports.del(inShop("web-1-vault"), "")
			if len(s.classes.reports) != 0 {
				t.Errorf("%d are known of one that is gone", len(s.classes.reports))
			}
		})
	}
}
