package kinds

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err := errors.Join(err, o.UnmarshalJSON(raw)); err != nil {
		t.Fatal(err)
	}
	return o
}

func kindOf(t *testing.T, text string) Kind {
	t.Helper()
	a, err := ParseAdded(text)
	if err != nil {
		t.Fatal(err)
	}
	k, _ := All(a).Of(a.Group, a.Kind)
	return k
}

const pool = `
apiVersion: example.org/v1
kind: Pool
metadata: {namespace: shop, name: web, uid: u-1, resourceVersion: "42"}
spec:
  size: 3
  pods:
    template:
      metadata: {labels: {app: web}}
      drain: slowly
      spec: {containers: [{image: web, env: [{name: A, value: b}]}]}
`

func TestWhereThePodTemplateOfAnAddedKindIs(t *testing.T) {
	k := kindOf(t, "example.org/v1/Pool:spec.pods.template")
	w, err := k.Read(objectOf(t, pool), annotations.DefaultNames())
	if err != nil {
		t.Fatal(err)
	}
	if w.Key.String() != "Pool.example.org shop/web" || w.Key.Object() != "Pool" || w.APIVersion != "example.org/v1" || w.Selector.MatchLabels["app"] != "web" {
		t.Errorf("%s, %s, %v", w.Key, w.APIVersion, w.Selector)
	}
	patch, err := k.Patch(&w, "{}", &workload.Marking{Rolled: "7"}, annotations.DefaultNames())
	const want = `{"metadata":{"uid":"u-1","resourceVersion":"42","annotations":{"reroll.dev/ledger":"{}"}},"spec":{"pods":{"template":{"metadata":{"annotations":{"reroll.dev/rolled":"7"}}}}}}`
	if err != nil || patch.Type != types.MergePatchType || string(patch.Body) != want {
		t.Errorf("%s %s, %v", patch.Type, patch.Body, err)
	}
	// Lists are edited where they stand. The container has no name, so that none can be compared.
	patch, err = k.Patch(&w, "{}", &workload.Marking{Env: []workload.EnvMark{{Variable: "B", Value: "2"}}}, annotations.DefaultNames())
	if err != nil || patch.Type != types.JSONPatchType || !strings.Contains(string(patch.Body), `"path":"/spec/pods/template/spec/containers/0/env/-"`) || strings.Contains(string(patch.Body), "/name") {
		t.Errorf("%s %s, %v", patch.Type, patch.Body, err)
	}
}

// The API server takes any DNS label for the version of a custom kind.
func TestTheVersionsThatACustomKindMayHave(t *testing.T) {
	for version, legal := range map[string]bool{
		"v1": true, "v1alpha1": true, "stable": true, "v1-2": true, "x": true, "v2024a": true,
		"": false, "1": false, "1v": false, "-v1": false, "v1-": false, "V1": false, "v1.2": false, "v_1": false,
	} {
		if a, err := ParseAdded("example.org/" + version + "/Pool"); (err == nil) != legal || legal && a.Version != version {
			t.Errorf("%q: %+v, %v", version, a, err)
		}
	}
}

func TestAnObjectWithoutAPodTemplate(t *testing.T) {
	for about, text := range map[string]string{
		"another path":     pool,
		"nothing at all":   "{apiVersion: example.org/v1, kind: Pool, metadata: {name: web}}",
		"no map":           "{apiVersion: example.org/v1, kind: Pool, metadata: {name: web}, spec: {template: 7}}",
		"null":             "{apiVersion: example.org/v1, kind: Pool, metadata: {name: web}, spec: {template: null}}",
		"no containers":    "{apiVersion: example.org/v1, kind: Pool, metadata: {name: web}, spec: {template: {spec: {containers: []}}}}",
		"containers: text": "{apiVersion: example.org/v1, kind: Pool, metadata: {name: web}, spec: {template: {spec: {containers: many}}}}",
		"a spec of text":   "{apiVersion: example.org/v1, kind: Pool, metadata: {name: web}, spec: none}",
	} {
		_, err := kindOf(t, "example.org/v1/Pool").Read(objectOf(t, text), annotations.DefaultNames())
		if missing, ok := errors.AsType[NoTemplateError](err); !ok || missing.Path != "spec.template" {
			t.Errorf("%s: %v", about, err)
		}
	}
	const odd = "{apiVersion: example.org/v1, kind: Pool, metadata: {name: web}, spec: {template: {spec: {containers: [{name: 7}]}}}}"
	_, err := kindOf(t, "example.org/v1/Pool").Read(objectOf(t, odd), annotations.DefaultNames())
	if _, ok := errors.AsType[NoTemplateError](err); err == nil || ok {
		t.Errorf("a template that cannot be read: %v", err)
	}
}

