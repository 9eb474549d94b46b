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
---
apiVersion: v1
kind: Namespace
metadata:
  name: shop
  annotations:
    reroll.dev/churn: often
    reroll.dev/chrun: 30/1h
    reroll.dev/wave: five
    reroll.dev/something: here
    reloader.stakater.com/auto: "true"
    reloader.stakater.com/match: "true"
    team: shop
---
apiVersion: v1
kind: Namespace
metadata: {name: bank, annotations: {reroll.dev/churn: 5}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ports, annotations: {reloader.stakater.com/mach: "true"}}
data:
  host: shop
  port: 8080
  none: ~
  more: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: ports}
stringData:
  pin: 4711
`

// A finding in a manifest has a line number. A value that is not a string is a finding.
func TestFindingsHaveTheirLines(t *testing.T) {
	s := tell(t, "")
	if unread := s.objects.ReadManifests("a.yaml", strings.NewReader(manifests)); unread != nil {
		t.Fatal(unread)
	}
	if unread := s.objects.ReadManifests("b.json", strings.NewReader(`{"apiVersion": "v1", "kind": "Secret",
		"metadata": {"name": "web", "annotations": {"reroll.dev/auto": 1.5}}}`)); unread != nil {
		t.Fatal(unread)
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
		`a.yaml:35: Namespace shop: annotation reroll.dev/churn has "often": has no effect; write a number of reloads and a time, such as "30/1h", or "off"` + "\n",
		`a.yaml:36: Namespace shop: annotation reroll.dev/chrun has "30/1h": does nothing. Did you mean reroll.dev/churn?` + "\n",
		`a.yaml:37: Namespace shop: annotation reroll.dev/wave has "five": does nothing here; it belongs on the workloads` + "\n",
		`a.yaml:38: Namespace shop: annotation reroll.dev/something has "here": does nothing; for the keys that are read, see `,
		`a.yaml:39: Namespace shop: annotation reloader.stakater.com/auto has "true": does nothing here. Did you mean reroll.dev/auto?` + "\n",
		`a.yaml:40: Namespace shop: annotation reloader.stakater.com/match has "true": does nothing here; it belongs on a ConfigMap or Secret` + "\n",
		`a.yaml:45: Namespace bank: annotation reroll.dev/churn is a number; write "5" in quotes` + "\n",
		"a.yaml:49: ConfigMap ports: annotation reloader.stakater.com/mach has",
		`a.yaml:52: ConfigMap ports: the value of key "port" is not a string; write it in quotes` + "\n",
		`a.yaml:54: ConfigMap ports: the value of key "more" is not a string; write it in quotes` + "\n",
		`a.yaml:60: Secret ports: the value of key "pin" is not a string; write it in quotes` + "\n",
		`b.json:2: Secret web: annotation reroll.dev/auto has "1.5": does nothing. Did you mean reloader.stakater.com/auto`,
		`b.json:2: Secret web: annotation reroll.dev/auto is a number; write "1.5" in quotes` + "\n",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("without %q:\n%s", want, got.String())
		}
	}
	if strings.Contains(got.String(), "4711") {
		t.Errorf("a value of a Secret is shown:\n%s", got.String())
	}
}

// An unreadable document is reported with its line number, and the other documents of the file
// still count.
func TestUnreadDocumentsHaveTheirLines(t *testing.T) {
	const good = "---\n# the next one\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, annotations: {reloader.stakater.com/atuo: \"true\"}}\n"
	const noYAML, noKind = "it is neither YAML nor JSON", "it is not a Kubernetes object: it has no apiVersion or no kind"
	for about, tc := range map[string]struct{ text, want, finding string }{
		"values of Helm":            {"replicas: 1\nimage: web\n" + good, "a.yaml:1: " + noKind, "a.yaml:7: Deployment web:"},
		"behind comments":           {"---\n\n# values\nreplicas: 1\n" + good, "a.yaml:4: " + noKind, "a.yaml:9: Deployment web:"},
		"a template of Helm":        {"{{- if .Values.web }}\napiVersion: v1\n{{- end }}\n" + good, "a.yaml:1: " + noYAML + "; it looks like a template of Helm: check the output of helm template", "a.yaml:8: Deployment web:"},
		"a tab, behind another one": {good + "---\nkind: Secret\nstringData:\n\ta: b\n", "a.yaml:9: " + noYAML, "a.yaml:5: Deployment web:"},
		"an object of no form":      {good + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: db, creationTimestamp: x}\n", "a.yaml:7: Secret db: it is not a valid Secret", "a.yaml:5: Deployment web:"},
		"a replica count in quotes": {good + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: \"2\"}\n", "a.yaml:7: Deployment a: spec.replicas must be an integer, without quotes", "a.yaml:5: Deployment web:"},
		"a variable without quotes": {good + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{env: [{name: PORT, value: 8080}]}]}}}\n", "a.yaml:7: Deployment a: spec.template.spec.containers.env.value must be a string; write its value in quotes", "a.yaml:5: Deployment web:"},
		"a mapping for a list":      {good + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: {name: app}}}}\n", "a.yaml:7: Deployment a: spec.template.spec.containers must be a list", "a.yaml:5: Deployment web:"},
		"an item of a list":         {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: db, creationTimestamp: x}}\n- {apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {reloader.stakater.com/mach: \"true\"}}}\n", "a.yaml:1: Secret db: it is not a valid Secret", "a.yaml:5: Secret a:"},
	} {
		t.Run(about, func(t *testing.T) {
			s := tell(t, "")
			unread := s.objects.ReadManifests("a.yaml", strings.NewReader(tc.text))
			if len(unread) != 1 || unread[0].String() != tc.want {
				t.Errorf("unread is %q, want %q", unread, tc.want)
			}
			if found := s.objects.Lint(true, noon); len(found) == 0 || !strings.HasPrefix(found[0].String(), tc.finding) {
				t.Errorf("the findings are %q, want %q", found, tc.finding)
			}
		})
	}
}
