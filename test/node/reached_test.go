package node_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
)

// What a container needs that shows its environment and its files.
const oneApp = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: app
        image: localhost/reroll-test-app:1
        args: [serve, --reload-on-signal]
        readinessProbe: {httpGet: {path: /readyz, port: 8080}, periodSeconds: 1}
        env: [{name: GREETING, value: hello}]
`

func TestKubectlReachesContainers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.apply(oneApp)
	p.must(p.AwaitReady(p.ctx, deployment("app")))

	if logs := p.kubectl("logs", "deployment/app"); !strings.Contains(logs, "started\n") || !strings.Contains(logs, "env GREETING=hello\n") {
		t.Errorf("logs:\n%s", logs)
	}
	if out, err := p.tryKubectl("typed", "exec", "--stdin", "deployment/app", "--", "/reroll", "cat", "/dev/stdin"); err != nil || out != "typed" {
		t.Errorf("exec with input prints %q, %v", out, err)
	}
	_, err := p.tryKubectl("", "exec", "deployment/app", "--", "/reroll", "printenv", "NONE")
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("a command that ends with 1: %v", err)
	}
	if got := p.forwarded("deployment/app", "/env/GREETING"); got != "hello\n" {
		t.Errorf("through port-forward: %q", got)
	}
	pod := strings.TrimSpace(p.kubectl("get", "pods", "--output=jsonpath={.items[0].metadata.name}"))
	if got := p.kubectl("get", "--raw", "/api/v1/namespaces/"+p.Name+"/pods/"+pod+":8080/proxy/env/GREETING"); got != "hello\n" {
		t.Errorf("through the proxy of the API server: %q", got)
	}
}

// forwarded asks a pod through kubectl port-forward.
func (p *place) forwarded(target, path string) string {
	p.t.Helper()
	cmd := p.command("port-forward", target, ":8080")
	out, err := cmd.StdoutPipe()
	p.must(err)
	p.must(cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	p.must(err)
	found := regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(line)
	if found == "" {
		p.t.Fatalf("port-forward prints %q", line)
	}
	resp, err := http.Get("http://" + found + path)
	p.must(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	p.must(err)
	return string(body)
}

const oneAppWithFile = `
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting}
data: {text: hello}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: app
        image: localhost/reroll-test-app:1
        args: [serve, --reload-on-signal]
        readinessProbe: {httpGet: {path: /readyz, port: 8080}, periodSeconds: 1}
        volumeMounts: [{name: greeting, mountPath: /etc/greeting}]
      volumes: [{name: greeting, configMap: {name: greeting}}]
`

// The kubelet brings new data into a volume, and the process keeps what it has read until it is
// asked.
func TestAProgramReadsItsFilesAgainWhenItIsAsked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.apply(oneAppWithFile)
	p.must(p.AwaitReady(p.ctx, deployment("app")))
	answer := func() string { return p.inContainer("request", "GET", "/file/etc/greeting/text") }
	p.mustBe("the answer of the program", answer(), "hello\n")

	value := "hello\n"
	for ask, next := range map[string]struct {
		value string
		ask   func()
	}{
		"POST":   {"good morning", func() { p.inContainer("request", "POST", "/reload") }},
		"SIGHUP": {"good evening", func() { p.inContainer("signal", "HUP", "1") }},
	} {
		p.edit("configmap", "greeting", "text="+next.value)
		// Without it, the kubelet writes the volume after a minute or so.
		p.kubectl("annotate", "pods", "--selector=app=app", "--overwrite", "asked-by="+ask)
		p.must(harness.Await(p.ctx, "the file to have the new data", func(context.Context) error {
			if got := p.inContainer("cat", "/etc/greeting/text"); got != next.value {
				return fmt.Errorf("it has %q", got)
			}
			return nil
		}))
		p.mustBe("the answer before "+ask, answer(), value)
		next.ask()
		value = next.value + "\n"
		p.must(harness.Await(p.ctx, "the new answer after "+ask, func(context.Context) error {
			if got := answer(); got != value {
				return fmt.Errorf("it is %q", got)
			}
			return nil
		}))
	}
	for _, pod := range p.podsOf("app") {
		if restarts := pod.Status.ContainerStatuses[0].RestartCount; restarts != 0 {
			t.Errorf("the container was restarted %d times", restarts)
		}
	}
}

// inContainer returns what the program of the image prints.
func (p *place) inContainer(args ...string) string {
	p.t.Helper()
	return p.kubectl(append([]string{"exec", "deployment/app", "--", "/reroll"}, args...)...)
}
