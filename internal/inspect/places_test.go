package inspect

import (
	"strings"
	"testing"
)

const manifests = `# a comment
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  annotations:
    team: shop
    reloader.stakater.com/mach: "true"
--- # another
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {reloader.stakater.com/auto: true}
spec:
  template:
    metadata:
      annotations:
        reroll.dev/settle: 5
---
apiVersion: v1
kind: List
items:
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: web}
  spec: {jobTemplate: {spec: {template: {metadata: {annotations: {
    reloader.stakater.com/atuo: "true"}}}}}}
`

// A finding in a manifest has its line. A value that is not a string is a finding.
func TestFindingsHaveTheirLines(t *testing.T) {
	s := tell(t, "")
	if err := s.objects.ReadManifests("a.yaml", strings.NewReader(manifests)); err != nil {
		t.Fatal(err)
	}
	if err := s.objects.ReadManifests("b.json", strings.NewReader(`{"apiVersion": "v1", "kind": "Secret",
		"metadata": {"name": "web", "annotations": {"reroll.dev/auto": 1.5}}}`)); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, f := range s.objects.Lint(true, noon) {
		got.WriteString(f.String() + "\n")
	}
	for _, want := range []string{
		"a.yaml:8: ConfigMap web: annotation reloader.stakater.com/mach has",
		"a.yaml:10: Deployment web: it is opted in, but nothing rolls it",
		`a.yaml:14: Deployment web: annotation reloader.stakater.com/auto is a boolean; write "true" in quotes` + "\n",
		`a.yaml:19: Deployment web: annotation reroll.dev/settle of the pod template is a number; write "5" in quotes` + "\n",
		"a.yaml:28: CronJob web: annotation reloader.stakater.com/atuo of the pod template has",
		`b.json:2: Secret web: annotation reroll.dev/auto has "1.5": does nothing. Did you mean reloader.stakater.com/auto`,
		`b.json:2: Secret web: annotation reroll.dev/auto is a number; write "1.5" in quotes` + "\n",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("without %q:\n%s", want, got.String())
		}
	}
}
