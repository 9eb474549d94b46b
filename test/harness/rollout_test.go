package harness

import (
	"context"
	"strings"
	"testing"
)

const workloads = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "app:1"}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: app, image: "app:1"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: app, image: "app:1"}]}
`

func eachWorkload(t *testing.T, test func(t *testing.T, ctx context.Context, n *Namespace, workload Ref)) {
	t.Helper()
	for _, name := range []string{"deployment/web", "statefulset/db", "daemonset/agent"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, n := newNamespace(t)
			must(t, n.Apply(ctx, workloads))
			workload := ref(t, name)
			must(t, n.AwaitRolls(ctx, workload, 0))
			test(t, ctx, n, workload)
		})
	}
}

func wantRolls(t *testing.T, ctx context.Context, n *Namespace, workload Ref, want int) {
	t.Helper()
	got, err := n.Rolls(ctx, workload)
	must(t, err)
	if got != want {
		t.Fatalf("%s has rolled %d times, want %d", workload, got, want)
	}
}

func TestATemplateEditIsARolloutAndItsReturnAnother(t *testing.T) {
	t.Parallel()
	eachWorkload(t, func(t *testing.T, ctx context.Context, n *Namespace, workload Ref) {
		must(t, n.Apply(ctx, strings.ReplaceAll(workloads, "app:1", "app:2")))
		wantRolls(t, ctx, n, workload, 1)
		// What kubectl rollout undo does: the template of an earlier revision, which is then
		// brought back.
		must(t, n.Apply(ctx, workloads))
		wantRolls(t, ctx, n, workload, 2)
		must(t, n.AwaitRolls(ctx, workload, 2))
	})
}

func TestWhatReplacesNoPodIsNoRollout(t *testing.T) {
	t.Parallel()
	eachWorkload(t, func(t *testing.T, ctx context.Context, n *Namespace, workload Ref) {
		before, err := n.Get(ctx, workload)
		must(t, err)
		must(t, n.Annotate(ctx, workload, "reroll.dev/ledger=anything", "team=web"))
		must(t, n.Label(ctx, workload, "team=web"))
		if workload.Kind != "daemonset" {
			must(t, n.Scale(ctx, workload, 4))
			must(t, n.AwaitReady(ctx, workload))
		}
		must(t, n.Apply(ctx, workloads))
		wantRolls(t, ctx, n, workload, 0)

		if workload.Kind == "deployment" {
			after, err := n.Get(ctx, workload)
			must(t, err)
			if after.GetGeneration() <= before.GetGeneration() {
				t.Fatalf("generation %d did not grow: the test changes too little to show anything", after.GetGeneration())
			}
		}
	})
}

func TestAPausedDeploymentRollsWhenItIsResumed(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	paused := strings.ReplaceAll(workloads, "app:1", "app:2")
	paused = strings.Replace(paused, "replicas: 2", "replicas: 2\n  paused: true", 1)
	must(t, n.Apply(ctx, workloads))
	must(t, n.AwaitRolls(ctx, ref(t, "deployment/web"), 0))
	must(t, n.Apply(ctx, paused))
	wantRolls(t, ctx, n, ref(t, "deployment/web"), 0)
	must(t, n.Apply(ctx, strings.Replace(paused, "paused: true", "paused: false", 1)))
	wantRolls(t, ctx, n, ref(t, "deployment/web"), 1)
}

func TestAWorkloadMadeAgainKeepsItsCount(t *testing.T) {
	t.Parallel()
	eachWorkload(t, func(t *testing.T, ctx context.Context, n *Namespace, workload Ref) {
		must(t, n.Apply(ctx, strings.ReplaceAll(workloads, "app:1", "app:2")))
		wantRolls(t, ctx, n, workload, 1)
		must(t, n.Delete(ctx, workload))
		wantRolls(t, ctx, n, workload, 1)
		must(t, n.Apply(ctx, workloads))
		wantRolls(t, ctx, n, workload, 1)
	})
}

func TestARolloutTooManyIsToldAtOnce(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Apply(ctx, workloads))
	must(t, n.Apply(ctx, strings.ReplaceAll(workloads, "app:1", "app:2")))
	must(t, n.AwaitRolls(ctx, ref(t, "deployment/web"), 1))
	err := n.AwaitRolls(ctx, ref(t, "deployment/web"), 0)
	wantError(t, err, "deployment/web to have rolled, times: 0: it is 1 already")
}

func TestACountOfNothingIsAnError(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Apply(ctx, workloads))
	_, err := n.Rolls(ctx, ref(t, "deployment/wbe"))
	wantError(t, err, "deployment/wbe never had a revision", "deployment/web")
	wantError(t, n.AwaitReady(ctx, ref(t, "configmap/kube-root-ca.crt")), "has no rollout: name a deployment, statefulset, daemonset or rollout")
}

func TestTheTimelineSaysWhatCountedAndWhy(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Apply(ctx, workloads))
	must(t, n.AwaitRolls(ctx, ref(t, "deployment/web"), 0))
	must(t, n.Apply(ctx, strings.ReplaceAll(workloads, "app:1", "app:2")))
	must(t, n.AwaitRolls(ctx, ref(t, "deployment/web"), 1))
	must(t, n.Apply(ctx, workloads))
	must(t, n.AwaitRolls(ctx, ref(t, "deployment/web"), 2))

	var lines []string
	for _, s := range n.Observer.Timeline() {
		if s.Object == ref(t, "deployment/web") {
			lines = append(lines, s.String())
		}
	}
	want := []string{
		"first revision: ReplicaSet web-",
		"rollout 1: revision 2, ReplicaSet web-",
		"rollout 2: revision 3, ReplicaSet web-",
	}
	if len(lines) != len(want) {
		t.Fatalf("timeline of deployment/web: %q", lines)
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) {
			t.Errorf("line %d of the timeline is %q, want it to contain %q", i, line, want[i])
		}
	}
	if !strings.HasSuffix(lines[1], "was made") || !strings.HasSuffix(lines[2], "was brought back") {
		t.Errorf("the timeline does not say why it counted: %q", lines)
	}
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that contains %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %q, want it to contain %q", err, part)
		}
	}
}
