package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/test/argocd"
	"github.com/reroll-dev/reroll/test/harness"
)

// A sync is over when no pod is left that was there before, though Argo CD would be content as soon
// as the ConfigMap is applied and the Deployment still healthy.
func TestASyncSucceedsWhenThePodsFollow(t *testing.T) {
	p := newPlace(t)
	controller := p.start()
	a := p.ask()
	before, err := a.webPods(p.ctx)
	p.must(err)

	// Nobody rolls anything until the hook has looked, which must not be content either.
	p.must(controller.Stop(p.ctx))
	asked := len(a.requests())
	revision := a.commit("another greeting", files{"web.yaml": hookedApp("good morning", "once")})
	c := a.run()
	type answer struct {
		code int
		pods []string // when it ended
		err  error
	}
	ended := make(chan answer, 1)
	go func() {
		code, failed := c.Ended(p.ctx)
		pods, err := a.webPods(p.ctx)
		ended <- answer{code, pods, errors.Join(failed, err)}
	}()
	p.must(harness.Await(p.ctx, "a look of the hook", func(context.Context) error {
		// The lease is read once at first, and again when all the rest is known, for each look.
		looks := 0
		for _, r := range a.requests()[asked:] {
			if r.ObjectRef.Resource == "leases" {
				looks++
			}
		}
		if looks < 2 {
			return fmt.Errorf("it has asked for the lease %d times", looks)
		}
		return nil
	}))
	p.start()
	hook := <-ended
	p.must(hook.err)
	left := slices.DeleteFunc(hook.pods, func(pod string) bool { return !slices.Contains(before, pod) })
	if hook.code != 0 || len(left) > 0 {
		t.Errorf("the hook has ended with %d when %q were left of %q:\n%s", hook.code, left, before, c.Log.Tail(40))
	}
	if state := a.end(revision); state.Status.OperationState.Phase != "Succeeded" {
		t.Errorf("the sync is %+v", state.Status.OperationState)
	}
	a.judgePermissions()
}

// judgePermissions compares what the hook has asked for with what the example gives it: nothing was
// refused, and nothing is given that it does not use.
func (a *asker) judgePermissions() {
	a.Helper()
	used, denied := map[string]bool{}, map[string]bool{}
	for _, r := range a.requests() {
		used[r.ObjectRef.Resource] = true
		if r.Status.Code/100 != 2 {
			denied[strings.TrimSuffix(r.Verb+" "+r.ObjectRef.Resource+"/"+r.ObjectRef.Name, "/")] = true
		}
	}
	if len(denied) > 0 {
		a.Errorf("the hook was refused %v, and the example gives it what it needs", denied)
	}
	for _, name := range []string{hookName, hookName + "-settings", hookName + "-digest-key"} {
		role, err := a.Admin.RbacV1().Roles(a.ns.Name).Get(a.ctx, name, metav1.GetOptions{})
		a.must(err)
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if !used[resource] {
					a.Errorf("Role %s gives permissions on %s, which the hook has not asked for", name, resource)
				}
			}
		}
	}
}

