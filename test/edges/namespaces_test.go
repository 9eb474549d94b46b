package edges

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// installGlobally gives the controller the permissions that it is shipped with for all namespaces,
// on a cluster of its own.
func installGlobally(t *testing.T, rules func([]rbacv1.PolicyRule) []rbacv1.PolicyRule) *place {
	t.Helper()
	t.Parallel()
	p := installOn(t, stage.OfTest(t, shared.Binary))
	path, err := harness.ShippedManifest()
	p.must(err)
	role, err := harness.ReadClusterRole(filepath.Join(filepath.Dir(path), "reroll.yaml"))
	p.must(err)
	role.Rules = rules(role.Rules)
	_, err = p.Admin.RbacV1().ClusterRoles().Create(p.ctx, role, metav1.CreateOptions{})
	p.must(err)
	_, err = p.Admin.RbacV1().ClusterRoleBindings().Create(p.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: p.ns.Name, Name: "reroll"}},
	}, metav1.CreateOptions{})
	p.must(err)
	return p
}

func asShipped(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule { return rules }

// everywhere takes the place of the one namespace that the manifest names.
const everywhere = "KUBERNETES_NAMESPACE="

const shopManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {colour: green}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: web}}]}]}
`

var (
	web       = harness.Ref{Kind: "deployment", Name: "web"}
	webConfig = harness.Ref{Kind: "configmap", Name: "web"}
)

// adopted returns when a workload has its ledger and its pods: what changes before Kubernetes has
// made the first revision is part of that.
func (p *place) adopted(ns *harness.Namespace, workload harness.Ref) {
	p.Helper()
	p.must(ns.AwaitReady(p.ctx, workload))
	p.must(ns.AwaitAdopted(p.ctx, workload))
}

// rolled tells how often a workload has rolled when the controller has decided on everything
// before.
func (p *place) rolled(ns *harness.Namespace, workload harness.Ref, want int) {
	p.Helper()
	p.must(p.ns.Quiet(p.ctx))
	p.rolledSoFar(ns, workload, want)
}

// rolledSoFar compares how often a workload has rolled, whatever the controller has not decided on
// yet.
func (p *place) rolledSoFar(ns *harness.Namespace, workload harness.Ref, want int) {
	p.Helper()
	got, err := ns.Rolls(p.ctx, workload)
	p.must(err)
	if got != want {
		p.Errorf("%s in namespace %s has rolled %d times, want %d\n%s", workload, ns.Name, got, want, ns.Report(p.ctx))
	}
}

// rollsAShop makes a workload in an empty namespace, and returns when an edit has rolled it once.
func (p *place) rollsAShop(ns *harness.Namespace) {
	p.Helper()
	p.must(ns.Apply(p.ctx, shopManifest))
	p.adopted(ns, web)
	p.must(ns.Edit(p.ctx, webConfig, "colour=red"))
	p.must(ns.AwaitRolls(p.ctx, web, 1))
	p.must(ns.AwaitFresh(p.ctx, web, webConfig))
}

func TestNamespacesThatAppearAndVanish(t *testing.T) {
	p := installGlobally(t, asShipped)
	p.start(everywhere)

	// It appears while the controller runs.
	ns, err := p.Harness.EmptyNamespace(p.ctx, "shop")
	p.must(err)
	p.rollsAShop(ns)
	p.rolled(ns, web, 1)

	// Other labels are nothing to it.
	_, err = p.Admin.CoreV1().Namespaces().Patch(p.ctx, ns.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"a"}}}`), metav1.PatchOptions{})
	p.must(err)
	p.rolled(ns, web, 1)

	// It is deleted and made again, with all that was in it, and other content.
	p.must(p.Admin.CoreV1().Namespaces().Delete(p.ctx, ns.Name, metav1.DeleteOptions{}))
	p.must(harness.Await(p.ctx, "the end of the namespace", func(ctx context.Context) error {
		_, err := p.Admin.CoreV1().Namespaces().Get(ctx, ns.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(err, errors.New("it is there"))
	}))
	again, err := p.Harness.NamedNamespace(p.ctx, ns.Name)
	p.must(err)
	p.must(again.Apply(p.ctx, shopManifest))
	p.adopted(again, web)
	p.rolled(again, web, 0)
	p.must(again.Edit(p.ctx, webConfig, "colour=red"))
	p.must(again.AwaitRolls(p.ctx, web, 1))
	p.rolled(again, web, 1)
}

