package edges

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

// account is a user's, with the permissions that the controller has.
const account = "reroll"

// command is the binary as a user calls it, in the namespace of the test.
func (p *place) command(words ...string) *exec.Cmd {
	p.Helper()
	binary, err := p.Binary()
	p.must(err)
	kubeconfig, err := p.Cluster.ServiceAccountKubeconfig(p.ctx, p.ns.Name, account)
	p.must(err)
	cmd := exec.CommandContext(p.ctx, binary, append(words, "--namespace="+p.ns.Name)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, harness.RaceDetector)
	return cmd
}

// However many workloads there are, each kind of object is listed once, a page at a time, and which
// groups there are is asked once.
func TestStatusOfManyAsksOnce(t *testing.T) {
	p := install(t)
	const many = 600
	p.must(p.ns.Apply(p.ctx, shopManifest))
	p.makeDeployments(many, func(i int) *appsv1.Deployment { return optedIn(fmt.Sprintf("web-%03d", i), "web") })
	began := time.Now()
	out, err := p.command("status").CombinedOutput()
	t.Logf("%d workloads in %s", many, time.Since(began).Round(time.Millisecond))
	if ended, ok := errors.AsType[*exec.ExitError](err); !ok || ended.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	if n := strings.Count(string(out), "\ndeployment/web-"); n != many {
		t.Errorf("%d lines, want %d", n, many)
	}
	counts := map[string]int{}
	p.must(harness.Await(p.ctx, "the requests in the audit log", func(context.Context) error {
		clear(counts)
		all, err := p.ns.Requests(p.Cluster.AuditLog())
		for _, r := range all {
			counts[r.Verb+" "+r.ObjectRef.Resource]++
		}
		if counts["list daemonsets"] == 0 {
			return errors.New("they are not there yet")
		}
		return err
	}))
	for request, n := range counts {
		if most := map[string]int{"list deployments": 2, "list configmaps": 2, "get configmaps": 2, "get ": 2}[request]; n > max(most, 1) {
			t.Errorf("%s: %d requests", request, n)
		}
	}
}

// shown is what a command has printed up to now.
type shown struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write takes what is printed.
func (s *shown) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(text)
}

// await returns when what matches an expression was printed behind the place that another one was found
// at, and where that ends.
func (p *place) await(s *shown, expression string, behind int) int {
	p.Helper()
	wanted, at := regexp.MustCompile(expression), 0
	p.must(harness.Await(p.ctx, fmt.Sprintf("%q to be printed", expression), func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		found := wanted.FindStringIndex(s.all.String()[behind:])
		if found == nil {
			return errors.New(s.all.String())
		}
		at = behind + found[1]
		return nil
	}))
	return at
}

func TestStatusThatIsWatched(t *testing.T) {
	p := install(t)
	c := p.start()
	p.must(p.ns.Apply(p.ctx, shopManifest))
	p.adopted(p.ns, web)
	var out shown
	cmd := p.command("status", "deployment/web", "--watch")
	cmd.Stdout, cmd.Stderr = &out, &out
	p.must(cmd.Start())
	at := p.await(&out, "deployment/web  up-to-date", 0)

	// It shows what a user would miss: that nobody acts, and then that somebody does.
	p.must(c.Freeze())
	p.must(p.ns.Edit(p.ctx, webConfig, "colour=red"))
	at = p.await(&out, `deployment/web  (waiting to settle \(1s\)|out-of-date since)`, at)
	p.must(c.Thaw())
	at = p.await(&out, "deployment/web  up-to-date", at)
	p.must(p.ns.AwaitFresh(p.ctx, web, webConfig))

	// One that is deleted ends it, with a word about why.
	p.must(p.ns.Delete(p.ctx, web))
	p.await(&out, "has no Deployment web", at)
	if ended, ok := errors.AsType[*exec.ExitError](cmd.Wait()); !ok || ended.ExitCode() != 2 {
		t.Errorf("it has ended with %v", ended)
	}
}

func TestStatusThatIsInterrupted(t *testing.T) {
	p := install(t)
	p.must(p.ns.Apply(p.ctx, shopManifest))
	var out shown
	cmd := p.command("status", "--wait=1h")
	cmd.Stdout, cmd.Stderr = &out, &out
	p.must(cmd.Start())
	p.must(harness.Await(p.ctx, "it to watch", func(context.Context) error {
		if p.requested("watch", "daemonsets") == 0 {
			return errors.New("it does not yet")
		}
		return nil
	}))
	p.must(cmd.Process.Signal(syscall.SIGTERM))
	if ended, ok := errors.AsType[*exec.ExitError](cmd.Wait()); !ok || ended.ExitCode() == 0 {
		t.Errorf("it has ended with %v: %s", ended, out.all.String())
	}
}

// watchesFor lets the account of another installation do here what it may do there.
const watchesFor = `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: from-outside}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reroll-role}
subjects: [{kind: ServiceAccount, name: reroll, namespace: NAMESPACE}]
`

