package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

var watchRules = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets", "daemonsets"}, Verbs: []string{"list", "watch", "patch"}},
	{APIGroups: []string{"batch"}, Resources: []string{"cronjobs"}, Verbs: []string{"list", "watch", "get", "patch"}},
	{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"list", "watch", "create", "patch", "delete"}},
	{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
	{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}},
}

var globalRules = append(slices.Clone(watchRules),
	rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}})

// withRollouts has the rule for Rollouts behind that for the other workloads.
var withRollouts = slices.Insert(slices.Clone(watchRules), 4,
	rbacv1.PolicyRule{APIGroups: []string{"argoproj.io"}, Resources: []string{"rollouts"}, Verbs: []string{"list", "watch", "patch"}})

// withDeploymentConfigs has the rule of OpenShift there.
var withDeploymentConfigs = slices.Insert(slices.Clone(watchRules), 4,
	rbacv1.PolicyRule{APIGroups: []string{"apps.openshift.io"}, Resources: []string{"deploymentconfigs"}, Verbs: []string{"list", "watch", "patch"}})

// withTrustBundles has the rule for ClusterTrustBundles, which are in no namespace.
var withTrustBundles = append(slices.Clone(globalRules), rbacv1.PolicyRule{
	APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"clustertrustbundles"}, Verbs: []string{"list", "watch"},
})

// withCSI has the rule for the CSI driver there.
var withCSI = slices.Insert(slices.Clone(watchRules), 4, rbacv1.PolicyRule{
	APIGroups: []string{"secrets-store.csi.x-k8s.io"}, Resources: []string{"secretproviderclasses", "secretproviderclasspodstatuses"}, Verbs: []string{"list", "watch"},
})

// grantRule is the rule for ReferenceGrants there.
var grantRule = rbacv1.PolicyRule{APIGroups: []string{"gateway.networking.k8s.io"}, Resources: []string{"referencegrants"}, Verbs: []string{"list", "watch"}}

var keyRules = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
	{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"reroll-digest-key"}, Verbs: []string{"get"}},
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{"stakater-reloader-lock"}, Verbs: []string{"get", "update"}},
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"reloader-meta-info"}, Verbs: []string{"get", "update"}},
}

// grants names every permission as kind/namespace/name, with its rules.
func (o objects) grants() map[string][]rbacv1.PolicyRule {
	all := map[string][]rbacv1.PolicyRule{}
	for _, r := range o.clusterRoles {
		all["ClusterRole/"+r.Name] = r.Rules
	}
	for _, r := range o.roles {
		all["Role/"+r.Namespace+"/"+r.Name] = r.Rules
	}
	return all
}

// bindings names every binding the way grants does, with the permission it refers to and the
// account that gets it.
func (o objects) bindings() map[string]string {
	all := map[string]string{}
	describe := func(namespace string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) string {
		to := []string{ref.Kind + "/" + namespace + ref.Name}
		for _, s := range subjects {
			to = append(to, s.Kind+" "+s.Namespace+"/"+s.Name)
		}
		return strings.Join(to, " for ")
	}
	for _, b := range o.clusterRoleBindings {
		all["ClusterRoleBinding/"+b.Name] = describe("", b.RoleRef, b.Subjects)
	}
	for _, b := range o.roleBindings {
		all["RoleBinding/"+b.Namespace+"/"+b.Name] = describe(b.Namespace+"/", b.RoleRef, b.Subjects)
	}
	return all
}

