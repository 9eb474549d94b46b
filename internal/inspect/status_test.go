package inspect

import (
	"fmt"
	"os"
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
		"status-in-step": CodeUpToDate, "status-mixed": CodeNotUpToDate, "status-none": CodeUpToDate, "status-no-permissions": CodeUnknown,
		"status-reverted": CodeNotUpToDate, "status-no-controller": CodeNotUpToDate, "status-made-by": CodeUpToDate,
		"status-kept": CodeNotUpToDate, "status-notify": CodeNotUpToDate, "status-waves": CodeNotUpToDate,
	}
	files, err := filepath.Glob("testdata/status-*.yaml")
	if err != nil || len(files) != len(codes) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for name, code := range codes {
		t.Run(name, func(t *testing.T) {
			s := read(t, name)
			status := s.status(t, "shop")
			golden(t, name, status.Text(Paint{}, Layout{Cut: true}))
			if got := status.Code(); got != code {
				t.Errorf("exit code %d, want %d", got, code)
			}
		})
	}
}

// The wide table has more columns than a narrow terminal.
func TestStatusInOtherForms(t *testing.T) {
	s := read(t, "status-mixed")
	status := s.status(t, "")
	unbounded(t, "status-wide", status.Text(Paint{}, Layout{Wide: true}))
	text, err := status.JSON()
	if err != nil {
		t.Fatal(err)
	}
	unbounded(t, "status-json", text)
}

// A pipeline reads lines, and needs the complete cause.
func TestALineIsCutForATerminalAlone(t *testing.T) {
	status := read(t, "status-mixed").status(t, "shop")
	const whole = "unknown: Secret queue cannot be compared: you may not read the digest key of the controller\n"
	if got := status.Text(Paint{}, Layout{}); !strings.Contains(got, whole) || strings.Contains(got, "…") {
		t.Errorf("got\n%s\nwithout %q", got, whole)
	}
}

// If no kind of workload could be listed, an empty result proves nothing.
func TestWithoutPermissionsNothingIsKnown(t *testing.T) {
	const alone = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop, creationTimestamp: \"2026-02-01T00:00:00Z\"}\n"
	const all = "# unread: deployments statefulsets daemonsets jobs cronjobs configmaps secrets\n"
	for about, tc := range map[string]struct {
		text, want string
		require    bool
		code       int
	}{
		"nothing may be listed":         {all + web, "Unknown whether a workload of any namespace is opted in: you may list no kind of workload there. You may not list configmaps.", false, CodeUnknown},
		"some kinds may be listed":      {"# unread: deployments\n" + web, "No workload that you may list in any namespace is opted in. You may not list deployments.", false, CodeUnknown},
		"all may be listed":             {alone, "No workload of any namespace is opted in. The annotation reloader.stakater.com/auto:", false, CodeUpToDate},
		"one is required":               {alone, "No workload of any namespace is opted in. The annotation reloader.stakater.com/auto:", true, CodeUnknown},
		"one is required, and is there": {web, "1 workload: 1 up-to-date.", true, CodeUpToDate},
	} {
		status := tell(t, tc.text).status(t, "")
		status.Require = tc.require
		text := strings.Join(strings.Fields(status.Text(Paint{}, Layout{})), " ")
		if status.Code() != tc.code || !strings.Contains(text, tc.want) {
			t.Errorf("%s: exit code %d instead of %d, and\n%s\nnot %q", about, status.Code(), tc.code, text, tc.want)
		}
		if final := tc.require || tc.code == CodeUpToDate; status.Final() != final {
			t.Errorf("%s: it is worth waiting: %t", about, final)
		}
	}
}

// A rollout that has exceeded its deadline is not in progress.
func TestARolloutPastItsDeadlineIsStuck(t *testing.T) {
	const (
		early = "status: {observedGeneration: 1, replicas: 4, updatedReplicas: 1, conditions: [{type: Progressing, status: \"True\", reason: ReplicaSetUpdated}]}"
		late  = "status: {observedGeneration: 1, replicas: 4, updatedReplicas: 1, conditions: [{type: Progressing, status: \"False\", reason: ProgressDeadlineExceeded}]}"
	)
	stuck, err := os.ReadFile("testdata/why-crash-loop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for about, tc := range map[string]struct{ text, want string }{
		"in time":            {instead(t, web, running, early), "deployment/web in-progress 1 of 3"},
		"past it":            {instead(t, web, running, late), "deployment/web stuck 1 of 3: its deadline has passed"},
		"by a new Pod":       {string(stuck), "deployment/web stuck 1 of 3: container app"},
		"by a newer Pod":     {instead(t, string(stuck), "2026-03-01T11:00:00Z", "2026-03-01T11:51:00Z"), "deployment/web in-progress 1 of 3: container app"},
		"a longer deadline":  {instead(t, string(stuck), "  replicas: 3\n", "  replicas: 3\n  progressDeadlineSeconds: 7200\n"), "deployment/web in-progress 1 of 3: container app"},
		"no Pod has started": {instead(t, string(stuck), "reroll.dev/rolled: 1-1772366400000", "", "b5f47cb817675b8bca41a455b703bf5333aec37e", "old"), "deployment/web in-progress 1 of 3"},
	} {
		s := tell(t, tc.text)
		status := s.status(t, "shop")
		text := strings.Join(strings.Fields(status.Text(Paint{}, Layout{})), " ")
		if status.Code() != CodeNotUpToDate || !strings.Contains(text, tc.want) {
			t.Errorf("%s: exit code %d, %s\nwithout %q", about, status.Code(), text, tc.want)
		}
	}
}

// If the user asked for all namespaces, the next command must contain a namespace.
func TestTheNextCommandNamesTheNamespace(t *testing.T) {
	s := read(t, "status-reverted")
	for ns, want := range map[string]string{"": "reroll why -n NAMESPACE KIND/NAME\n", "shop": "reroll why KIND/NAME\n"} {
		if got := s.status(t, ns).Text(Paint{}, Layout{Wide: true}); !strings.Contains(strings.Join(strings.Fields(got), " ")+"\n", want) {
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
	golden(t, "status-500", tell(t, b.String()).status(t, "").Text(Paint{}, Layout{Cut: true}))
}

// Text from the cluster must not break or color a table.
func TestWhatOthersHaveWrittenStaysInItsLine(t *testing.T) {
	text := "# marks: standing\n" + instead(t, web, running, `status: {observedGeneration: 1, replicas: 1, conditions: [{type: ReplicaFailure, status: "True", message: "admission says\n\tno: \e[31mred\u009b1m\a"}]}`)
	s := tell(t, text)
	want := "in-progress 0 of 3: new Pods are rejected (admission says no: [31mred1m)"
	if got := s.status(t, "shop").Text(Paint{}, Layout{Wide: true}); !strings.Contains(got, want+"\n1 workload") {
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

// The passing of time is not a difference. The end of a controller is a difference.
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
