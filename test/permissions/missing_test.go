package permissions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/test/harness"
)

// grants are the rules of an account.
type grants struct{ here, everywhere []rbacv1.PolicyRule }

// asShipped reads the rules of what is shipped: for all namespaces, or for its own.
func asShipped(t *testing.T, global bool) grants {
	t.Helper()
	if global {
		return rulesOf(t, "reroll.yaml")
	}
	return rulesOf(t, "reroll-namespaced.yaml")
}

// rulesOf reads those of a file that is shipped.
func rulesOf(t *testing.T, file string) grants {
	t.Helper()
	path, err := harness.ShippedManifest()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(path), file))
	if err != nil {
		t.Fatal(err)
	}
	var g grants
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
			t.Fatal(err)
		}
		switch role.Kind {
		case "Role":
			g.here = append(g.here, role.Rules...)
		case "ClusterRole":
			g.everywhere = append(g.everywhere, role.Rules...)
		}
	}
	return g
}

// without takes one single rule away.
func without(rules []rbacv1.PolicyRule, gone rbacv1.PolicyRule) []rbacv1.PolicyRule {
	return slices.DeleteFunc(single(rules), func(r rbacv1.PolicyRule) bool { return reflect.DeepEqual(r, gone) })
}

// rulesIn reads the rules to be pasted from the end of a message.
func (p *place) rulesIn(text string) []rbacv1.PolicyRule {
	p.Helper()
	_, pasted, found := strings.Cut(text, " that is bound to its ServiceAccount: ")
	if !found {
		p.Fatalf("no rules to be pasted in: %s", text)
	}
	var rules []rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict([]byte(pasted), &rules); err != nil {
		p.Fatalf("%v in: %s", err, pasted)
	}
	return rules
}

// message is that of a line of the log.
func (p *place) message(line string) string {
	p.Helper()
	var entry struct{ Msg string }
	p.must(json.Unmarshal([]byte(line), &entry))
	return entry.Msg
}

// called names a single rule as kubectl auth can-i takes it.
func called(r rbacv1.PolicyRule) string {
	resource := r.Resources[0]
	if r.APIGroups[0] != "" {
		resource += "." + r.APIGroups[0]
	}
	if len(r.ResourceNames) > 0 {
		resource += "/" + r.ResourceNames[0]
	}
	return r.Verbs[0] + " " + resource
}

// canDoWithout reports whether the controller does its work without a permission.
func canDoWithout(r rbacv1.PolicyRule) bool {
	isMetaInfo := called(r) == "create configmaps" || slices.Contains(r.ResourceNames, "reloader-meta-info")
	return isMetaInfo || slices.Contains([]string{"events", "namespaces", "leases"}, r.Resources[0])
}

// Everywhere takes the place of the one namespace that the manifest names.
const everywhere = "KUBERNETES_NAMESPACE="

func TestEachPermissionThatIsMissingIsNamed(t *testing.T) {
	for _, global := range []bool{true, false} {
		all := asShipped(t, global)
		mode := map[bool]string{true: "all namespaces", false: "one namespace"}[global]
		for _, gone := range append(single(all.here), single(all.everywhere)...) {
			isHere := slices.ContainsFunc(single(all.here), func(r rbacv1.PolicyRule) bool { return reflect.DeepEqual(r, gone) })
			t.Run(mode+"/"+called(gone), func(t *testing.T) {
				p := newPlace(t)
				where, role, namespace, flags := "In namespace "+p.ns.Name, "a Role of that namespace", p.ns.Name, []string{}
				if global {
					flags = append(flags, everywhere)
				}
				if !isHere {
					where, role, namespace = "In all namespaces", "a ClusterRole", ""
				}
				p.grant(grants{without(all.here, gone), without(all.everywhere, gone)})
				p.awaitPermission(gone, namespace, false)

				c := p.launch(flags...)
				start := fmt.Sprintf("%s the controller may not %s. Add to the rules of %s that is bound", where, called(gone), role)
				line := p.says(c, start)
				if diff := cmp.Diff([]rbacv1.PolicyRule{gone}, p.rulesIn(p.message(line))); diff != "" {
					t.Errorf("the rules to be pasted: %s", diff)
				}
				if canDoWithout(gone) {
					p.must(c.AwaitReady(p.ctx))
					if !strings.Contains(line, `"level":"warning"`) || !strings.Contains(line, `"without":`) {
						t.Errorf("no warning that says what is not done: %s", line)
					}
				} else {
					why, err := c.WhyNotReady(p.ctx)
					p.must(err)
					if !strings.Contains(why, start) {
						t.Errorf("it is not ready because of %q, want: %s", why, start)
					}
				}
				if n := len(c.Log.Holding("Add to the rules of")); n != 1 {
					t.Errorf("%d lines about permissions, want 1:\n%s", n, c.Log.Tail(20))
				}
			})
		}
	}
}

