package chart

import (
	"strings"
	"testing"
)

func TestRefusals(t *testing.T) {
	for about, tc := range map[string]struct{ values, want string }{
		"an unknown key at the top":         {"replicaCount: 2", "at '': additional properties 'replicaCount' not allowed"},
		"a key with a slip of the finger":   {"reloader: {autoReloadAl: true}", "at '/reloader': additional properties 'autoReloadAl' not allowed"},
		"an unknown key of the image":       {"image: {registry: x}", "at '/image': additional properties 'registry' not allowed"},
		"an unknown key of the Deployment":  {"reloader: {deployment: {replica: 1}}", "at '/reloader/deployment': additional properties 'replica' not allowed"},
		"an unknown key of the pod":         {"reloader: {deployment: {pod: {labels: {a: b}}}}", "at '/reloader/deployment/pod': additional properties 'labels' not allowed"},
		"an unknown key of the permissions": {"reloader: {rbac: {create: true}}", "at '/reloader/rbac': additional properties 'create' not allowed"},
		"an unknown key of the account":     {"reloader: {serviceAccount: {enabled: true}}", "at '/reloader/serviceAccount': additional properties 'enabled' not allowed"},
		"an alert that cannot be one":       {"reloader: {prometheusRule: {disabled: [Absent]}}", "at '/reloader/prometheusRule/disabled/0': value must be one of 'RerollAbsent', 'RerollAlertsDropped', "},
		"an unknown key of the dashboard":   {"reloader: {dashboard: {folder: x}}", "at '/reloader/dashboard': additional properties 'folder' not allowed"},
		"a word for the admission policy":   {"reloader: {admissionPolicy: {enabled: 'on'}}", "at '/reloader/admissionPolicy/enabled': value must be one of 'auto', true, false"},
		"a word for a boolean":              {"reloader: {autoReloadAll: 'yes'}", "at '/reloader/autoReloadAll': got string, want boolean"},
		"a number for a duration":           {"reloader: {settle: 5}", "at '/reloader/settle': got number, want null or string"},
		"a duration without unit":           {"reloader: {settleMax: '10'}", "at '/reloader/settleMax': '10' does not match pattern '^([0-9.]+(ms|s|m|h))*$'"},
		"a longest wait that is too short":  {"reloader: {settle: 1m, settleMax: 59s}", "reloader.settleMax is 59s, but reloader.settle is 1m: the maximum wait must not be shorter than the settle period. Leave reloader.settleMax unset, or set it to 1m or more."},
		"a longest wait alone, too short":   {"reloader: {settleMax: 999ms}", "reloader.settleMax is 999ms, but reloader.settle is 1s: the maximum wait"},
		"no ledgers at all":                 {"reloader: {adoptRate: 0}", "at '/reloader/adoptRate': exclusiveMinimum: got 0, want 0"},
		"too few requests":                  {"reloader: {kubeApiQps: 1.5}", "reloader.kubeApiQps is 1.5: with fewer than 5 requests per second, a write may time out before it is sent. Set 5 or more"},
		"a burst without a limit":           {"reloader: {kubeApiBurst: 100}", "reloader.kubeApiBurst is 100, but reloader.kubeApiQps is unset, so there is no limit. Set reloader.kubeApiQps, too, for example to 50."},
		"a number for a tag":                {"image: {tag: 1.10}", "at '/image/tag': got number, want "},
		"a tag with too many digits":        {"image: {tag: 12345678901234567890}", "at '/image/tag': maximum: got "},
		"a digest that is cut off":          {"image: {digest: 'sha256:12'}", "at '/image/digest': 'sha256:12' does not match pattern '^(sha256:[a-f0-9]{64})?$'"},
		"a pull policy that does not exist": {"image: {pullPolicy: Sometimes}", "at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'"},
		"a namespace in upper case":         {"reloader: {namespaces: [Team]}", "at '/reloader/namespaces/0': 'Team' does not match pattern"},
		"namespaces with a wrong separator": {"reloader: {namespaces: 'a;b'}", "at '/reloader/namespaces': 'a;b' does not match pattern '^[-a-z0-9, ]*$'"},
		"a negative number of replicas":     {"reloader: {deployment: {replicas: -1}}", "at '/reloader/deployment/replicas': minimum: got -1, want 0"},
		"two replicas":                      {"reloader: {deployment: {replicas: 2}}", "reloader.deployment.replicas is 2, but reloader.enableHA is false: further replicas are standbys and need leader election. Set reloader.enableHA to true, or reloader.deployment.replicas to 1."},
		"an annotation that does not exist": {"reloader: {custom_annotations: {automatic: a}}", "at '/reloader/custom_annotations': additional properties 'automatic' not allowed"},
		"a kind without its plural":         {"reloader: {workloadKinds: [{kind: example.org/v1/Pool}]}", "resource"},
		"a kind without a group":            {"reloader: {workloadKinds: [{kind: Pool, resource: pools}]}", "reloader/workloadKinds/0/kind"},
		"a version that is none":            {"reloader: {workloadKinds: [{kind: example.org/V1/Pool, resource: pools}]}", "reloader/workloadKinds/0/kind"},
		"a path that is none":               {"reloader: {workloadKinds: [{kind: example.org/v1/Pool, resource: pools, template: template}]}", "reloader/workloadKinds/0/template"},
		"Rollouts among the custom kinds":   {"reloader: {workloadKinds: [{kind: argoproj.io/v1alpha1/Rollout, resource: rollouts}]}", "reloader.workloadKinds has argoproj.io/v1alpha1/Rollout: Argo Rollouts are a built-in kind. Remove it, and set reloader.isArgoRollouts to true."},
		"an annotation for two things":      {"reloader: {custom_annotations: {auto: example.org/roll, search: example.org/roll}}", "reloader.custom_annotations: auto and search are both example.org/roll. Set a different annotation for each."},
		"an annotation that means another":  {"reloader: {custom_annotations: {ignore: reloader.stakater.com/match}}", "reloader.custom_annotations: ignore and match are both reloader.stakater.com/match. Set a different annotation for each."},
		"an annotation that cannot be one":  {"reloader: {custom_annotations: {auto: a/b/c}}", "at '/reloader/custom_annotations/auto': 'a/b/c' does not match pattern"},
		"a receiver without a scheme":       {"reloader: {webhookUrl: hooks.example.com}", "at '/reloader/webhookUrl': 'hooks.example.com' does not match pattern"},
		"resources that are none":           {"reloader: {deployment: {resources: {limit: {cpu: 1}}}}", "at '/reloader/deployment/resources': additional properties 'limit' not allowed"},
		"nothing that could roll":           {"reloader: {ignoreSecrets: true, ignoreConfigMaps: true}", "reloader.ignoreSecrets and reloader.ignoreConfigMaps are both true, so no change could roll a workload. Set one of them to false."},
		"a variable in two places":          {"reloader: {deployment: {env: {open: {ALERT_SINK: slack}, existing: {alerts: {ALERT_SINK: sink}}}}}", "reloader.deployment.env has ALERT_SINK twice: give each variable in one of open, secret, field and existing"},
		"variables without a place":         {"reloader: {deployment: {env: {ALERT_SINK: slack}}}", "at '/reloader/deployment/env': additional properties 'ALERT_SINK' not allowed"},
		"a Secret without keys":             {"reloader: {deployment: {env: {existing: {ALERT_SINK: slack}}}}", "at '/reloader/deployment/env/existing/ALERT_SINK': got string, want null or object"},
		"a word for profiles":               {"reloader: {enablePProf: 'yes'}", "at '/reloader/enablePProf': got string, want boolean"},
		"namespaces left out as a list":     {"reloader: {ignoreNamespaces: [a]}", "at '/reloader/ignoreNamespaces': got array, want null or string"},
		"a word for HA":                     {"reloader: {enableHA: 'yes'}", "at '/reloader/enableHA': got string, want boolean"},
		"a lease without unit":              {"reloader: {leaderElection: {leaseDuration: '15'}}", "at '/reloader/leaderElection/leaseDuration': '15' does not match pattern '^([0-9.]+(ms|s|m|h))*$'"},
		"a number for a renewal":            {"reloader: {leaderElection: {renewDeadline: 10}}", "at '/reloader/leaderElection/renewDeadline': got number, want null or string"},
		"no token":                          {"reloader: {deployment: {automountServiceAccountToken: false}}", "no token is mounted, so the controller could not authenticate to the API server. Set reloader.deployment.automountServiceAccountToken to true"},
		"no token by the account":           {"reloader: {serviceAccount: {automountServiceAccountToken: false}}", "no token is mounted, so the controller could not authenticate to the API server. Set reloader.deployment.automountServiceAccountToken to true"},
		"an unknown key of the Service":     {"reloader: {service: {type: LoadBalancer}}", "at '/reloader/service': additional properties 'type' not allowed"},
		"an unknown key of a monitor":       {"reloader: {serviceMonitor: {scrapeTimeout: 5s}}", "at '/reloader/serviceMonitor': additional properties 'scrapeTimeout' not allowed"},
		"the token of the other monitor":    {"reloader: {podMonitor: {bearerTokenFile: /t}}", "at '/reloader/podMonitor': additional properties 'bearerTokenFile' not allowed"},
		"a budget that is no number":        {"reloader: {podDisruptionBudget: {minAvailable: half}}", "at '/reloader/podDisruptionBudget/minAvailable': 'half' does not match pattern"},
		"a probe of one's own":              {"reloader: {deployment: {livenessProbe: {exec: {command: [x]}}}}", "at '/reloader/deployment/livenessProbe': additional properties 'exec' not allowed"},
		"a mode that does not exist":        {"reloader: {verticalPodAutoscaler: {updatePolicy: {updateMode: Never}}}", "at '/reloader/verticalPodAutoscaler/updatePolicy/updateMode': value must be one of"},
		"no ports of the API server":        {"reloader: {netpol: {apiServerPorts: []}}", "at '/reloader/netpol/apiServerPorts': minItems: got 0, want 1"},
		"a memory limit without a unit":     {"reloader: {deployment: {gomemlimitOverride: 200M}}", "at '/reloader/deployment/gomemlimitOverride': '200M' does not match pattern"},
		"a rate in quotes":                  {"reloader: {adoptRate: '20'}", "at '/reloader/adoptRate': got string, want number"},
		"a policy of DNS in lower case":     {"reloader: {deployment: {dnsPolicy: default}}", "at '/reloader/deployment/dnsPolicy': value must be one of <nil>, '', 'ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'"},
		"an alias without a name":           {"reloader: {deployment: {hostAliases: [{ip: 10.0.0.1}]}}", "at '/reloader/deployment/hostAliases/0': missing property 'hostnames'"},
		"flags that are not a list":         {"reloader: {deployment: {extraArgs: --kube-api-qps=20}}", "at '/reloader/deployment/extraArgs': got string, want null or array"},
		"a flag that the probes depend on":  {"reloader: {deployment: {extraArgs: ['--listen-address=:8080']}}", "reloader.deployment.extraArgs has --listen-address=:8080: the probes, the Service and the NetworkPolicy use port 9090. Remove the flag."},
		"an action of the startup probe":    {"reloader: {deployment: {startupProbe: {exec: {command: [x]}}}}", "at '/reloader/deployment/startupProbe': additional properties 'exec' not allowed"},
		"an unknown key of the election":    {"reloader: {leaderElection: {retry: 2s}}", "at '/reloader/leaderElection': additional properties 'retry' not allowed"},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			_, err := template(t, release, tc.values)
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error: %v\nwant it to say: %s", err, tc.want)
			}
		})
	}
}

