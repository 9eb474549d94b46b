package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/argocd"
	"github.com/reroll-dev/reroll/test/harness"
)

const (
	hookExample = "../../examples/postsync"
	hookName    = "reroll-status"
)

// What an app has in Git that the hook is added to.
const hooked = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: GREETING}
---
apiVersion: v1
kind: Secret
metadata: {name: login, labels: {revised: "LABEL"}}
data: {password: c2VzYW1l}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  progressDeadlineSeconds: 86400
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: web
          image: web
          resources: {requests: {cpu: 400m}}
          envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: login}}]
`

func hookedApp(greeting, label string) string {
	return strings.NewReplacer("GREETING", greeting, "LABEL", label).Replace(hooked)
}

// asker is an Application with the hook, and the repository that it is deployed from.
type asker struct {
	*application
	repo *repository
	// first is what the hook has said to the first sync.
	first string
}

// example is a manifest of examples/postsync, with this namespace in the place of both that it
// names: the controller of a test is beside what it rolls.
func (p *place) example(name string) string {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(hookExample, name))
	p.must(err)
	return strings.NewReplacer("namespace: reroll", "namespace: "+p.ns.Name, "namespace: shop", "namespace: "+p.ns.Name,
		"--controller-namespace=reroll", "--controller-namespace="+p.ns.Name).Replace(string(text))
}

// replaced is a text with another in the place of one that it has once.
func (p *place) replaced(text, was, is string) string {
	p.Helper()
	if n := strings.Count(text, was); n != 1 {
		p.Fatalf("%q stands there %d times, and it has to be once", was, n)
	}
	return strings.Replace(text, was, is, 1)
}

// hook is the one of the example.
func (p *place) hook() string {
	p.Helper()
	return p.example("reroll-status.yaml")
}

// inHaste is the hook with less patience, for what never comes.
func (p *place) inHaste() string {
	p.Helper()
	return p.replaced(p.hook(), "--wait=5m", "--wait=30s")
}

// ask deploys an app with the hook, which may do all that the example says. Its first sync
// succeeds.
func (p *place) ask() *asker {
	p.Helper()
	p.must(p.ns.Apply(p.ctx, p.example("digest-key.yaml")))
	return p.askWith(0)
}

// askWith deploys an app with the hook, and returns when its first sync has led to an exit code.
func (p *place) askWith(want int) *asker {
	p.Helper()
	p.must(p.ns.Apply(p.ctx, p.example("controller.yaml")))
	repo := p.newRepository()
	hook := p.hook()
	if want != 0 {
		hook = p.inHaste()
	}
	revision := repo.commit("web, and the hook", files{"web.yaml": hookedApp("hello", "once"), "reroll-status.yaml": hook})
	how := automated(true)
	// Otherwise Argo CD tries again, five times.
	how["retry"] = map[string]any{"limit": 0}
	a := &asker{application: p.deploy(repo, how), repo: repo}
	a.first = a.answered(revision, want)
	return a
}

// commit changes what is in Git, and makes Argo CD see it.
func (a *asker) commit(message string, changed files) string {
	a.Helper()
	revision := a.repo.commit(message, changed)
	a.must(a.Patch(a.ctx, map[string]any{"metadata": map[string]any{"annotations": map[string]any{"argocd.argoproj.io/refresh": "hard"}}}))
	return revision
}

// pod returns that of the hook which waits to be run.
func (a *asker) pod() *corev1.Pod {
	a.Helper()
	var found *corev1.Pod
	a.must(harness.Await(a.ctx, "a pod of Job "+hookName, func(ctx context.Context) error {
		pods, err := a.Admin.CoreV1().Pods(a.ns.Name).List(ctx, metav1.ListOptions{LabelSelector: "batch.kubernetes.io/job-name=" + hookName})
		if err != nil {
			return err
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending && pod.DeletionTimestamp == nil {
				found = pod
				return nil
			}
		}
		state, err := a.Get(ctx)
		if err != nil {
			return err
		}
		return fmt.Errorf("there is none that has a node and has not run; the sync is %s: %s; %+v", state.Status.OperationState.Phase,
			state.Status.OperationState.Message, state.Status.OperationState.SyncResult.Resources)
	}))
	return found
}

// run does what a kubelet does with the pod of the hook, until its container runs.
func (a *asker) run() *harness.Container {
	a.Helper()
	binary, err := a.Binary()
	a.must(err)
	c, err := a.ns.RunContainer(a.ctx, a.pod(), binary)
	if c != nil {
		a.Cleanup(c.Kill)
	}
	a.must(err)
	return c
}

// end returns what Argo CD says when a sync is over.
func (a *asker) end(revision string) *argocd.State {
	a.Helper()
	state, err := a.Await(a.ctx, "done with "+revision, func(s *argocd.State) error {
		now := s.Status.OperationState
		if len(s.Operation) > 0 || now.SyncResult.Revision != revision || now.Phase != "Succeeded" && now.Phase != "Failed" {
			return fmt.Errorf("its last operation, of revision %q, is %s: %s", now.SyncResult.Revision, now.Phase, now.Message)
		}
		return nil
	})
	a.must(err)
	return state
}

// answered runs the hook of a sync to its end, and returns its log when Argo CD has drawn the
// conclusion that belongs to an exit code.
func (a *asker) answered(revision string, want int) string {
	a.Helper()
	c := a.run()
	code, err := c.Ended(a.ctx)
	a.must(err)
	state := a.end(revision)
	log := c.Log.Tail(100)
	phase := "Failed"
	if want == 0 {
		phase = "Succeeded"
	}
	now := state.Status.OperationState
	a.Logf("exit code %d, the sync %s: %s; %s\n%s", code, now.Phase, now.Message, hookMessage(state), log)
	if code != want || now.Phase != phase {
		a.Fatalf("the hook has ended with %d and the sync is %s: wanted are %d and %s\n%s", code, now.Phase, want, phase, a.ns.Report(context.WithoutCancel(a.ctx)))
	}
	if says := fmt.Sprintf("exit code %d ", want); want != 0 && !strings.Contains(hookMessage(state), says) {
		a.Errorf("Argo CD says of the hook %q, without %q", hookMessage(state), says)
	}
	return log
}

// hookMessage is what Argo CD shows of the hook.
func hookMessage(s *argocd.State) string {
	for _, r := range s.Status.OperationState.SyncResult.Resources {
		if r.Kind == "Job" && r.Name == hookName {
			return r.Message
		}
	}
	return ""
}

// says checks what somebody reads who looks for the reason.
func (a *asker) says(log string, words ...string) {
	a.Helper()
	for _, word := range words {
		if !strings.Contains(log, word) {
			a.Errorf("the log of the hook does not have %q:\n%s", word, log)
		}
	}
}

// webPods are the names of the pods of web that are not being deleted.
func (a *asker) webPods(ctx context.Context) ([]string, error) {
	pods, err := a.Admin.CoreV1().Pods(a.ns.Name).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			names = append(names, pods.Items[i].Name)
		}
	}
	return names, nil
}

// requests are those of the hook.
func (a *asker) requests() []harness.Request {
	a.Helper()
	all, err := a.ns.Requests(a.Cluster.AuditLog())
	a.must(err)
	return slices.DeleteFunc(all, func(r harness.Request) bool { return !strings.HasSuffix(r.User.Username, ":"+hookName) })
}
