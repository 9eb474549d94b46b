package node_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// failing is a Deployment whose ConfigMap decides how its container fails.
const failing = `
apiVersion: v1
kind: ConfigMap
metadata: {name: mode}
data: {mode: --http-port=8080}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  annotations: {reloader.stakater.com/auto: "true"}
spec:
  progressDeadlineSeconds: 86400
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: app
        image: localhost/reroll-test-app:1
        args: [serve, $(MODE)]
        resources: {limits: {memory: 64Mi}}
        readinessProbe: {httpGet: {path: /readyz, port: 8080}, periodSeconds: 1}
        env:
        - name: MODE
          valueFrom: {configMapKeyRef: {name: mode, key: mode}}
`

// TestTheCauseIsTheOneThatTheKubeletReports lets a real kubelet report each failure, and compares the event. Deadlines
// are a day until the Pod has failed. Then they are a second.
func TestTheCauseIsTheOneThatTheKubeletReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit   string
		failed func(corev1.ContainerStatus) bool
		event  string
	}{
		"a container that exits": {
			"mode=--exit=3",
			func(s corev1.ContainerStatus) bool {
				return s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff"
			},
			`container app of the new Pod app-[0-9a-z-]+ keeps crashing \((CrashLoopBackOff|started [0-9]+ times), exit code 3\)\. See .*#crash-loop$`,
		},
		"a container that uses too much memory": {
			"mode=--fill-memory",
			func(s corev1.ContainerStatus) bool {
				return s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff"
			},
			`container app of the new Pod app-[0-9a-z-]+ keeps crashing \((CrashLoopBackOff|started [0-9]+ times), exit code 137\)\. See .*#crash-loop$`,
		},
		"a container that never becomes ready": {
			"mode=--never-ready",
			func(s corev1.ContainerStatus) bool { return s.State.Running != nil && !s.Ready },
			`container app of the new Pod app-[0-9a-z-]+ is running but not ready\. See .*#readiness$`,
		},
		"a key that is missing": {
			"mode-",
			func(s corev1.ContainerStatus) bool {
				return s.State.Waiting != nil && s.State.Waiting.Reason == "CreateContainerConfigError"
			},
			`container app of the new Pod app-[0-9a-z-]+ does not start \(CreateContainerConfigError: couldn't find key mode in ConfigMap [^ ]+\)\. See .*#cannot-start$`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.startController()
			p.apply(failing)
			p.must(p.AwaitReady(p.ctx, deployment("app")))
			p.awaitLedger("app")
			p.edit("configmap", "mode", c.edit)
			p.must(harness.Await(p.ctx, "the new Pod to fail", func(context.Context) error { return p.oneFailed("app", c.failed) }))
			p.kubectl("patch", "deployment/app", "--patch", `{"spec":{"progressDeadlineSeconds":1}}`)
			p.awaitEvent("app", "NotRolled", c.event)
		})
	}
}

// oneFailed is nil if a container of a Deployment's Pods has failed in this way.
func (p *place) oneFailed(name string, failed func(corev1.ContainerStatus) bool) error {
	var states []string
	for _, pod := range p.podsOf(name) {
		for _, s := range pod.Status.ContainerStatuses {
			if failed(s) {
				return nil
			}
			states = append(states, fmt.Sprintf("%s: %+v", pod.Name, s.State))
		}
	}
	return fmt.Errorf("no container has; they are:\n%s", strings.Join(states, "\n"))
}

func (p *place) awaitEvent(name, reason, note string) {
	p.t.Helper()
	pattern := regexp.MustCompile(note)
	p.must(harness.Await(p.ctx, "the event "+reason+" of "+name, func(ctx context.Context) error {
		events, err := p.Events(ctx, deployment(name))
		if err != nil {
			return err
		}
		var seen []string
		for i := range events {
			if events[i].Reason == reason && pattern.MatchString(events[i].Note) {
				return nil
			}
			seen = append(seen, events[i].Reason+": "+events[i].Note)
		}
		return fmt.Errorf("want %s\nseen:\n%s", note, strings.Join(seen, "\n"))
	}))
}