func TestOldClustersAreRefused(t *testing.T) {
	_, err := helm(t, "", "template", release, chart, "--kube-version", "1.24.17")
	if err == nil || !strings.Contains(err.Error(), "chart requires kubeVersion: >=1.25.0-0 which is incompatible with Kubernetes v1.24.17") {
		t.Errorf("error: %v", err)
	}
	if _, err := helm(t, "", "template", release, chart, "--kube-version", "1.25.0-gke.1"); err != nil {
		t.Errorf("1.25 of a provider: %v", err)
	}
}

func notes(t *testing.T, values string) string {
	t.Helper()
	text, err := helm(t, values, "install", release, chart, "--namespace", namespace, "--dry-run=client")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(text, "\nNOTES:\n")
	if !found {
		t.Fatalf("no notes in:\n%s", text)
	}
	return after
}

func TestNotes(t *testing.T) {
	const (
		ready      = "kubectl -n ops rollout status deployment/prod-reroll\n"
		annotate   = "annotate deployment NAME reloader.stakater.com/auto=true\n"
		leaveOut   = "annotate deployment NAME reloader.stakater.com/auto=false\n"
		load       = "is in no registry"
		unbound    = "reloader.rbac.enabled is false"
		everywhere = "It watches all namespaces.\n"
		held       = "A ValidatingAdmissionPolicy limits the ServiceAccount of the controller"
		free       = "There is no admission policy"
		replaced   = "Kubernetes replaces its Pods within seconds"
		reloaded   = "--field-selector reason=Reloaded\n"
		told       = "Because reloader.webhookUrl is set, Reroll\nreplaces no Pod"
		docs       = "Documentation: https://github.com/reroll-dev/reroll/blob/main/docs/README.md\n"
		sent       = "--field-selector reason=WebhookSent\n"
	)
	for about, tc := range map[string]struct {
		values     string
		says, omit []string
	}{
		"defaults": {
			values: "",
			says:   []string{"Deployment prod-reroll in namespace ops.\n", everywhere, ready, annotate, load, free, replaced, reloaded, docs},
			omit:   []string{leaveOut, unbound, "WARNING", held, told, sent},
		},
		"all workloads": {
			values: "reloader: {autoReloadAll: true, isArgoRollouts: true, isOpenshift: true, workloadKinds: [{kind: example.org/v1/Pool, resource: pools}]}",
			says:   []string{"Reroll rolls each\nDeployment, StatefulSet, DaemonSet, CronJob, Job, Rollout, DeploymentConfig and Pool that uses it.", docs, leaveOut, replaced, reloaded},
			omit:   []string{annotate},
		},
		"a receiver is told": {
			values: "reloader: {webhookUrl: 'https://example.com/T0KEN'}",
			says:   []string{"No workload is reported to your receiver until it is opted in", annotate, told, sent},
			omit:   []string{replaced, reloaded, "is rolled", "T0KEN"},
		},
		"a receiver is told of all workloads but Jobs": {
			values: "reloader: {webhookUrl: 'https://example.com/T0KEN', autoReloadAll: true, ignoreJobs: true}",
			says:   []string{"Reroll notifies your receiver of each\nDeployment, StatefulSet, DaemonSet and CronJob that uses it.", leaveOut, told, sent},
			omit:   []string{replaced, reloaded, "rolled", "T0KEN"},
		},
		"with the admission policy": {
			values: "reloader: {admissionPolicy: {enabled: true}}",
			says:   []string{held, "prod-reroll-marks-only.ops.\n"},
			omit:   []string{free},
		},
		"own namespace, an image from a registry": {
			values: "image: {repository: registry.example.com/reroll}\nreloader: {watchGlobally: false}",
			says:   []string{"It watches the namespace ops.\n", ready, annotate},
			omit:   []string{everywhere, load, held, free},
		},
		"listed namespaces, all workloads, no permissions": {
			values: "reloader: {autoReloadAll: true, namespaces: [a], rbac: {enabled: false}}",
			says:   []string{"It watches the namespaces a, ops.\n", leaveOut, unbound, "ServiceAccount prod-reroll"},
			omit:   []string{annotate},
		},
		"values without effect": {
			values: `kubernetes: {host: "https://kubernetes.default"}
global: {host: "https://kubernetes.default"}
enterprise: {enabled: false, console: {ingress: {hosts: [a.example.com]}}}
reloader:
  legacy: {rbac: true}
  syncAfterRestart: true
  watchGlobally: false
  ignoreNamespaces: kube-system
  namespaceSelector: team=a
  enableClusterTrustBundles: true
  pprofAddr: ":7000"`,
			says: []string{
				"WARNING: kubernetes has no effect", "WARNING: global.host has no effect on Reroll", "WARNING: enterprise has no effect", "WARNING: reloader.legacy has no effect", "WARNING: reloader.syncAfterRestart has no effect",
				"WARNING: reloader.ignoreNamespaces has no effect", "WARNING: reloader.namespaceSelector has no effect", "WARNING: reloader.enableClusterTrustBundles has no effect: it needs a ClusterRole", "WARNING: reloader.pprofAddr has no effect",
			},
			omit: []string{"nothing is opted in"},
		},
		"values that have one": {
			values: "reloader: {enableCSIIntegration: true, webhookUrl: 'https://example.com/x', ignoreNamespaces: kube-system, namespaceSelector: team=a, enablePProf: true, pprofAddr: ':7000', podDisruptionBudget: {enabled: true, minAvailable: 50%}}",
			omit:   []string{"WARNING"},
		},
		"two images": {
			values: "image: {tag: '2'}\nreloader: {deployment: {image: {name: ghcr.io/stakater/reloader}}}",
			says:   []string{"WARNING: reloader.deployment.image has no effect: image sets the image."},
		},
		"the image of old values": {
			values: "reloader: {deployment: {image: {name: r.example.com/reroll}}}",
			omit:   []string{"WARNING"},
		},
		"a budget that leaves no room": {
			values: "reloader: {podDisruptionBudget: {enabled: true, minAvailable: 1}}",
			says:   []string{"WARNING: reloader.podDisruptionBudget.minAvailable is 1 with 1 replicas: their nodes cannot be drained."},
		},
		"a budget with room": {
			values: "reloader: {enableHA: true, deployment: {replicas: 2}, podDisruptionBudget: {enabled: true, minAvailable: 1}}",
			omit:   []string{"WARNING"},
		},
		"an annotation of one's own": {
			values: "reloader: {custom_annotations: {auto: ' example.org/roll '}}",
			says:   []string{"set the annotation\nexample.org/roll: \"true\"", "annotate deployment NAME example.org/roll=true\n"},
			omit:   []string{annotate},
		},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			text := notes(t, tc.values)
			for _, s := range tc.says {
				if !strings.Contains(text, s) {
					t.Errorf("the notes lack %q:\n%s", s, text)
				}
			}
			for _, s := range tc.omit {
				if strings.Contains(text, s) {
					t.Errorf("the notes say %q:\n%s", s, text)
				}
			}
			if strings.Contains(text, "\n\n\n") || strings.Contains(text, " \n") {
				t.Errorf("stray blanks in the notes:\n%q", text)
			}
		})
	}
}