func TestANamespaceToWatchThatIsCreatedLater(t *testing.T) {
	p := installGlobally(t, func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		return append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}})
	})
	c := p.start("--namespaces=" + p.ns.Name + ",later")
	const missing = "a namespace to watch does not exist"
	_, err := c.Says(p.ctx, missing, `"namespace":"later"`)
	p.must(err)

	ns, err := p.Harness.NamedNamespace(p.ctx, "later")
	p.must(err)
	p.rollsAShop(ns)
	if got := len(c.Log.Holding(missing)); got != 1 {
		t.Errorf("it was reported %d times", got)
	}
}

// hold keeps a namespace from vanishing while all else stays in it: pods are deleted before
// anything else is.
func (p *place) hold(ns *harness.Namespace) {
	p.Helper()
	_, err := p.Admin.CoreV1().Pods(ns.Name).Create(p.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"reroll.dev/held"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "app"}}},
	}, metav1.CreateOptions{})
	p.must(err)
}

func (p *place) letGo(ns *harness.Namespace) {
	p.Helper()
	_, err := p.Admin.CoreV1().Pods(ns.Name).Patch(p.ctx, "held", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	p.must(err)
}

func TestNothingIsWrittenInANamespaceThatIsBeingDeleted(t *testing.T) {
	p := installGlobally(t, asShipped)
	c := p.start(everywhere)
	ns, err := p.Harness.EmptyNamespace(p.ctx, "leaving")
	p.must(err)
	p.must(ns.Apply(p.ctx, shopManifest))
	p.adopted(ns, web)
	p.must(p.ns.Quiet(p.ctx)) // it has said what it watches
	p.hold(ns)
	wrote := len(p.writesIn(ns.Name))
	seen := map[string]string{"event_type": "update", "resource_type": "namespaces"}
	before, err := c.Metric(p.ctx, "reloader_events_received_total", seen)
	p.must(err)

	p.must(p.Admin.CoreV1().Namespaces().Delete(p.ctx, ns.Name, metav1.DeleteOptions{}))
	p.must(harness.Await(p.ctx, "the controller to see it", func(ctx context.Context) error {
		now, err := c.Metric(ctx, "reloader_events_received_total", seen)
		if err == nil && now.Sum == before.Sum {
			return errors.New("it has not")
		}
		return err
	}))
	// What is there can be changed still, and a workload without a change as well.
	p.must(ns.Edit(p.ctx, webConfig, "colour=red"))
	p.must(p.ns.Quiet(p.ctx))
	if obj, err := ns.Get(p.ctx, web); err != nil || obj.GetDeletionTimestamp() != nil {
		t.Fatalf("the Deployment did not outlive the edit, so nothing was shown: %v", err)
	}
	if got := p.writesIn(ns.Name); len(got) != wrote {
		t.Fatalf("the controller has written more than before the deletion: %v", got[wrote:])
	}
	p.rolled(ns, web, 0)
	p.letGo(ns)
}

func TestWithoutThePermissionToLookAtNamespacesItRolls(t *testing.T) {
	p := installGlobally(t, func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		return slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "namespaces") })
	})
	c := p.start(everywhere)
	p.must(p.ns.Apply(p.ctx, shopManifest))
	p.adopted(p.ns, web)
	p.must(p.ns.Edit(p.ctx, webConfig, "colour=red"))
	p.must(p.ns.AwaitRolls(p.ctx, web, 1))
	p.rolled(p.ns, web, 1)
	if got := len(c.Log.Holding("watch failed; retrying", "namespaces is forbidden")); got != 1 {
		t.Errorf("%d lines of the log say that a permission is missing, want 1:\n%s", got, c.Log.Tail(20))
	}
}

// writesIn names what the controller has written into a namespace.
func (p *place) writesIn(namespace string) []string {
	p.Helper()
	var writes []string
	for _, r := range p.requests() {
		if r.ObjectRef.Namespace == namespace && !slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			writes = append(writes, fmt.Sprintf("%s %s %s: %d", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Name, r.Status.Code))
		}
	}
	return writes
}