func TestHowThePodsOfACustomKindAreFound(t *testing.T) {
	const head, tail = "{apiVersion: x/v1, kind: X, metadata: {name: web}, spec: {", "template: {metadata: {labels: {of: template}}, spec: {containers: [{name: app}]}}}}"
	for selector, want := range map[string]string{
		"selector: {matchLabels: {a: b}}, ":                                        "a=b",
		"selector: {matchExpressions: [{key: a, operator: In, values: [b, c]}]}, ": "a in (b,c)",
		"selector: {a: b}, ": "a=b",
		"selector: {}, ":     "of=template",
		"selector: a, ":      "of=template",
		"":                   "of=template",
	} {
		p, err := templatedParts(objectOf(t, head+selector+tail), specTemplate())
		if got := metav1.FormatLabelSelector(p.Selector); err != nil || got != want {
			t.Errorf("%s: %s, %v", selector, got, err)
		}
	}
	const bare = "template: {spec: {containers: [{name: app}]}}}}"
	for _, selector := range []string{"", "selector: {}, ", "selector: {matchLabels: {}}, "} {
		p, err := templatedParts(objectOf(t, head+selector+bare), specTemplate())
		if found, wrong := metav1.LabelSelectorAsSelector(p.Selector); err != nil || wrong != nil || found.Matches(labels.Set{"of": "another"}) || !p.SelectorGuessed {
			t.Errorf("without labels, %q: %v finds pods of others (%v, %v)", selector, p.Selector, err, wrong)
		}
	}
	p, err := knativeService().Parts(objectOf(t, head+tail))
	if got := metav1.FormatLabelSelector(p.Selector); err != nil || got != "serving.knative.dev/service=web" {
		t.Errorf("a Knative Service: %s, %v", got, err)
	}
}

func TestHowFarACustomKindHasCome(t *testing.T) {
	const head, tail = "{apiVersion: x/v1, kind: X, metadata: {name: web, generation: 2}, spec: {template: {spec: {containers: [{name: app}]}}", "}"
	for status, want := range map[string]struct {
		progress              workload.Progress
		rolledOut, unobserved bool
	}{
		"}": {workload.Progress{Observed: true, NoCounts: true}, true, true},
		"}, status: {replicas: 2, updatedReplicas: 1}":                          {workload.Progress{Observed: true, Wanted: 2, Total: 2, Updated: 1}, false, true},
		"}, status: {observedGeneration: '2', replicas: 2, updatedReplicas: 2}": {workload.Progress{Observed: true, Wanted: 2, Total: 2, Updated: 2}, true, true},
		", replicas: 3, paused: true}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 1, readyReplicas: 3, availableReplicas: 2}": {
			workload.Progress{Observed: true, Wanted: 3, Total: 3, Updated: 1, Ready: 3, Available: 2, Paused: true}, false, false,
		},
		"}, status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2}": {workload.Progress{Wanted: 2, Total: 2, Updated: 2}, false, false},
		"}, status: {observedGeneration: 2, desiredNumberScheduled: 4, currentNumberScheduled: 4, updatedNumberScheduled: 4, numberAvailable: 3}": {
			workload.Progress{Observed: true, Wanted: 4, Total: 4, Updated: 4, Ready: 3, Available: 3}, true, false,
		},
		"}, status: {observedGeneration: 2, conditions: [{type: Ready, status: Unknown}]}": {workload.Progress{Observed: true, NoCounts: true}, false, false},
		"}, status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}":  {workload.Progress{Observed: true, NoCounts: true}, true, false},
	} {
		p, err := templatedParts(objectOf(t, head+status+tail), specTemplate())
		if err != nil || p.Progress != want.progress || p.RolledOut != want.rolledOut || p.Unobserved != want.unobserved {
			t.Errorf("%s: %+v, at rest: %v, unobserved: %v, %v", status, p.Progress, p.RolledOut, p.Unobserved, err)
		}
	}
}