func TestPermissionsFollowWhatIsWatched(t *testing.T) {
	const account = " for ServiceAccount ops/prod-reroll"
	everywhere := map[string][]rbacv1.PolicyRule{
		"ClusterRole/prod-reroll-role":  globalRules,
		"Role/ops/prod-reroll-key-role": keyRules,
	}
	everywhereBound := map[string]string{
		"ClusterRoleBinding/prod-reroll-role-binding":  "ClusterRole/prod-reroll-role" + account,
		"RoleBinding/ops/prod-reroll-key-role-binding": "Role/ops/prod-reroll-key-role" + account,
	}
	own := map[string][]rbacv1.PolicyRule{
		"Role/ops/prod-reroll-role":     watchRules,
		"Role/ops/prod-reroll-key-role": keyRules,
	}
	ownBound := map[string]string{
		"RoleBinding/ops/prod-reroll-role-binding":     "Role/ops/prod-reroll-role" + account,
		"RoleBinding/ops/prod-reroll-key-role-binding": "Role/ops/prod-reroll-key-role" + account,
	}
	listed := map[string][]rbacv1.PolicyRule{
		"Role/ops/prod-reroll-role":     watchRules,
		"Role/team-a/prod-reroll-role":  watchRules,
		"Role/team-b/prod-reroll-role":  watchRules,
		"Role/ops/prod-reroll-key-role": keyRules,
	}
	listedBound := map[string]string{
		"RoleBinding/ops/prod-reroll-role-binding":     "Role/ops/prod-reroll-role" + account,
		"RoleBinding/team-a/prod-reroll-role-binding":  "Role/team-a/prod-reroll-role" + account,
		"RoleBinding/team-b/prod-reroll-role-binding":  "Role/team-b/prod-reroll-role" + account,
		"RoleBinding/ops/prod-reroll-key-role-binding": "Role/ops/prod-reroll-key-role" + account,
	}
	for about, tc := range map[string]struct {
		values   string
		grants   map[string][]rbacv1.PolicyRule
		bindings map[string]string
	}{
		"all namespaces":    {"", everywhere, everywhereBound},
		"its own namespace": {"reloader: {watchGlobally: false}", own, ownBound},
		"its own namespace, with Rollouts": {"reloader: {watchGlobally: false, isArgoRollouts: true}", map[string][]rbacv1.PolicyRule{
			"Role/ops/prod-reroll-role": withRollouts, "Role/ops/prod-reroll-key-role": keyRules,
		}, ownBound},
		"its own namespace, with custom kinds": {"reloader: {watchGlobally: false, isOpenshift: true, workloadKinds: [{kind: apps.kruise.io/v1alpha1/CloneSet, resource: clonesets}, {kind: example.org/v1/Pool, resource: poolery, template: spec.pods.template}]}", map[string][]rbacv1.PolicyRule{
			"Role/ops/prod-reroll-role": slices.Insert(slices.Clone(watchRules), 4,
				rbacv1.PolicyRule{APIGroups: []string{"apps.openshift.io"}, Resources: []string{"deploymentconfigs"}, Verbs: []string{"list", "watch", "patch"}},
				rbacv1.PolicyRule{APIGroups: []string{"apps.kruise.io"}, Resources: []string{"clonesets"}, Verbs: []string{"list", "watch", "patch"}},
				rbacv1.PolicyRule{APIGroups: []string{"example.org"}, Resources: []string{"poolery"}, Verbs: []string{"list", "watch", "patch"}}),
			"Role/ops/prod-reroll-key-role": keyRules,
		}, ownBound},
		"its own namespace, with the CSI driver": {"reloader: {watchGlobally: false, enableCSIIntegration: true}", map[string][]rbacv1.PolicyRule{
			"Role/ops/prod-reroll-role": withCSI, "Role/ops/prod-reroll-key-role": keyRules,
		}, ownBound},
		"all namespaces, with ReferenceGrants": {"reloader: {enableReferenceGrants: true}", map[string][]rbacv1.PolicyRule{
			"ClusterRole/prod-reroll-role":  slices.Insert(slices.Clone(globalRules), 4, grantRule),
			"Role/ops/prod-reroll-key-role": keyRules,
		}, everywhereBound},
		"its own namespace, with ReferenceGrants": {"reloader: {watchGlobally: false, enableReferenceGrants: true}", map[string][]rbacv1.PolicyRule{
			"Role/ops/prod-reroll-role": slices.Insert(slices.Clone(watchRules), 4, grantRule), "Role/ops/prod-reroll-key-role": keyRules,
		}, ownBound},
		"all namespaces, with trust bundles": {"reloader: {enableClusterTrustBundles: true}", map[string][]rbacv1.PolicyRule{
			"ClusterRole/prod-reroll-role":  withTrustBundles,
			"Role/ops/prod-reroll-key-role": keyRules,
		}, everywhereBound},
		"its own namespace, with trust bundles that no Role can grant": {"reloader: {watchGlobally: false, enableClusterTrustBundles: true}", own, ownBound},
		"a list":                         {"reloader: {namespaces: [team-a, team-b]}", listed, listedBound},
		"a list with its own namespace":  {"reloader: {namespaces: [team-b, ops, team-a, ops]}", listed, listedBound},
		"a list of a scoped values file": {"reloader: {watchGlobally: false, namespaces: [team-a, team-b]}", listed, listedBound},
		"a string":                       {"reloader: {namespaces: 'team-a, team-b,'}", listed, listedBound},
		"a string without a name":        {"reloader: {watchGlobally: false, namespaces: ' , '}", own, ownBound},
		"none granted by the chart":      {"reloader: {rbac: {enabled: false}}", map[string][]rbacv1.PolicyRule{}, map[string]string{}},
		"none granted, own namespace":    {"reloader: {rbac: {enabled: false}, watchGlobally: false}", map[string][]rbacv1.PolicyRule{}, map[string]string{}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			o := render(t, tc.values)
			if diff := cmp.Diff(tc.grants, o.grants()); diff != "" {
				t.Errorf("permissions: %s", diff)
			}
			if diff := cmp.Diff(tc.bindings, o.bindings()); diff != "" {
				t.Errorf("bindings: %s", diff)
			}
		})
	}
}

