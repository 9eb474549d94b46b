package inspect

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
		"status-in-step": CodeUpToDate, "status-mixed": CodeNotUpToDate, "status-none": CodeUpToDate, "status-no-rights": CodeUnknown,
		"status-reverted": CodeNotUpToDate, "status-no-controller": CodeNotUpToDate, "status-made-by": CodeUpToDate,
		"status-kept": CodeNotUpToDate,
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

// Who has asked about all namespaces has to say which one is meant.
func TestTheNextCommandNamesTheNamespace(t *testing.T) {
	s := read(t, "status-reverted")
	for ns, want := range map[string]string{"": "reroll why -n NAMESPACE KIND/NAME\n", "shop": "reroll why KIND/NAME\n"} {
		if got := s.status(t, ns).Text(Paint{}, true); !strings.Contains(strings.Join(strings.Fields(got), " ")+"\n", want) {
			t.Errorf("of %q: got %q, without %q", ns, got, want)
		}
	}
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

// What stands in a cluster does not break a table, or colour it.
func TestWhatOthersHaveWrittenStaysInItsLine(t *testing.T) {
	text := "# marks: standing\n" + instead(t, web, running, `status: {observedGeneration: 1, replicas: 1, conditions: [{type: ReplicaFailure, status: "True", message: "admission says\n\tno: \e[31mred\u009b1m\a"}]}`)
	s := tell(t, text)
	want := "in-progress 0 of 3: new Pods are rejected (admission says no: [31mred1m)"
	if got := s.status(t, "shop").Text(Paint{}, true); !strings.Contains(got, want+"\n1 workload") {
		t.Errorf("got %q, without %q", got, want)
	}
	x, err := s.objects.Explain("shop", "deployment/web", "", s.running, noon)
	if err != nil {
		t.Fatal(err)
	}
	x.Last = &LastEvent{Reason: "Reloaded", Note: "all \x1b[2Jgone", At: noon}
	if got := x.Text(Paint{}); strings.ContainsAny(got, "\x1b\a\t") || !strings.Contains(got, "all [2Jgone") {
		t.Errorf("got %q", got)
	}
	f := Finding{Object: "ConfigMap a", Text: "has \"\x1b[31m\nred\""}
	if got, want := f.String(), "ConfigMap a: has \"[31m red\""; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The time that passes is no news, and that a controller has ended is.
func TestWhatIsWorthAnotherTable(t *testing.T) {
	s := tell(t, "# beside: also\n# heard: 2026-03-01T11:59:58Z\n"+web)
	at := func(later time.Duration, heard time.Time, silent bool) *Status {
		s.objects.settings.Heard, s.objects.settings.Silent = heard, silent
		status, err := s.objects.Status("shop", "", s.running, noon.Add(later))
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	first := at(0, noon, false)
	for about, tc := range map[string]struct {
		status *Status
		want   bool
	}{
		"nothing":            {at(0, noon, false), false},
		"time has passed":    {at(15*time.Second, noon.Add(2*time.Second), false), false},
		"it is not heard of": {at(5*time.Minute, noon, false), true},
		"nobody runs it":     {at(0, time.Time{}, true), true},
	} {
		if got := tc.status.Differs(first); got != tc.want {
			t.Errorf("%s: differs: %v", about, got)
		}
	}
	if !first.Differs(nil) {
		t.Error("the first table is not worth printing")
	}
}
