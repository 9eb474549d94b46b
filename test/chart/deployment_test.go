package chart

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestNames(t *testing.T) {
	for about, tc := range map[string]struct {
		release, values, want string
	}{
		"release and chart":                            {"prod", "", "prod-reroll"},
		"a release that is called like the chart":      {"reroll", "", "reroll"},
		"the same name given":                          {"reroll", "nameOverride: reroll", "reroll"},
		"a release whose name begins like the chart":   {"reroll-prod", "", "reroll-prod-reroll"},
		"the names of Reloader in a release reroll":    {"reroll", "nameOverride: reloader", "reroll-reloader"},
		"the names of an existing installation":        {"reloader", "nameOverride: reloader", "reloader-reloader"},
		"the whole name given":                         {"prod", "fullnameOverride: restarter", "restarter"},
		"a name that YAML could read as a number":      {"prod", "fullnameOverride: '12e3'", "12e3"},
		"a name that is longer than a label may be":    {"prod", "nameOverride: " + strings.Repeat("a", 60), "prod-" + strings.Repeat("a", 58)},
		"a release with dots, as containers have none": {"my.app", "", "my-app-reroll"},
		"a name whose dash would end the shorter one":  {"prod", "nameOverride: " + strings.Repeat("a", 57) + "-bb", "prod-" + strings.Repeat("a", 57)},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			o := renderAs(t, tc.release, tc.values)
			got := []string{
				o.deployment.Name, o.deployment.Namespace,
				o.serviceAccounts[0].Name, o.serviceAccounts[0].Namespace, o.pod().Spec.ServiceAccountName,
				o.clusterRoles[0].Name, o.clusterRoleBindings[0].Name,
				o.roles[0].Name, o.roleBindings[0].Name,
			}
			want := []string{
				tc.want, namespace,
				tc.want, namespace, tc.want,
				tc.want + "-role", tc.want + "-role-binding",
				tc.want + "-key-role", tc.want + "-key-role-binding",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			selector := map[string]string{"app": tc.want, "release": tc.release}
			if diff := cmp.Diff(selector, o.deployment.Spec.Selector.MatchLabels); diff != "" {
				t.Errorf("selector: %s", diff)
			}
		})
	}
}

func TestNamespaceOfTheObjects(t *testing.T) {
	o := render(t, "namespace: '123'\nreloader: {watchGlobally: false}")
	got := []string{o.deployment.Namespace, o.serviceAccounts[0].Namespace}
	for _, r := range o.roles {
		got = append(got, r.Namespace)
	}
	for _, b := range o.roleBindings {
		got = append(got, b.Namespace, b.Subjects[0].Namespace)
	}
	if len(got) != 8 || slices.ContainsFunc(got, func(ns string) bool { return ns != "123" }) {
		t.Errorf("namespaces: %q", got)
	}
}

func TestLabels(t *testing.T) {
	o := render(t, `reloader: {deployment: {
  labels: {team: a, app: other, release: other},
  annotations: {set: deployment},
  pod: {annotations: {set: pod}}}}`)
	pod := map[string]string{
		"app": "prod-reroll", "release": "prod", "team": "a",
		"app.kubernetes.io/name": "reroll", "app.kubernetes.io/instance": "prod",
	}
	if diff := cmp.Diff(pod, o.pod().Labels); diff != "" {
		t.Errorf("pod labels: %s", diff)
	}
	version, appVersion := chartVersions(t)
	deployment := maps.Clone(pod)
	maps.Copy(deployment, map[string]string{
		"app.kubernetes.io/managed-by": "Helm",
		"app.kubernetes.io/version":    appVersion,
		"helm.sh/chart":                "reroll-" + version,
	})
	if diff := cmp.Diff(deployment, o.deployment.Labels); diff != "" {
		t.Errorf("labels of the Deployment: %s", diff)
	}
	if diff := cmp.Diff(map[string]string{"set": "deployment"}, o.deployment.Annotations); diff != "" {
		t.Errorf("annotations of the Deployment: %s", diff)
	}
	if diff := cmp.Diff(map[string]string{"set": "pod"}, o.pod().Annotations); diff != "" {
		t.Errorf("annotations of the pods: %s", diff)
	}
}