// The controller looks for DeploymentConfigs itself, and has the permission to where there are any.
// So do the notes, which are asked by a chart around this one.
func TestDeploymentConfigsAreRolledWhereTheyAreServed(t *testing.T) {
	folder := parent(t, "reroll")
	err := os.MkdirAll(filepath.Join(folder, "templates"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "templates", "looked-at.yaml"), []byte(`
apiVersion: v1
kind: ConfigMap
metadata: {name: looked-at}
data: {kinds: {{ include "reroll.lookedAt" .Subcharts.reroll | toJson }}}
`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	const served, others = "apps.openshift.io/v1/DeploymentConfig", "route.openshift.io/v1/Route"
	for _, tc := range []struct {
		value, serves  string
		granted, noted bool
	}{
		{"false", served, true, true},
		{"false", others, false, false},
		{"true", served, true, true},
		{"true", others, true, false}, // they may be installed later
	} {
		about := fmt.Sprintf("isOpenshift: %s, with %s served", tc.value, tc.serves)
		text, err := helm(t, fmt.Sprintf("reroll: {reloader: {watchGlobally: false, isOpenshift: %s, deployment: {securityContext: {runAsUser: 1}}}}", tc.value),
			"template", release, folder, "--namespace", namespace, "--kube-version", oldestCluster, "--api-versions", tc.serves)
		if err != nil {
			t.Fatal(err)
		}
		o := parsed(t, text)
		rules := watchRules
		if tc.granted {
			rules = withDeploymentConfigs
		}
		if diff := cmp.Diff(rules, o.grants()["Role/ops/prod-reroll-role"]); diff != "" {
			t.Errorf("%s: %s", about, diff)
		}
		if len(o.configMaps) != 1 || strings.Contains(o.configMaps[0].Data["kinds"], "kind: DeploymentConfig") != tc.noted {
			t.Errorf("%s: the notes look at %+v", about, o.configMaps)
		}
		// Whether a user is named is a matter of the value alone.
		if named := o.pod().Spec.SecurityContext.RunAsUser != nil; named != (tc.value == "false") {
			t.Errorf("%s: a user is named: %v", about, named)
		}
	}
}

func TestEveryRuleSaysWhatItIsFor(t *testing.T) {
	text, err := template(t, release, "")
	if err != nil {
		t.Fatal(err)
	}
	roles := 0
	for _, doc := range documents(text) {
		if !strings.Contains(doc, "Role\n") || !strings.Contains(doc, "\nrules:\n") {
			continue
		}
		roles++
		before := ""
		for line := range strings.Lines(doc) {
			if strings.HasPrefix(line, "  - apiGroups:") && !strings.HasPrefix(before, "  # ") {
				t.Errorf("a rule without a comment: %sin:\n%s", line, doc)
			}
			before = line
		}
	}
	if roles != 2 {
		t.Errorf("%d roles looked at", roles)
	}
}

func TestServiceAccount(t *testing.T) {
	for about, tc := range map[string]struct {
		values, want string
		created      bool
	}{
		"created under the full name":     {"", "prod-reroll", true},
		"created under another name":      {"reloader: {serviceAccount: {name: rolls}}", "rolls", true},
		"an existing one":                 {"reloader: {serviceAccount: {create: false, name: rolls}}", "rolls", false},
		"the one every namespace has":     {"reloader: {serviceAccount: {create: false}}", "default", false},
		"the name is taken from no value": {"reloader: {serviceAccount: {name: null}}", "prod-reroll", true},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			o := render(t, tc.values)
			if created := len(o.serviceAccounts) == 1; created != tc.created || (created && o.serviceAccounts[0].Name != tc.want) {
				t.Errorf("service accounts: %+v", o.serviceAccounts)
			}
			if got := o.pod().Spec.ServiceAccountName; got != tc.want {
				t.Errorf("the pod runs as %q", got)
			}
			for at, to := range o.bindings() {
				if !strings.HasSuffix(to, " for ServiceAccount ops/"+tc.want) {
					t.Errorf("%s is for %s", at, to)
				}
			}
		})
	}
	o := render(t, "reloader: {serviceAccount: {annotations: {a: b}, labels: {team: x, app: other}}}")
	account := o.serviceAccounts[0]
	if account.Annotations["a"] != "b" || account.Labels["team"] != "x" || account.Labels["app"] != "prod-reroll" {
		t.Errorf("metadata: %+v", account.ObjectMeta)
	}
}

