package inspect

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func (s *story) status(t *testing.T, ns string) *Status {
	t.Helper()
	status, err := s.objects.Status(ns, "", s.running, noon)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func TestStatus(t *testing.T) {
	codes := map[string]int{
		"status-in-step": CodeInStep, "status-mixed": CodeNotInStep, "status-none": CodeInStep, "status-no-rights": CodeUnknown,
		"status-reverted": CodeNotInStep, "status-no-controller": CodeNotInStep,
	}
	files, err := filepath.Glob("testdata/status-*.yaml")
	if err != nil || len(files) != len(codes) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for name, code := range codes {
		t.Run(name, func(t *testing.T) {
			s := read(t, name)
			status := s.status(t, "shop")
			golden(t, name, status.Text(Paint{}, false))
			if got := status.Code(); got != code {
				t.Errorf("exit code %d, want %d", got, code)
			}
		})
	}
}

// What is wide is for those who have the room for it.
func TestStatusInOtherForms(t *testing.T) {
	s := read(t, "status-mixed")
	status := s.status(t, "")
	unbounded(t, "status-wide", status.Text(Paint{}, true))
	text, err := status.JSON()
	if err != nil {
		t.Fatal(err)
	}
	unbounded(t, "status-json", text)
}

func TestStatusOfFiveHundred(t *testing.T) {
	var b strings.Builder
	for i := range 500 {
		updated := 3
		if i%100 == 7 {
			updated = i / 250
		}
		fmt.Fprintf(&b, `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: service-%03[1]d, namespace: shop-%[2]d, uid: u-%[1]d, resourceVersion: "9", generation: 1, creationTimestamp: "2026-02-01T00:00:00Z", annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: web}}]}]}
status: {observedGeneration: 1, replicas: 3, updatedReplicas: %[3]d}
`, i, i/100, updated)
	}
	for ns := range 5 {
		fmt.Fprintf(&b, `---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop-%d, uid: c, resourceVersion: "8", creationTimestamp: "2026-02-01T00:00:00Z"}
`, ns)
	}
	golden(t, "status-500", tell(t, b.String()).status(t, "").Text(Paint{}, false))
}
