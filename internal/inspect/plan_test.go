package inspect

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func stories(t *testing.T, kind string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/" + kind + "-*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".yaml")
	}
	return files
}

func TestPlan(t *testing.T) {
	for _, name := range stories(t, "plan") {
		t.Run(name, func(t *testing.T) {
			s := read(t, name)
			plan, err := s.objects.Plan("shop", s.heads["plan"], s.running, noon)
			if err != nil {
				unbounded(t, name, err.Error()+"\n") // printed without changes
				return
			}
			golden(t, name, plan.Text(Paint{}))
			want := CodeUpToDate
			if s.heads["unread"] != "" && s.heads["code"] != "0" {
				want = CodeUnknown
			}
			if plan.Code() != want {
				t.Errorf("exit code %d, want %d", plan.Code(), want)
			}
		})
	}
}

// If kinds of workloads could not be listed, an empty plan proves nothing.
func TestAPlanWithoutPermissionsIsUnknown(t *testing.T) {
	for about, tc := range map[string]struct{ unread, want string }{
		"nothing may be listed":    {"deployments statefulsets daemonsets jobs cronjobs configmaps secrets", "Unknown whether a change of ConfigMap shop/web rolls a workload: you may list no kind of workload there. You may not list configmaps,"},
		"some kinds may be listed": {"deployments", "ConfigMap shop/web does not exist. If it is created, a change of ConfigMap shop/web rolls no workload that you may list. You may not list deployments, so there may be more."},
	} {
		plan, err := tell(t, "# unread: "+tc.unread+"\n"+web).objects.Plan("shop", "configmap/web", nil, noon)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(plan.Text(Paint{})), " "); !strings.HasPrefix(text, tc.want) || plan.Code() != CodeUnknown {
			t.Errorf("%s: exit code %d, and\n%s\nnot %q", about, plan.Code(), text, tc.want)
		}
	}
}

func TestLint(t *testing.T) {
	for _, name := range stories(t, "lint") {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, f := range read(t, name).objects.Lint(name == "lint-manifests", noon) {
				fmt.Fprintln(&b, f)
				for line := range strings.Lines(f.Folded()) {
					if columns(strings.TrimRight(line, "\n")) > Width {
						t.Errorf("too long for a terminal: %s", line)
					}
				}
			}
			unbounded(t, name, b.String())
		})
	}
}

func TestManifests(t *testing.T) {
	for about, tc := range map[string]struct{ text, want, err string }{
		"nothing":             {"", "", ""},
		"comments":            {"# one\n---\n# two\n", "", ""},
		"json":                {`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`, "*v1.ConfigMap", ""},
		"several and a list":  {"{apiVersion: v1, kind: Secret}\n---\n{apiVersion: v1, kind: List, items: [{apiVersion: apps/v1, kind: DaemonSet}]}", "*v1.Secret *v1.DaemonSet", ""},
		"a kind without type": {"{apiVersion: argoproj.io/v1alpha1, kind: Rollout}", "*unstructured.Unstructured", ""},
		"no object":           {"password: hunter2", "", "it is not a Kubernetes object: it has no apiVersion or no kind"},
		"a text":              {"{apiVersion: v1, kind: Secret}\n---\nhunter2", "", "it is not a Kubernetes object"},
		"no YAML":             {"a: [", "", "it is neither YAML nor JSON"},
		"an alias":            {"apiVersion: v1\nkind: Secret\nstringData:\n  password: *hunter2\n", "", "it is neither YAML nor JSON"},
		"a key of no kind":    {"{apiVersion: v1, kind: ConfigMap}\n---\napiVersion: v1\nkind: Secret\nstringData: {~: hunter2}\n", "", "it is neither YAML nor JSON"},
		"a tab":               {"apiVersion: v1\nkind: Secret\nstringData:\n\thunter2: b\n", "", "it is neither YAML nor JSON"},
		"a line in a value":   {"apiVersion: v1\nkind: Secret\nstringData: {~: 'line 12: hunter2'}\n", "", "it is neither YAML nor JSON"},
		"no JSON":             {`{"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "hunter2" "b"}}`, "", "it is neither YAML nor JSON"},
		"a Secret of no form": {"{apiVersion: v1, kind: Secret, metadata: {name: db, creationTimestamp: hunter2}}", "", "Secret db: it is not a valid Secret"},
		"a form of its own":   {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: many}}", "", "Deployment web: "},
	} {
		t.Run(about, func(t *testing.T) {
			all, err := Decode(strings.NewReader(tc.text))
			var types []string
			for _, obj := range all {
				types = append(types, fmt.Sprintf("%T", obj.Object))
			}
			if got := strings.Join(types, " "); err == nil && got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if (err == nil) != (tc.err == "") || err != nil && (!strings.HasPrefix(err.Error(), tc.err) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("got error %v, want %s", err, tc.err)
			}
		})
	}
}

func TestNamesThatUsersWrite(t *testing.T) {
	o := read(t, "plan-rolls").objects
	for text, want := range map[string]string{
		"deployment/web": "Deployment shop/web", "deploy/web": "Deployment shop/web", "Deployments.apps/web": "Deployment shop/web", "web": "Deployment shop/web",
		"sts/agent": "StatefulSet shop/agent", "pod/web": "pod/web: write KIND/NAME", "cm/web": "cm/web is a ConfigMap, not a workload. To list the workloads that its changes roll: reroll plan configmap/web",
		"deployment/": "deployment/: write KIND/NAME",
		"plan":        "namespace shop has no workload plan. Did you mean deployment/plain?", "ds/web": "namespace shop has no DaemonSet web. Did you mean deployment/web?",
		"deployment": "Deployment is a kind: write deployment/NAME", "nothing-like-it": "namespace shop has no workload nothing-like-it",
	} {
		key, err := o.Workload("shop", text)
		got := key.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	s := tell(t, `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, namespace: shop}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: elsewhere}}
`)
	if _, err := s.objects.Workload("shop", "web"); err == nil || err.Error() != "web is ambiguous: write deployment/web or statefulset/web" {
		t.Errorf("got %v", err)
	}
}