// reloaders are the permissions that Reloader's chart gives.
var reloaders = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"list", "get", "watch"}},
	{APIGroups: []string{"apps"}, Resources: []string{"deployments", "daemonsets", "statefulsets"}, Verbs: []string{"list", "get", "update", "patch"}},
	{APIGroups: []string{"batch"}, Resources: []string{"cronjobs"}, Verbs: []string{"list", "get"}},
	{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"create", "delete", "list", "get"}},
	{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
}

const manifest = `
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

func (p *place) adopted() {
	p.Helper()
	p.must(p.ns.AwaitReady(p.ctx, web))
	p.must(p.ns.AwaitAdopted(p.ctx, web))
}

func TestUnderThePermissionsOfReloaderItSaysWhatToAddAndGoesOnWhenItIsThere(t *testing.T) {
	p := newPlace(t)
	p.grant(grants{everywhere: reloaders})
	p.must(p.ns.Apply(p.ctx, manifest))
	c := p.launch(everywhere)
	needed := p.says(c, `"level":"error"`, "In all namespaces the controller may not watch deployments.apps, statefulsets.apps and daemonsets.apps, watch or patch cronjobs.batch and jobs.batch, list pods. Add")
	p.says(c, `"level":"warning"`, "In all namespaces the controller may not create events.events.k8s.io. Add")
	p.says(c, `"level":"warning"`, "In all namespaces the controller may not list or watch namespaces. Add")
	p.says(c, `"level":"warning"`, "In namespace "+p.ns.Name+" the controller may not create secrets. Add")
	p.says(c, `"level":"warning"`, "the controller may not get or update leases.coordination.k8s.io/stakater-reloader-lock, create leases.coordination.k8s.io. Add")
	why, err := c.WhyNotReady(p.ctx)
	p.must(err)
	if why != p.message(needed) {
		t.Errorf("it is not ready because of %q, want what the log says: %q", why, p.message(needed))
	}

	// What is pasted is enough.
	g := grants{everywhere: slices.Clone(reloaders)}
	for _, line := range c.Log.Holding("Add to the rules of") {
		text := p.message(line)
		if rules := p.rulesIn(text); strings.Contains(text, "ClusterRole") {
			g.everywhere = append(g.everywhere, rules...)
		} else {
			g.here = append(g.here, rules...)
		}
	}
	p.grant(g)
	p.must(c.AwaitReady(p.ctx))
	p.says(c, "all permissions that were missing are granted now")
	p.adopted()
	p.must(p.ns.Edit(p.ctx, webConfig, "colour=red"))
	p.must(p.ns.AwaitRolls(p.ctx, web, 1))
}

func TestAPermissionThatIsTakenAwayLaterIsNamedWhenItIsMissed(t *testing.T) {
	p := newPlace(t)
	all := asShipped(t, false)
	p.grant(all)
	p.must(p.ns.Apply(p.ctx, manifest))
	c := p.launch()
	p.must(c.AwaitReady(p.ctx))
	p.adopted()
	patch := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"patch"}}
	p.grant(grants{here: without(all.here, patch)})
	p.awaitPermission(patch, p.ns.Name, false)
	p.must(p.ns.Edit(p.ctx, webConfig, "colour=red"))
	line := p.says(c, "the controller may not patch deployments.apps. Add")
	why, err := c.WhyNotReady(p.ctx)
	p.must(err)
	if why != p.message(line) {
		t.Errorf("it is not ready because of %q, want what the log says: %q", why, p.message(line))
	}
	p.grant(all)
	p.must(p.ns.AwaitRolls(p.ctx, web, 1))
	p.must(c.AwaitReady(p.ctx))
}

func TestNoPermissionIsAskedForThatIsNotUsed(t *testing.T) {
	for about, tc := range map[string]struct {
		flags []string
		gone  []string // resources
	}{
		"a kind of source that is ignored":   {[]string{"--resources-to-ignore=configmaps", "RELOADER_NAMESPACE="}, []string{"configmaps"}},
		"no lease without a namespace":       {[]string{"POD_NAMESPACE=", everywhere + "default"}, nil},
		"no namespace for the meta-info":     {[]string{"RELOADER_NAMESPACE="}, []string{"configmaps/reloader-meta-info"}},
		"a dry run lets everything as it is": {[]string{"--dry-run"}, []string{"events", "leases"}},
	} {
		t.Run(about, func(t *testing.T) {
			p := newPlace(t)
			g := asShipped(t, false)
			if tc.gone == nil {
				// The kubeconfig names the namespace, so nothing but the lease is looked for
				// elsewhere.
				tc.gone, tc.flags[1] = []string{"leases"}, "KUBERNETES_NAMESPACE="+p.ns.Name
			}
			var left []rbacv1.PolicyRule
			for _, r := range single(g.here) {
				writes := slices.Contains([]string{"create", "patch", "update"}, r.Verbs[0])
				if slices.Contains(tc.gone, r.Resources[0]) || len(r.ResourceNames) > 0 && slices.Contains(tc.gone, r.Resources[0]+"/"+r.ResourceNames[0]) || writes && slices.Contains(tc.flags, "--dry-run") {
					continue
				}
				left = append(left, r)
			}
			p.grant(grants{here: left})
			c := p.launch(tc.flags...)
			p.must(c.AwaitReady(p.ctx))
			if said := c.Log.Holding("may not"); len(said) > 0 {
				t.Errorf("it misses what it does not use: %q", said)
			}
		})
	}
}

func TestTheQuestionsAreFew(t *testing.T) {
	for about, tc := range map[string]struct {
		global bool
		flags  []string
		want   map[string]int
	}{
		// Those about single permissions are the three of the lease, which are checked again before
		// the controller waits for it, and one to read the namespace, which may not exist.
		"one namespace": {false, nil, map[string]int{"selfsubjectrulesreviews": 1, "selfsubjectaccessreviews": 4}},
		"all namespaces": {true, []string{everywhere}, map[string]int{
			// The lease; two kinds of source, three of workload, CronJobs and Jobs; pods, events,
			// namespaces.
			"selfsubjectrulesreviews": 1, "selfsubjectaccessreviews": 3 + 2*2 + 3*3 + 4 + 5 + 1 + 1 + 2,
		}},
	} {
		t.Run(about, func(t *testing.T) {
			p := newPlace(t)
			p.grant(asShipped(t, tc.global))
			c := p.launch(tc.flags...)
			p.must(c.AwaitReady(p.ctx))
			p.says(c, "holding the lease")
			p.must(harness.Await(p.ctx, "the audit log to have all", func(context.Context) error {
				requests, err := p.ns.Requests(p.on.Cluster.AuditLog())
				if err != nil {
					return err
				}
				got := map[string]int{}
				for _, r := range requests {
					if strings.HasPrefix(r.ObjectRef.Resource, "selfsubject") && strings.HasSuffix(r.ObjectRef.Resource, "sreviews") {
						got[r.ObjectRef.Resource]++
					}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					return errors.New(diff)
				}
				return nil
			}))
		})
	}
}