// Every kind has a name of its own, whatever others call theirs: it is the key of all that is known
// about an object.
func TestNoTwoKindsHaveOneName(t *testing.T) {
	a, errA := ParseAdded("example.org/v1/Deployment")
	b, errB := ParseAdded("other.example/v1/Deployment")
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	var names, labels []string
	for _, k := range All(a, b) {
		names, labels = append(names, k.Name), append(labels, k.Label())
	}
	for _, all := range [][]string{names, labels} {
		slices.Sort(all)
		if len(slices.Compact(slices.Clone(all))) != len(all) {
			t.Errorf("two are alike: %q", all)
		}
	}
}

func TestWhatMadeAnObject(t *testing.T) {
	owned := func(apiVersion, kind, labels string) *metav1.ObjectMeta {
		o := objectOf(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: shop, name: web, labels: {"+labels+"}, ownerReferences: [{apiVersion: "+apiVersion+", kind: "+kind+", name: made, uid: u-9, controller: true}]}}")
		return &metav1.ObjectMeta{Namespace: o.GetNamespace(), Labels: o.GetLabels(), OwnerReferences: o.GetOwnerReferences()}
	}
	key := func(kind, name string) workload.Key {
		return workload.Key{Kind: kind, Namespace: "shop", Name: name}
	}
	for about, tc := range map[string]struct {
		meta *metav1.ObjectMeta
		want *workload.Parent
	}{
		"a CloneSet":                        {owned("apps.kruise.io/v1alpha1", "CloneSet", ""), &workload.Parent{Key: key("CloneSet", "made"), UID: "u-9"}},
		"another version of it":             {owned("apps.kruise.io/v1beta1", "CloneSet", ""), &workload.Parent{Key: key("CloneSet", "made"), UID: "u-9"}},
		"a kind of that name":               {owned("example.org/v1", "CloneSet", ""), nil},
		"a StatefulSet of OpenKruise":       {owned("apps.kruise.io/v1beta1", "StatefulSet", ""), &workload.Parent{Key: key("StatefulSet.apps.kruise.io", "made"), UID: "u-9"}},
		"a revision of a Knative Service":   {owned("serving.knative.dev/v1", "Revision", "serving.knative.dev/service: shop"), &workload.Parent{Key: key("Service.serving.knative.dev", "shop")}},
		"a revision of no Service":          {owned("serving.knative.dev/v1", "Revision", ""), nil},
		"a kind that nothing is known of":   {owned("example.org/v1", "Database", ""), nil},
		"nobody":                            {&metav1.ObjectMeta{Namespace: "shop"}, nil},
		"a version that cannot be read":     {owned("a/b/c", "CloneSet", ""), nil},
		"Kubernetes' Service of that label": {owned("v1", "Service", "serving.knative.dev/service: shop"), nil},
		// What it makes are ReplicaSets. Of what an operator makes that runs as one, it knows
		// nothing.
		"a Deployment":  {owned("apps/v1", "Deployment", ""), nil},
		"a StatefulSet": {owned("apps/v1", "StatefulSet", ""), nil},
		"a DaemonSet":   {owned("apps/v1", "DaemonSet", ""), nil},
		"a CronJob":     {owned("batch/v1", "CronJob", ""), nil},
		"a Job":         {owned("batch/v1", "Job", ""), nil},
	} {
		got := All().parentOf(tc.meta)
		if (got == nil) != (tc.want == nil) || got != nil && *got != *tc.want {
			t.Errorf("%s: %+v", about, got)
		}
	}
	if got := All()[0].among.parentOf(owned("v1", "Pod", "")); got != nil {
		t.Errorf("a Pod: %+v", got)
	}
}