// Each test has its controller on this cluster, so who looks for one finds many. What counts is
// which one watches the namespace, and not its name.
func TestTheControllerThatWatchesTheNamespaceIsAsked(t *testing.T) {
	p, outside := install(t), installOn(t, shared)
	p.must(p.ns.Apply(p.ctx, strings.ReplaceAll(watchesFor, "NAMESPACE", outside.ns.Name)))
	p.must(p.ns.Apply(p.ctx, shopManifest))
	outside.start("--namespaces="+p.ns.Name, "--settle=7s")
	p.adopted(p.ns, web)
	asked := func(text string, words ...string) {
		t.Helper()
		p.must(harness.Await(p.ctx, fmt.Sprintf("%q of %q", text, words), func(context.Context) error {
			cmd := p.command(words...)
			cmd.Env = append(cmd.Env, "KUBECONFIG="+p.Cluster.Kubeconfig())
			out, err := cmd.CombinedOutput()
			if said := strings.Join(strings.Fields(string(out)), " "); err != nil || !strings.Contains(said, text) {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}))
	}
	asked("rolls it 7s after the last one controller in namespace "+outside.ns.Name+", last active", "why", "deployment/web")
	asked(`"controllerNamespace": "`+outside.ns.Name+`", "flags"`, "status", "-o", "json")

	// A second one looks at it from within. It is nearer, and that there are two is said.
	within := p.start("--settle=3s")
	beside := "another one is in namespace " + outside.ns.Name + "; use --controller-namespace=" + outside.ns.Name + " to select that one"
	asked("rolls it 3s after the last one controller in namespace "+p.ns.Name+", last active", "why", "deployment/web")
	asked(beside, "why", "deployment/web")
	asked(beside, "plan", "configmap/web")
	asked(beside, "status")
	asked(`"controllerNamespace": "`+p.ns.Name+`", "otherControllerNamespaces": [ "`+outside.ns.Name+`" ]`, "status", "-o", "json")
	asked("rolls it 7s after the last one controller in namespace "+outside.ns.Name, "why", "deployment/web", "--controller-namespace="+outside.ns.Name)

	// One that has ended leaves its ConfigMap behind, and counts no more.
	p.must(within.Stop(p.ctx))
	asked("rolls it 7s after the last one controller in namespace "+outside.ns.Name+", last active", "why", "deployment/web")
}

// kubectl looks for two names in the path: what it runs, and what it asks for what may come next.
func TestAsAPluginOfKubectl(t *testing.T) {
	p := install(t)
	p.must(p.ns.Apply(p.ctx, shopManifest))
	clients, err := cluster.BuildClients(p.ctx, os.Stderr)
	p.must(err)
	binary, err := p.Binary()
	p.must(err)
	path := t.TempDir()
	for _, name := range []string{"kubectl-reroll", "kubectl_complete-reroll"} {
		p.must(os.Symlink(binary, filepath.Join(path, name)))
	}
	kubectl := func(code int, text string, words ...string) {
		t.Helper()
		// A completion gives up after three seconds, and completes nothing then.
		p.must(harness.Await(p.ctx, fmt.Sprintf("%q of %q", text, words), func(context.Context) error {
			cmd := exec.CommandContext(p.ctx, clients.Kubectl, words...)
			cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Cluster.Kubeconfig(), harness.RaceDetector, "PATH="+path+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			if said := strings.Join(strings.Fields(string(out)), " "); cmd.ProcessState.ExitCode() != code || !strings.Contains(said, text) {
				return fmt.Errorf("%w: %s", err, out)
			}
			return nil
		}))
	}
	own := "--namespace=" + p.ns.Name
	kubectl(0, "Deployment "+p.ns.Name+"/web is opted in", "reroll", "why", "deployment/web", own)
	kubectl(2, "reroll: kubectl reroll why needs a workload", "reroll", "why")
	// Whose pod did not restart knows the pod first.
	var pod string
	p.must(harness.Await(p.ctx, "a pod", func(context.Context) error {
		cmd := exec.CommandContext(p.ctx, clients.Kubectl, "get", "pods", own, "--selector=app=web", "--output=name")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+p.Cluster.Kubeconfig())
		out, err := cmd.Output()
		if pod, _, _ = strings.Cut(string(out), "\n"); err == nil && pod == "" {
			err = errors.New("there is none yet")
		}
		return err
	}))
	kubectl(0, "Deployment "+p.ns.Name+"/web is opted in", "reroll", "why", pod, own)
	kubectl(1, `pods "none" not found`, "reroll", "why", "pod/none", own)
	kubectl(0, "why Explain why a workload was or was not rolled :4", "__complete", "reroll", "wh")
	kubectl(0, "deployment/web :4", "__complete", "reroll", "why", own, "dep")
	kubectl(0, "configmap/web :4", "__complete", "reroll", "why", own, "deployment/web", "configmap/w")
	kubectl(0, "--controller-namespace", "__complete", "reroll", "why", "--contr")
}