func TestImage(t *testing.T) {
	_, appVersion := chartVersions(t)
	digest := "sha256:" + strings.Repeat("0a", 32)
	for about, tc := range map[string]struct{ values, want string }{
		"default":                       {"", "localhost/reroll:" + appVersion},
		"another tag":                   {"image: {tag: v2}", "localhost/reroll:v2"},
		"another repository":            {"image: {repository: registry.example.com/x/reroll}", "registry.example.com/x/reroll:" + appVersion},
		"a digest beats the tag":        {"image: {tag: v2, digest: '" + digest + "'}", "localhost/reroll@" + digest},
		"a registry for all charts":     {"global: {imageRegistry: registry.example.com}", "registry.example.com/reroll:" + appVersion},
		"a registry with a path":        {"global: {imageRegistry: registry.example.com/mirror/}\nimage: {name: x/reroll}", "registry.example.com/mirror/x/reroll:" + appVersion},
		"a registry and a digest":       {"global: {imageRegistry: r.example.com}\nimage: {digest: '" + digest + "'}", "r.example.com/reroll@" + digest},
		"a tag that looks like a float": {"image: {tag: '1.10'}", "localhost/reroll:1.10"},
		"a tag of digits alone":         {"image: {tag: 1234567}", "localhost/reroll:1234567"},
		"a round one":                   {"image: {tag: 1000000}", "localhost/reroll:1000000"},
		"a date and a time":             {"image: {tag: 20261122093000}", "localhost/reroll:20261122093000"},
		"a zero":                        {"image: {tag: 0}", "localhost/reroll:0"},
		"where it stood before 2.0":     {"reloader: {deployment: {image: {name: r.example.com/reroll, tag: 1000000}}}", "r.example.com/reroll:1000000"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			if got := render(t, tc.values).container(t).Image; got != tc.want {
				t.Errorf("image %s, want %s", got, tc.want)
			}
		})
	}
	t.Run("digits given by --set", func(t *testing.T) {
		text, err := helm(t, "", "template", release, chart, "--namespace", namespace, "--kube-version", oldestCluster, "--set", "image.tag=1000000")
		if err != nil {
			t.Fatal(err)
		}
		if got := parsed(t, text).container(t).Image; got != "localhost/reroll:1000000" {
			t.Errorf("image %s", got)
		}
	})
	t.Run("pull policy and secrets", func(t *testing.T) {
		o := render(t, "image: {pullPolicy: Always}\nglobal: {imagePullSecrets: [one, {name: two}]}")
		if got := o.container(t).ImagePullPolicy; got != corev1.PullAlways {
			t.Errorf("pull policy %s", got)
		}
		want := []corev1.LocalObjectReference{{Name: "one"}, {Name: "two"}}
		if diff := cmp.Diff(want, o.pod().Spec.ImagePullSecrets); diff != "" {
			t.Error(diff)
		}
	})
}

