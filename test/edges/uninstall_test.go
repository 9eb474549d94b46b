package edges

import (
	"context"
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// mayUninstall lets the account of the test delete the objects of the controller, too.
const mayUninstall = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: uninstall}
rules:
  - {apiGroups: [""], resources: [secrets, configmaps], verbs: [get, delete]}
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, delete]}
  - {apiGroups: [argoproj.io], resources: [rollouts], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: uninstall}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: uninstall}
subjects: [{kind: ServiceAccount, name: reroll}]
`

func TestAnUninstallationRollsNothing(t *testing.T) {
	p := install(t)
	p.must(p.ns.Apply(p.ctx, strings.ReplaceAll(mayUninstall, "name: reroll}", "name: "+account+", namespace: "+p.ns.Name+"}")))
	p.must(p.ns.Apply(p.ctx, shopManifest))
	c := p.start()
	p.adopted(p.ns, web)
	p.must(p.ns.Edit(p.ctx, webConfig, "colour=red"))
	p.must(p.ns.AwaitFresh(p.ctx, web, webConfig))
	p.must(p.ns.AwaitReady(p.ctx, web))
	p.rolledSoFar(p.ns, web, 1)

	// It acts, and would write again what is removed.
	said, code := p.uninstall()
	if code != 1 || !strings.Contains(said, "the controller in namespace "+p.ns.Name+" runs; uninstall the controller first") {
		t.Fatalf("while it runs, exit code %d:\n%s", code, said)
	}
	p.must(c.Stop(p.ctx))

	const stays = "Deployment NS/web: stays in the pod template: STAKATER_WEB_CONFIGMAP\n"
	const markers = "Change markers stay in 1 pod template. They have no effect, and to remove one rolls the workload.\n"
	list := "Deployment NS/web: would remove annotation reroll.dev/ledger\n" + stays +
		"Lease NS/stakater-reloader-lock: would delete\nSecret NS/reroll-digest-key: would delete\nConfigMap NS/reloader-meta-info: would delete\n" + markers
	before, err := p.Admin.AppsV1().Deployments(p.ns.Name).Get(p.ctx, "web", metav1.GetOptions{})
	p.must(err)
	for _, step := range []struct{ prints, flag string }{
		{list, "--dry-run"},
		{strings.NewReplacer("would remove", "removed", "would delete", "deleted").Replace(list), "--dry-run=false"},
		{stays + markers, "--dry-run"},
	} {
		if said, code := p.uninstall(step.flag, "--controller-namespace="+p.ns.Name); code != 0 || said != strings.ReplaceAll(step.prints, "NS/", p.ns.Name+"/") {
			t.Fatalf("%s: exit code %d, and it prints\n%s\nwant\n%s", step.flag, code, said, step.prints)
		}
	}
	p.rolledSoFar(p.ns, web, 1)
	after, err := p.Admin.AppsV1().Deployments(p.ns.Name).Get(p.ctx, "web", metav1.GetOptions{})
	p.must(err)
	if after.Annotations["reroll.dev/ledger"] != "" || after.Annotations["reloader.stakater.com/auto"] != "true" || after.UID != before.UID {
		t.Errorf("it has %v", after.Annotations)
	}
	sets, err := p.Admin.AppsV1().ReplicaSets(p.ns.Name).List(p.ctx, metav1.ListOptions{LabelSelector: "app=web"})
	p.must(err)
	if len(sets.Items) != 2 {
		t.Errorf("%d ReplicaSets, want those before and after the reload", len(sets.Items))
	}
}

// uninstall returns what the command prints about the workloads of the test, and its exit code.
func (p *place) uninstall(flags ...string) (string, int) {
	p.Helper()
	out, err := p.command(append([]string{"uninstall"}, flags...)...).CombinedOutput()
	ended, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case failed:
		return string(out), ended.ExitCode()
	case err != nil:
		p.Fatal(err)
	}
	// The harness has workloads of its own, which are cleaned, too.
	var own strings.Builder
	for line := range strings.Lines(string(out)) {
		if !strings.Contains(line, "/marker-") && !strings.Contains(strings.ToLower(line), "clean") {
			own.WriteString(line)
		}
	}
	return own.String(), 0
}

// keyAlone is what a controller leaves that ran outside of a cluster: it holds no Lease and writes
// no ConfigMap about itself.
const keyAlone = `
apiVersion: v1
kind: Secret
metadata: {name: reroll-digest-key}
data: {key: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}
`

func TestTheKeyOfAControllerOutsideOfAClusterIsRemoved(t *testing.T) {
	p := install(t)
	p.must(p.ns.Apply(p.ctx, keyAlone))
	notice := "Namespace " + p.ns.Name + " has the key of a controller, but not its ConfigMap. If that controller runs outside of the cluster, end it first.\n"
	secret := "Secret " + p.ns.Name + "/reroll-digest-key: "
	for _, step := range []struct{ flag, want string }{
		{"--dry-run", notice + secret + "would delete\n"},
		{"--dry-run=false", notice + secret + "deleted\n"},
		{"--dry-run", ""},
	} {
		var out []byte
		var err error
		p.must(harness.Await(p.ctx, "the controllers of other tests to write their settings", func(context.Context) error {
			cmd := p.command("uninstall", step.flag)
			cmd.Env = append(cmd.Env, "KUBECONFIG="+p.Cluster.Kubeconfig()) // who may look for controllers in all namespaces
			out, err = cmd.CombinedOutput()
			if strings.Contains(string(out), "read the settings in ConfigMap") {
				return errors.New(string(out))
			}
			return nil
		}))
		said, _, counted := strings.Cut(string(out), map[bool]string{true: "Would clean ", false: "Cleaned "}[step.flag == "--dry-run"])
		if err != nil || !counted || said != step.want {
			t.Fatalf("%s: %v, and it prints\n%s\nwant\n%s", step.flag, err, out, step.want)
		}
	}
}

// What is waited for is named at once, and when the time is over. A controller that starts
// meanwhile is found.
func TestStatusNamesTheControllerThatItWaitsFor(t *testing.T) {
	p := install(t)
	p.must(p.ns.Apply(p.ctx, shopManifest)) // beside two workloads of the harness
	const none = "the controller to run (it was not found:"
	out, err := p.command("status", "--require-controller", "--wait=5s", "--controller-namespace="+p.ns.Name).CombinedOutput()
	if ended, ok := errors.AsType[*exec.ExitError](err); !ok || ended.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	for _, want := range []string{"Waiting up to 5s for " + none, "Gave up after 5s of waiting for " + none, " and 3 of 3 workloads to be up to date.\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("without %q:\n%s", want, out)
		}
	}

	var said shown
	cmd := p.command("status", "--require-controller", "--wait=15m", "--controller-namespace="+p.ns.Name)
	cmd.Stdout, cmd.Stderr = &said, &said
	p.must(cmd.Start())
	p.await(&said, "Waiting up to 15m0s for "+regexp.QuoteMeta(none), 0)
	p.start()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, said.all.String())
	}
}