func TestNoPermissionForWhatIsIgnored(t *testing.T) {
	for values, want := range map[string]string{
		"ignoreSecrets: true":                             "configmaps",
		"ignoreConfigMaps: true":                          "secrets",
		"ignoreSecrets: true, watchGlobally: false":       "configmaps",
		"ignoreConfigMaps: true, namespaces: [team-a, b]": "secrets",
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			for of, rules := range render(t, "reloader: {"+values+"}").grants() {
				if strings.HasSuffix(of, "key-role") {
					continue // that of the controller's own key
				}
				if diff := cmp.Diff([]string{want}, rules[0].Resources); diff != "" {
					t.Errorf("%s: %s", of, diff)
				}
				for _, rule := range rules[1:] {
					if slices.Contains(rule.Resources, "secrets") || slices.Contains(rule.Resources, "configmaps") {
						t.Errorf("%s has a permission beyond: %v", of, rule)
					}
				}
			}
		})
	}
}

func TestPermissionsToJobsWhereTheyOrCronJobsAreIgnored(t *testing.T) {
	const create, both = "list watch create patch", "list watch create patch delete"
	for values, want := range map[string]map[string]string{
		"":                                       {"cronjobs": "list watch get patch", "jobs": both},
		"ignoreCronJobs: true":                   {"jobs": both},
		"ignoreJobs: true":                       {"cronjobs": "list watch get patch", "jobs": create},
		"ignoreJobs: true, ignoreCronJobs: true": {},
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			for of, rules := range render(t, "reloader: {"+values+"}").grants() {
				if strings.HasSuffix(of, "key-role") {
					continue // that of the controller's own key
				}
				got := map[string]string{}
				for _, rule := range rules {
					if slices.Contains(rule.APIGroups, "batch") {
						got[rule.Resources[0]] = strings.Join(rule.Verbs, " ")
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s", of, diff)
				}
			}
		})
	}
}
