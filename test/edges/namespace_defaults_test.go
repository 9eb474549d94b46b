package edges

import (
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/harness"
)

// plainManifest is as charts render it, without annotations, beside a workload that opts out.
var plainManifest = strings.Replace(shopManifest, `, annotations: {reloader.stakater.com/auto: "true"}`, "", 1) + `---
apiVersion: apps/v1
kind: Deployment
metadata: {name: out, annotations: {reloader.stakater.com/auto: "false"}}
spec:
  selector: {matchLabels: {app: out}}
  template:
    metadata: {labels: {app: out}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: web}}]}]}
`

var out = harness.Ref{Kind: "deployment", Name: "out"}

// annotateNamespace sets annotations of a namespace, in JSON.
func (p *place) annotateNamespace(ns *harness.Namespace, values string) {
	p.Helper()
	_, err := p.Admin.CoreV1().Namespaces().Patch(p.ctx, ns.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{`+values+`}}}`), metav1.PatchOptions{FieldManager: "kubectl-annotate"})
	p.must(err)
}

// later returns when the next write has a later time than the last event of that name, and than the
// Pods of that time.
func (p *place) later(ns *harness.Namespace, than string) {
	p.Helper()
	p.must(ns.Apply(p.ctx, "{apiVersion: v1, kind: ConfigMap, metadata: {name: after-"+than+"}}"))
	p.must(ns.AwaitAge(p.ctx, harness.Ref{Kind: "configmap", Name: "after-" + than}, 6*time.Second))
}

// The annotations of a namespace opt in workloads that have none. That rolls nothing, even if it
// happens while no controller runs; a later change rolls them, and another namespace is as before.
func TestANamespaceOptsInItsWorkloads(t *testing.T) {
	p := installGlobally(t, asShipped)
	c := p.start(everywhere)
	live, err := p.Harness.EmptyNamespace(p.ctx, "live")
	p.must(err)
	away, err := p.Harness.EmptyNamespace(p.ctx, "away")
	p.must(err)
	for _, ns := range []*harness.Namespace{live, away} {
		p.must(ns.Apply(p.ctx, plainManifest))
		p.must(ns.AwaitReady(p.ctx, web))
		p.must(ns.AwaitReady(p.ctx, out))
		p.later(ns, "pods")
		p.must(ns.Edit(p.ctx, webConfig, "colour=red"))
	}
	p.annotateNamespace(live, `"reroll.dev/auto":"true","reroll.dev/settle":"2s"`)
	p.must(live.AwaitAdopted(p.ctx, web))
	p.rolled(live, web, 0)

	p.must(c.Stop(p.ctx))
	p.must(away.Edit(p.ctx, webConfig, "colour=blue"))
	p.later(away, "edit")
	p.annotateNamespace(away, `"reroll.dev/auto":"1"`)
	c = p.start(everywhere)
	p.must(away.AwaitAdopted(p.ctx, web))
	p.rolled(away, web, 0)
	p.rolled(live, web, 0)

	for _, ns := range []*harness.Namespace{live, away} {
		p.must(ns.Edit(p.ctx, webConfig, "colour=black"))
		p.must(ns.AwaitRolls(p.ctx, web, 1))
		p.must(ns.AwaitFresh(p.ctx, web, webConfig))
		p.rolled(ns, web, 1)
		p.rolled(ns, out, 0)
	}

	// An edit while no controller runs is found, because the namespace opted in before it.
	p.must(c.Stop(p.ctx))
	p.later(away, "rollout")
	p.must(away.Edit(p.ctx, webConfig, "colour=white"))
	p.start(everywhere)
	p.must(away.AwaitRolls(p.ctx, web, 2))
	p.must(away.AwaitFresh(p.ctx, web, webConfig))

	// Without the annotation, nothing is rolled any more.
	p.annotateNamespace(away, `"reroll.dev/auto":null`)
	p.must(away.Edit(p.ctx, webConfig, "colour=grey"))
	p.rolled(away, web, 2)
}

// Without the permission to watch namespaces, their annotations have no effect, and the log says so
// once.
func TestAnnotationsOfNamespacesNeedAPermission(t *testing.T) {
	p := installGlobally(t, func(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
		return slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "namespaces") })
	})
	ns, err := p.Harness.EmptyNamespace(p.ctx, "unseen")
	p.must(err)
	p.annotateNamespace(ns, `"reroll.dev/auto":"true"`)
	p.must(ns.Apply(p.ctx, plainManifest))
	c := p.start(everywhere)
	p.must(ns.AwaitReady(p.ctx, web))
	p.must(ns.Edit(p.ctx, webConfig, "colour=red"))
	p.rolled(ns, web, 0)
	const once = "annotations of namespaces have no effect"
	if n := len(c.Log.Holding(once)); n != 1 {
		t.Errorf("%d lines with %q, want one", n, once)
	}
}
