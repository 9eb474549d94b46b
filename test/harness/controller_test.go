package harness

import (
	"context"
	"errors"
	"fmt"
	"github.com/google/go-cmp/cmp"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

const installation = `
apiVersion: v1
kind: Namespace
metadata: {name: reroll}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reroll, namespace: reroll}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reroll-role, namespace: reroll}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reroll-role-binding, namespace: reroll}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reroll-role}
subjects: [{kind: ServiceAccount, name: reroll, namespace: reroll}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: reroll, namespace: reroll}
spec:
  selector: {matchLabels: {app: reroll}}
  template:
    metadata: {labels: {app: reroll}}
    spec:
      serviceAccountName: reroll
      containers:
      - name: reroll
        image: reroll
        command: [/reroll, run]
        args: [--namespaces=$(POD_NAMESPACE)]
        env:
        - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
        - {name: COLOUR, value: green}
`

func install(t *testing.T, ctx context.Context, n *Namespace) *Installation {
	t.Helper()
	m, err := parseManifest(installation)
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	i, err := n.Install(ctx, m, self)
	must(t, err)
	return i
}

func startRole(t *testing.T, ctx context.Context, i *Installation, role string, env ...string) (*Controller, error) {
	t.Helper()
	c, err := i.Start(ctx, []string{"--settle=2s"}, append(env, roleVariable+"="+role))
	if c != nil {
		t.Cleanup(c.Kill)
	}
	return c, err
}

func TestTheControllerRunsAsInItsDeployment(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	c, err := startRole(t, ctx, install(t, ctx, n), "controller")
	must(t, err)
	for _, want := range []string{
		`args ["run" "--namespaces=` + n.Name + `" "--listen-address=127.0.0.1:0" "--log-format=json" "--settle=2s"]`,
		"namespace " + n.Name + ", pod reroll-0",
	} {
		if c.Log.Count(regexp.MustCompile(regexp.QuoteMeta(want))) != 1 {
			t.Errorf("the controller does not say %s; its log:\n%s", want, c.Log.Tail(10))
		}
	}
	// It is ready only when it was asked for the third time.
	asked, err := c.Metric(ctx, "asked", map[string]string{"by": "a"})
	must(t, err)
	if asked.Sum < 3 {
		t.Errorf("Start returned after %v questions, before the controller was ready", asked.Sum)
	}
	must(t, c.Stop(ctx))
}

func TestTheControllerHasThePermissionsOfItsAccountOnly(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	i := install(t, ctx, n)
	review := func(verb, resource string) bool { return allowed(t, ctx, i.kubeconfig, n.Name, verb, resource) }
	if !review("list", "configmaps") {
		t.Error("the Role that was installed does not reach the account")
	}
	if review("list", "secrets") || review("patch", "configmaps") {
		t.Error("the account may do what its Role does not allow")
	}
}

func TestHowTheControllerEnds(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	i := install(t, ctx, n)

	c, err := startRole(t, ctx, i, "controller", "EXIT_CODE=0")
	must(t, err)
	must(t, c.Running())
	must(t, c.Stop(ctx))
	wantError(t, c.Running(), "has ended, exit code 0")
	wantError(t, c.Stop(ctx), "has ended, exit code 0")

	c, err = startRole(t, ctx, i, "controller", "EXIT_CODE=7")
	must(t, err)
	wantError(t, c.Stop(ctx), "exit code 7", "serving")

	c, err = startRole(t, ctx, i, "controller")
	must(t, err)
	c.Kill()
	c.Kill()
	wantError(t, c.Running(), "exit code -1")

	c, err = startRole(t, ctx, i, "failing")
	wantError(t, err, "exit code 3", "flag provided but not defined")
	if ended, ok := errors.AsType[*EndedError](err); !ok || ended.Code != 3 || c == nil {
		t.Errorf("the error is no EndedError of code 3, or its controller is missing: %v, %v", err, c)
	}
}

func TestAFrozenControllerComputesNothing(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	c, err := startRole(t, ctx, install(t, ctx, n), "controller")
	must(t, err)
	pid := c.proc.cmd.Process.Pid
	state := func(want string) error {
		return Await(ctx, "state "+want, func(context.Context) error {
			if got := processState(pid); !strings.Contains(want, got) {
				return fmt.Errorf("it is in state %s", got)
			}
			return nil
		})
	}
	must(t, c.Freeze())
	must(t, state("T"))
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if _, err := c.Metrics(short); err == nil || !c.Frozen() {
		t.Error("a frozen controller answers")
	}
	must(t, c.Thaw())
	must(t, state("RS"))
	if _, err := c.Metrics(ctx); err != nil || c.Frozen() {
		t.Errorf("a controller that goes on does not answer: %v", err)
	}
}

func TestAManifestThatCannotInstallOneController(t *testing.T) {
	t.Parallel()
	deployment := installation[strings.LastIndex(installation, "---"):]
	for name, test := range map[string]struct{ manifest, want string }{
		"no Deployment":                  {strings.TrimSuffix(installation, deployment), "0 Deployments"},
		"two Deployments":                {installation + deployment, "2 Deployments"},
		"no ServiceAccount":              {strings.Replace(installation, "serviceAccountName: reroll", "", 1), "names no ServiceAccount"},
		"permissions in all the cluster": {strings.ReplaceAll(installation, "kind: Role\n", "kind: ClusterRole\n"), "beyond the namespace"},
		"no name":                        {"apiVersion: v1\nkind: Secret\n" + deployment, "document 1: an object needs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseManifest(test.manifest)
			wantError(t, err, test.want)
		})
	}
	m, err := parseManifest(strings.Replace(installation, "value: green", "valueFrom: {secretKeyRef: {name: a, key: b}}", 1))
	must(t, err)
	_, _, err = m.command("ns", "pod")
	wantError(t, err, "variable COLOUR takes its value from a place")
}

func TestARaceOrPanicIsNeverSound(t *testing.T) {
	t.Parallel()
	for text, right := range map[string]bool{
		`{"msg":"stopped"}`:                         true,
		`{"msg":"panic: is a word in a message"}`:   true,
		"WARNING: DATA RACE":                        false,
		"panic: runtime error: index out of range":  false,
		"fatal error: concurrent map writes":        false,
		"{\"msg\":\"serving\"}\nWARNING: DATA RACE": false,
	} {
		c := &Controller{Log: &Log{}}
		_, err := c.Log.Write([]byte(text + "\n"))
		must(t, err)
		if err := c.Sound(); (err == nil) != right {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestALineHoldsAllTheWords(t *testing.T) {
	t.Parallel()
	l := &Log{}
	_, err := l.Write([]byte("green and red\nblue or red\ngreen\nred or green\n"))
	must(t, err)
	if diff := cmp.Diff([]string{"green and red", "red or green"}, l.Holding("green", "red")); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
