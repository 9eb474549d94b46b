package node_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

const envAndFile = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {text: A}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {text: A}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  annotations: {reloader.stakater.com/auto: "true"}
spec:
  replicas: 2
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: app
        image: localhost/reroll-test-app:1
        args: [serve]
        readinessProbe: {httpGet: {path: /readyz, port: 8080}, periodSeconds: 1}
        env:
        - name: TEXT
          valueFrom: {configMapKeyRef: {name: settings, key: text}}
        volumeMounts: [{name: password, mountPath: /etc/password}]
      volumes: [{name: password, secret: {secretName: password}}]
`

func TestNewContainersHaveReadTheNewValues(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.startController()
	p.apply(envAndFile)
	p.must(p.AwaitReady(p.ctx, deployment("app")))
	p.awaitLedger("app")
	p.allPrinted("app", "env TEXT=A", "file /etc/password/text=A")

	p.must(p.Edit(p.ctx, harness.Ref{Kind: "configmap", Name: "settings"}, "text=B"))
	p.must(p.AwaitRolls(p.ctx, deployment("app"), 1))
	p.allPrinted("app", "env TEXT=B", "file /etc/password/text=A")

	p.must(p.Edit(p.ctx, harness.Ref{Kind: "secret", Name: "password"}, "text=B"))
	p.must(p.AwaitRolls(p.ctx, deployment("app"), 2))
	p.allPrinted("app", "env TEXT=B", "file /etc/password/text=B")
	if got := p.kubectl("exec", "deployment/app", "--", "/reroll", "cat", "/etc/password/text"); got != "B" {
		t.Errorf("the file in the container is %q", got)
	}
}

// allPrinted waits until each container of a Deployment has printed all of these lines at its start,
// and runs. A container is ready before it has printed anything.
func (p *place) allPrinted(name string, lines ...string) {
	p.t.Helper()
	p.must(harness.Await(p.ctx, "what the Pods of "+name+" print", func(context.Context) error {
		pods := p.podsOf(name)
		if len(pods) == 0 {
			return fmt.Errorf("%s has no pods", name)
		}
		for _, pod := range pods {
			printed := strings.Split(p.kubectl("logs", pod.Name), "\n")
			for _, line := range lines {
				if !slices.Contains(printed, line) {
					return fmt.Errorf("pod %s of %s has not printed %q, but:\n%s", pod.Name, name, line, strings.Join(printed, "\n"))
				}
			}
		}
		return nil
	}))
}

// podsOf returns the pods of a workload by their label, without those that end.
func (p *place) podsOf(name string) []corev1.Pod {
	p.t.Helper()
	list, err := shared.admin.CoreV1().Pods(p.Name).List(p.ctx, metav1.ListOptions{LabelSelector: "app=" + name})
	p.must(err)
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}
