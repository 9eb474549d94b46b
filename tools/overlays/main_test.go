package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const before = `# Source: a
apiVersion: v1
kind: Secret
metadata: {name: gone}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {a/b: "1"}}
spec:
  replicas: 1
  paused: true
  template: {spec: {containers: [{name: web, args: [run], image: x}]}}
---
apiVersion: v1
kind: Service
metadata: {name: same}
`

const after = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {a/b: "2", c: "3"}}
spec:
  replicas: 1
  template: {spec: {containers: [{name: web, args: [run, --fast], image: x}]}}
---
apiVersion: v1
kind: Service
metadata: {name: same}
---
# Why it is there.
apiVersion: v1
kind: ConfigMap
metadata: {name: new}
`

func TestAnOverlayIsTheDifference(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"before": before, "after": after} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	args := []string{"-base", filepath.Join(dir, "before"), "-variant", filepath.Join(dir, "after"), "-title", "Faster", "-o", out}
	if err := run(args, io.Discard); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"added.yaml": generated + `---
# Why it is there.
apiVersion: v1
kind: ConfigMap
metadata: {name: new}
`,
		"kustomization.yaml": generated + `# Faster.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
patches:
- patch: |
    $patch: delete
    apiVersion: v1
    kind: Secret
    metadata:
      name: gone
  target:
    kind: Secret
    name: gone
    version: v1
- patch: |
    - op: replace
      path: /metadata/labels/a~1b
      value: "2"
    - op: add
      path: /metadata/labels/c
      value: "3"
    - op: replace
      path: /spec/template/spec/containers/0/args
      value:
      - run
      - --fast
    - op: remove
      path: /spec/paused
  target:
    group: apps
    kind: Deployment
    name: web
    version: v1
resources:
- ../../base
- added.yaml
`,
	} {
		got, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAMistakeNamesItsFile(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	if err := os.WriteFile(broken, []byte("a: [\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{broken, broken + ".none"} {
		if err := run([]string{"-base", file, "-variant", file}, io.Discard); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
