package permissions

import (
	"os"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/stage"
)

// What the chart makes for the kinds of a values file, and their CustomResourceDefinitions.
const (
	customKinds     = "../scenarios/testdata/custom-kinds.yaml"
	customKindsCRDs = "../scenarios/testdata/custom-kinds-crds.yaml"
)

// letsNothingPassOnCustomKinds is about one that is known, and one whose pod template the chart was
// told of.
func letsNothingPassOnCustomKinds(t *testing.T, on *stage.Stage) {
	t.Helper()
	p := policedBy(t, on, func() (string, error) { return customKinds, nil })
	crds, err := os.ReadFile(customKindsCRDs)
	p.must(err)
	names, err := on.Cluster.InstallCRDs(p.ctx, crds)
	p.must(err)
	for _, name := range names {
		p.must(on.Harness.AwaitKind(p.ctx, name))
	}
	p.grant(everything())
	const workload = `
apiVersion: GROUP
kind: KIND
metadata: {name: web, labels: {team: a}, annotations: {note: theirs}}
spec:
  size: 3
  pods:
    drain: slowly
    template:
      also: theirs
      metadata: {labels: {app: web}, annotations: {note: theirs}}
      spec:
        initContainers: [{name: init, image: web, env: [{name: A, value: b}]}]
        containers:
          - {name: app, image: web, command: [serve], args: [a], env: [{name: A, value: b}, {name: STAKATER_MODE, value: theirs}]}
          - {name: side, image: web}
---
apiVersion: GROUP
kind: KIND
metadata: {name: nameless, annotations: {note: theirs}}
spec: {pods: {template: {spec: {containers: [{image: web}, {image: web}]}}}}
`
	atSpec := strings.NewReplacer("GROUP", "apps.kruise.io/v1alpha1", "KIND", "CloneSet", "  pods:\n    drain: slowly\n    template:", "  template:", "spec: {pods: {template: {spec: {containers: [{image: web}, {image: web}]}}}}", "spec: {template: {spec: {containers: [{image: web}, {image: web}]}}}")
	elsewhere := strings.NewReplacer("GROUP", "example.org/v1", "KIND", "Pool")
	p.must(p.ns.Apply(p.ctx, atSpec.Replace(workload)))
	p.must(p.ns.Apply(p.ctx, elsewhere.Replace(workload)))

	const notOfTemplate = "may not change fields of a pod template beside its metadata and its pod"
	tried := map[string]attempt{}
	for resource, of := range map[string]struct{ group, template string }{
		"clonesets": {"apps.kruise.io", "/spec/template"}, "poolery": {"example.org", "/spec/pods/template"},
	} {
		all := onWorkloads()
		all["a field of its own"] = attempt{patch: op("replace", "/spec/size", "4"), refused: notOfSpec}
		all["a field of the template"] = attempt{patch: op("replace", "/spec/template/also", `"x"`), refused: notOfTemplate}
		all["the mark of one whose containers have no names"] = attempt{name: "nameless", patch: op("add", "/spec/template/metadata", `{"annotations": {"reroll.dev/rolled": "1-1"}}`)}
		all["another image of one whose containers have no names"] = attempt{name: "nameless", patch: op("replace", "/spec/template/spec/containers/0/image", `"other"`), refused: notOfContainer}
		for about, a := range all {
			a.group, a.resource, a.patch = of.group, resource, strings.ReplaceAll(a.patch, "/spec/template", of.template)
			tried[resource+"/"+about] = a
		}
	}
	tried["poolery/a field beside the template"] = attempt{group: "example.org", resource: "poolery", patch: op("replace", "/spec/pods/drain", `"fast"`), refused: notOfSpec}
	tried["poolery/spec.template, which is not where it is"] = attempt{group: "example.org", resource: "poolery", patch: op("add", "/spec/template", `{"spec": {}}`), refused: notOfSpec}
	p.tryAll(tried)
}