// A quota leaves no room for a third pod of web, but for several of the hook: it may count one a
// while after its end. Argo CD finds web healthy when the hook begins: nothing has changed there
// yet.
func TestASyncFailsWhenPodsDoNotFollow(t *testing.T) {
	p := newPlace(t)
	p.must(p.ns.Apply(p.ctx, `
apiVersion: v1
kind: ResourceQuota
metadata: {name: cpu}
spec: {hard: {requests.cpu: 1000m}, scopes: [NotBestEffort]}
`))
	p.start(beyondASync)
	a := p.ask()

	revision := a.commit("another greeting", files{"web.yaml": hookedApp("good morning", "once"), "reroll-status.yaml": p.inHaste()})
	// The image takes long to be pulled, so that what is answered does not depend on how fast the
	// rest is.
	p.must(harness.Await(p.ctx, "a ReplicaSet that may make no pod", func(ctx context.Context) error {
		web, err := p.Admin.AppsV1().Deployments(p.ns.Name).Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range web.Status.Conditions {
			if condition.Type == "ReplicaFailure" && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("there is none: %+v", web.Status)
	}))
	a.says(a.answered(revision, 1), "in-progress 0 of 2", "exceeded quota: cpu")
}

// No controller runs, so nothing follows. Argo CD tries again by itself, and then one does.
func TestASyncIsTriedAgainUntilThePodsFollow(t *testing.T) {
	p := newPlace(t)
	controller := p.start()
	a := p.ask()
	a.must(a.Patch(a.ctx, map[string]any{"spec": map[string]any{"syncPolicy": map[string]any{"retry": nil}}}))
	p.must(controller.Stop(p.ctx))
	seen := a.record()

	revision := a.commit("another greeting", files{"web.yaml": hookedApp("good morning", "once"), "reroll-status.yaml": p.inHaste()})
	c := a.run()
	code, err := c.Ended(p.ctx)
	p.must(err)
	if code != 1 {
		t.Fatalf("the hook has ended with %d, and no sync is tried again after that:\n%s", code, c.Log.Tail(40))
	}
	a.says(c.Log.Tail(40), "ConfigMap "+p.ns.Name+"/settings changed", "none is running in namespace")
	p.start()
	p.must(p.ns.AwaitReady(p.ctx, harness.Ref{Kind: "deployment", Name: "web"}))
	a.answered(revision, 0)
	last, err := a.Get(p.ctx)
	p.must(err)
	states, err := seen.UpTo(p.ctx, last)
	p.must(err)
	if !slices.ContainsFunc(states, func(s *argocd.State) bool {
		return strings.Contains(s.Status.OperationState.Message, "completed unsuccessfully. Retrying attempt #1") && strings.Contains(hookMessage(s), "exit code 1 ")
	}) {
		t.Error("Argo CD has not said that it tries again, and that the hook had failed")
	}
}

// What the hook may not read is no reason to let a sync pass.
func TestASyncFailsWhenNobodyCanTell(t *testing.T) {
	p := newPlace(t)
	p.start()
	a := p.ask()

	blind := p.replaced(p.inHaste(), "resources: [configmaps, secrets]", "resources: [configmaps]")
	a.says(a.answered(a.commit("fewer permissions", files{"reroll-status.yaml": blind}), 2), "unknown", "You may not list secrets.")
}

// Without the key of the controller nothing follows from a Secret, whether it was ever written
// again or not. With the key, one that is written without its data being changed is told from one
// that has changed.
func TestASecretIsComparedByTheKeyAlone(t *testing.T) {
	p := newPlace(t)
	p.start()
	a := p.askWith(2)
	a.says(a.first, "unknown: Secret login", "you may not read the digest key of the controller")

	p.must(p.ns.Apply(p.ctx, p.example("digest-key.yaml")))
	a.answered(a.commit("another label", files{"web.yaml": hookedApp("hello", "thrice"), "reroll-status.yaml": p.hook()}), 0)
	rolls, err := p.ns.Rolls(p.ctx, harness.Ref{Kind: "deployment", Name: "web"})
	p.must(err)
	if rolls != 0 {
		t.Errorf("web was rolled %d times for labels of a Secret", rolls)
	}
}

// The strictest namespaces take the pod, it runs what the controller runs, and gives up before the
// Job is ended.
func TestTheHookFitsWhereItGoes(t *testing.T) {
	p := newPlace(t)
	restricted := []byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`)
	_, err := p.Admin.CoreV1().Namespaces().Patch(p.ctx, p.ns.Name, types.MergePatchType, restricted, metav1.PatchOptions{})
	p.must(err)
	var job batchv1.Job
	p.must(yaml.Unmarshal([]byte(strings.Split(p.hook(), "\n---\n")[0]), &job))
	spec := job.Spec.Template.Spec
	spec.ServiceAccountName = "" // there is no such account here, and it makes no difference
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Spec: spec}
	_, err = p.Admin.CoreV1().Pods(p.ns.Name).Create(p.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	p.must(err)

	shipped, err := harness.ShippedManifest()
	p.must(err)
	text, err := os.ReadFile(shipped)
	p.must(err)
	if image := spec.Containers[0].Image; !strings.Contains(string(text), fmt.Sprintf("image: %q\n", image)) {
		t.Errorf("its image is %s, and %s has another", image, shipped)
	}
}