func TestArguments(t *testing.T) {
	for about, tc := range map[string]struct {
		values string
		want   []string
	}{
		"nothing but the command by default": {"", nil},
		"defaults written out":               {`reloader: {autoReloadAll: false, logFormat: "", logLevel: info, settle: "", watchGlobally: true, namespaces: []}`, nil},
		"all workloads":                      {"reloader: {autoReloadAll: true}", []string{"--auto-reload-all"}},
		"log":                                {"reloader: {logFormat: json, logLevel: debug}", []string{"--log-format=json", "--log-level=debug"}},
		"several replicas":                   {"reloader: {enableHA: true}", []string{"--enable-ha"}},
		"times of the lease": {
			"reloader: {enableHA: true, leaderElection: {leaseDuration: 1m, renewDeadline: 40s, retryPeriod: 500ms}}",
			[]string{"--enable-ha", "--leader-election-lease-duration=1m", "--leader-election-renew-deadline=40s", "--leader-election-retry-period=500ms"},
		},
		"the lease is held by a single replica too": {"reloader: {leaderElection: {leaseDuration: 20s}}", []string{"--leader-election-lease-duration=20s"}},
		"custom kinds": {
			"reloader: {workloadKinds: [{kind: apps.kruise.io/v1alpha1/CloneSet, resource: clonesets}, {kind: example.org/v1/Pool, resource: poolery, template: spec.pods.template}, {kind: example.org/stable-2/Den, resource: dens}]}",
			[]string{"--workload-kind=apps.kruise.io/v1alpha1/CloneSet", "--workload-kind=example.org/v1/Pool:spec.pods.template", "--workload-kind=example.org/stable-2/Den"},
		},
		"without Secrets":     {"reloader: {ignoreSecrets: true}", []string{"--resources-to-ignore=secrets"}},
		"without ConfigMaps":  {"reloader: {ignoreConfigMaps: true}", []string{"--resources-to-ignore=configMaps"}},
		"namespaces left out": {"reloader: {ignoreNamespaces: 'kube-system, b'}", []string{"--namespaces-to-ignore=kube-system, b"}},
		"selectors": {
			"reloader: {namespaceSelector: 'team in (a,b)', resourceLabelSelector: 'a:*'}",
			[]string{"--namespace-selector=team in (a,b)", "--resource-label-selector=a:*"},
		},
		"how reloads are marked":     {"reloader: {reloadStrategy: annotations}", []string{"--reload-strategy=annotations"}},
		"the strategy of old values": {"reloader: {reloadStrategy: default, reloadOnCreate: false, reloadOnDelete: false}", nil},
		"what follows a revert":      {"reloader: {onRevert: restart, secretMarks: sha1}", []string{"--on-revert=restart", "--secret-marks=sha1"}},
		"no strategy":                {"reloader: {reloadStrategy: null}", nil},
		"creation and deletion":      {"reloader: {reloadOnCreate: true, reloadOnDelete: true}", []string{"--reload-on-create", "--reload-on-delete"}},
		"no selectors":               {"reloader: {ignoreNamespaces: null, namespaceSelector: '', resourceLabelSelector: null}", nil},
		"annotations of one's own": {
			"reloader: {custom_annotations: {configmap: a/1, secret: a/2, auto: a/3, configmap_auto: a/4, secret_auto: a/5, search: a/6, match: a/7, ignore: a/8, pausePeriod: a/9, pauseTime: a/10}}",
			[]string{
				"--auto-annotation=a/3", "--configmap-annotation=a/1", "--configmap-auto-annotation=a/4", "--ignore-annotation=a/8", "--search-match-annotation=a/7",
				"--pause-deployment-annotation=a/9", "--pause-deployment-time-annotation=a/10", "--auto-search-annotation=a/6", "--secret-annotation=a/2", "--secret-auto-annotation=a/5",
			},
		},
		"profiles":                             {"reloader: {enablePProf: true}", []string{"--enable-pprof"}},
		"profiles for the network":             {"reloader: {enablePProf: true, pprofAddr: ':6060'}", []string{"--enable-pprof", "--pprof-addr=:6060"}},
		"profiles at an address of one's own":  {"reloader: {enablePProf: true, pprofAddr: '127.0.0.1:7000'}", []string{"--enable-pprof", "--pprof-addr=127.0.0.1:7000"}},
		"an address without profiles":          {"reloader: {pprofAddr: ':7000'}", nil},
		"sync after restart":                   {"reloader: {syncAfterRestart: true}", []string{"--sync-after-restart"}},
		"no annotations of one's own":          {"reloader: {custom_annotations: null}", nil},
		"one annotation of one's own":          {"reloader: {custom_annotations: {auto: example.org/roll, ignore: ''}}", []string{"--auto-annotation=example.org/roll"}},
		"blanks around an annotation":          {"reloader: {custom_annotations: {auto: ' example.org/roll ', ignore: ' '}}", []string{"--auto-annotation=example.org/roll"}},
		"a receiver":                           {"reloader: {webhookUrl: 'https://example.com/x?a=1,2'}", []string{"--webhook-url=https://example.com/x?a=1,2"}},
		"trust bundles":                        {"reloader: {enableClusterTrustBundles: true}", []string{"--enable-cluster-trust-bundles"}},
		"trust bundles that no Role can grant": {"reloader: {enableClusterTrustBundles: true, watchGlobally: false}", nil},
		"grants of the Gateway API":            {"reloader: {enableReferenceGrants: true}", []string{"--enable-reference-grants"}},
		"the CSI driver":                       {"reloader: {enableCSIIntegration: true}", []string{"--enable-csi-integration"}},
		"quiet period":                         {"reloader: {settle: 500ms, settleMax: 1m30s}", []string{"--settle=500ms", "--settle-max=1m30s"}},
		"no quiet period":                      {"reloader: {settle: '0'}", []string{"--settle=0"}},
		"a long quiet period":                  {"reloader: {settle: 30s}", []string{"--settle=30s"}},
		"a quiet period and its longest":       {"reloader: {settle: 1.5m, settleMax: 1m30s}", []string{"--settle=1.5m", "--settle-max=1m30s"}},
		"where GitOps tools are":               {"reloader: {settleGitOps: '0'}", []string{"--settle-gitops=0"}},
		"how often":                            {"reloader: {churn: 5/10m}", []string{"--churn=5/10m"}},
		"approved by a user":                   {"reloader: {approval: required}", []string{"--approval=required"}},
		"only at night":                        {"reloader: {window: 'allow \"0 22 * * *\" 6h Europe/Berlin'}", []string{`--window=allow "0 22 * * *" 6h Europe/Berlin`}},
		"an outside gate":                      {"reloader: {gateUrl: 'http://gate:8080/?a=1,2'}", []string{"--gate-url=http://gate:8080/?a=1,2"}},
		"how many at a time, or a share":       {"reloader: {maxRolling: 10%, soak: 5m, maxFailures: 1}", []string{"--max-rolling=10%", "--soak=5m", "--max-failures=1"}},
		"how many failures":                    {"reloader: {haltWhenFailing: 25%/40}", []string{"--halt-when-failing=25%/40"}},
		"as often as there are changes":        {"reloader: {churn: 'off'}", []string{"--churn=off"}},
		"how many at a time": {
			"reloader: {adoptRate: 1000000, kubeApiQps: 12.5, kubeApiBurst: 2000000}",
			[]string{"--adopt-rate=1000000", "--kube-api-qps=12.5", "--kube-api-burst=2000000"},
		},
		"more flags come last":               {"reloader: {settle: 5s, kubeApiQps: 50, deployment: {extraArgs: [--settle=7s, '--log-format=json', --namespaces, 'a,b']}}", []string{"--settle=5s", "--kube-api-qps=50", "--settle=7s", "--log-format=json", "--namespaces", "a,b"}},
		"no limit to requests":               {"reloader: {adoptRate: '', kubeApiQps: 0, kubeApiBurst: 0}", nil},
		"own namespace is not an argument":   {"reloader: {watchGlobally: false}", nil},
		"namespaces as a list":               {"reloader: {namespaces: [team-b, team-a]}", []string{"--namespaces=ops,team-a,team-b"}},
		"namespaces as a string":             {"reloader: {namespaces: ' team-b, team-a,team-b,, '}", []string{"--namespaces=ops,team-a,team-b"}},
		"namespaces of a scoped values file": {"reloader: {watchGlobally: false, namespaces: [ops]}", []string{"--namespaces=ops"}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			want := append([]string{"run"}, tc.want...)
			if diff := cmp.Diff(want, render(t, tc.values).container(t).Args); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Where nothing is said, the controller looks for them itself, and has the permission to where
// there are any.
func TestWhetherArgoRolloutsAreLookedFor(t *testing.T) {
	const served, others = "argoproj.io/v1alpha1/Rollout", "argoproj.io/v1alpha1/Application"
	for _, tc := range []struct {
		value, serves string
		args          []string
		granted       bool
	}{
		{"null", served, []string{"run"}, true},
		{"null", others, []string{"run"}, false},
		{"true", served, []string{"run", "--is-Argo-Rollouts=true"}, true},
		{"true", others, []string{"run", "--is-Argo-Rollouts=true"}, true},
		{"false", served, []string{"run", "--is-Argo-Rollouts=false"}, false},
		{"false", others, []string{"run", "--is-Argo-Rollouts=false"}, false},
	} {
		values := fmt.Sprintf("reloader: {watchGlobally: false, isArgoRollouts: %s}", tc.value)
		text, err := helm(t, values, "template", release, chart, "--namespace", namespace, "--kube-version", oldestCluster, "--api-versions", tc.serves)
		if err != nil {
			t.Fatal(err)
		}
		o := parsed(t, text)
		if diff := cmp.Diff(tc.args, o.container(t).Args); diff != "" {
			t.Errorf("%s, with %s served: %s", values, tc.serves, diff)
		}
		rules := watchRules
		if tc.granted {
			rules = withRollouts
		}
		if diff := cmp.Diff(rules, o.grants()["Role/ops/prod-reroll-role"]); diff != "" {
			t.Errorf("%s, with %s served: %s", values, tc.serves, diff)
		}
	}
}

func TestMeetsTheRestrictedPodSecurityStandard(t *testing.T) {
	o := render(t, "")
	yes, no := true, false
	pod := &corev1.PodSecurityContext{
		RunAsNonRoot:   &yes,
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if diff := cmp.Diff(pod, o.pod().Spec.SecurityContext); diff != "" {
		t.Errorf("pod: %s", diff)
	}
	container := &corev1.SecurityContext{
		AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem:   &yes,
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if diff := cmp.Diff(container, o.container(t).SecurityContext); diff != "" {
		t.Errorf("container: %s", diff)
	}
	if s := o.pod().Spec; len(s.Volumes) > 0 || s.HostNetwork || s.HostPID || s.HostIPC {
		t.Errorf("volumes or host namespaces: %+v", s)
	}
}

func TestProbesUseThePortByName(t *testing.T) {
	c := render(t, "").container(t)
	if diff := cmp.Diff([]corev1.ContainerPort{{Name: "http", ContainerPort: 9090}}, c.Ports); diff != "" {
		t.Error(diff)
	}
	for path, probe := range map[string]*corev1.Probe{"/live": c.LivenessProbe, "/readyz": c.ReadinessProbe} {
		if probe.HTTPGet.Path != path || probe.HTTPGet.Port != intstr.FromString("http") {
			t.Errorf("probe: %+v, want %s on http", probe.HTTPGet, path)
		}
	}
}

func TestReplicas(t *testing.T) {
	for about, tc := range map[string]struct {
		values   string
		replicas int32
		strategy appsv1.DeploymentStrategyType
	}{
		"by default":         {"", 1, appsv1.RecreateDeploymentStrategyType},
		"switched off":       {"reloader: {deployment: {replicas: 0}}", 0, appsv1.RecreateDeploymentStrategyType},
		"several":            {"reloader: {enableHA: true, deployment: {replicas: 3}}", 3, appsv1.RollingUpdateDeploymentStrategyType},
		"room for several":   {"reloader: {enableHA: true}", 1, appsv1.RollingUpdateDeploymentStrategyType},
		"HA is switched off": {"reloader: {enableHA: true, deployment: {replicas: 0}}", 0, appsv1.RollingUpdateDeploymentStrategyType},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			spec := render(t, tc.values).deployment.Spec
			if *spec.Replicas != tc.replicas || spec.Strategy.Type != tc.strategy || spec.Strategy.RollingUpdate != nil {
				t.Errorf("replicas %d, strategy %+v; want %d, %s", *spec.Replicas, spec.Strategy, tc.replicas, tc.strategy)
			}
		})
	}
}
