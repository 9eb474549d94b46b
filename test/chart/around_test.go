package chart

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// selector finds the pods of this release, and of no other.
func selector() map[string]string { return map[string]string{"app": "prod-reroll", "release": "prod"} }

func TestNothingAroundThePodByDefault(t *testing.T) {
	o := render(t, "")
	if len(o.services)+len(o.policies)+len(o.budgets)+len(o.custom) != 0 {
		t.Errorf("%+v", o)
	}
}

func TestService(t *testing.T) {
	policy := corev1.IPFamilyPolicyPreferDualStack
	for values, want := range map[string]corev1.ServiceSpec{
		"service: {port: 80}":                                    {Ports: []corev1.ServicePort{{Port: 80}}},
		"service: {labels: {team: a, app: other}}":               {Ports: []corev1.ServicePort{{Port: 9090}}},
		"service: {annotations: {a: b}}":                         {Ports: []corev1.ServicePort{{Port: 9090}}},
		"service: {ipFamilyPolicy: PreferDualStack}":             {Ports: []corev1.ServicePort{{Port: 9090}}, IPFamilyPolicy: &policy},
		"service: {ipFamilies: [IPv6, IPv4]}":                    {Ports: []corev1.ServicePort{{Port: 9090}}, IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}},
		"serviceMonitor: {enabled: true}":                        {Ports: []corev1.ServicePort{{Port: 9090}}},
		"deployment: {labels: {team: a}}, service: {port: '81'}": {Ports: []corev1.ServicePort{{Port: 81}}},
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			got := render(t, "reloader: {"+values+"}").services
			if len(got) != 1 || got[0].Name != "prod-reroll" || got[0].Namespace != namespace || got[0].Labels["app"] != "prod-reroll" {
				t.Fatalf("Services: %+v", got)
			}
			want.Selector = selector()
			want.Ports[0].Name, want.Ports[0].Protocol, want.Ports[0].TargetPort = "http", corev1.ProtocolTCP, intstr.FromString("http")
			if diff := cmp.Diff(want, got[0].Spec); diff != "" {
				t.Error(diff)
			}
		})
	}
	o := render(t, "reloader: {service: {labels: {team: a}, annotations: {b: c}}}")
	if s := o.services[0]; s.Labels["team"] != "a" || s.Annotations["b"] != "c" {
		t.Errorf("metadata: %+v", s.ObjectMeta)
	}
}

func TestMonitors(t *testing.T) {
	match := map[string]any{"app": "prod-reroll", "release": "prod"}
	there := map[string]any{"matchNames": []any{"ops"}}
	usual := map[string]any{"port": "http", "path": "/metrics", "honorLabels": true}
	const common = `enabled: true, interval: 10s, timeout: 5s, scheme: https, tlsConfig: {insecureSkipVerify: true}, honorLabels: false,
  metricRelabelings: [{action: keep}], relabelings: [{action: drop}]`
	full := map[string]any{
		"port": "http", "path": "/metrics", "honorLabels": false, "interval": "10s", "scrapeTimeout": "5s", "scheme": "https",
		"tlsConfig":         map[string]any{"insecureSkipVerify": true},
		"metricRelabelings": []any{map[string]any{"action": "keep"}}, "relabelings": []any{map[string]any{"action": "drop"}},
	}
	with := func(key string, value any) map[string]any {
		more := maps.Clone(full)
		more[key] = value
		return more
	}
	for about, tc := range map[string]struct {
		values, kind string
		spec         map[string]any
	}{
		"by the Service": {"serviceMonitor: {enabled: true}", "ServiceMonitor", map[string]any{
			"endpoints": []any{usual}, "namespaceSelector": there, "selector": map[string]any{"matchLabels": match},
		}},
		"by the Service, with all": {"serviceMonitor: {" + common + ", bearerTokenFile: /token, targetLabels: [team]}", "ServiceMonitor", map[string]any{
			"endpoints": []any{with("bearerTokenFile", "/token")}, "namespaceSelector": there, "selector": map[string]any{"matchLabels": match}, "targetLabels": []any{"team"},
		}},
		"by the pods": {"podMonitor: {enabled: true}", "PodMonitor", map[string]any{
			"podMetricsEndpoints": []any{usual}, "namespaceSelector": there, "selector": map[string]any{"matchLabels": match},
		}},
		"by the pods, with all": {"podMonitor: {" + common + ", bearerTokenSecret: {name: s, key: k}, podTargetLabels: [team]}", "PodMonitor", map[string]any{
			"podMetricsEndpoints": []any{with("bearerTokenSecret", map[string]any{"name": "s", "key": "k"})}, "namespaceSelector": there, "selector": map[string]any{"matchLabels": match}, "podTargetLabels": []any{"team"},
		}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			custom := render(t, "reloader: {"+tc.values+"}").custom
			if len(custom) != 1 {
				t.Errorf("objects: %v", slices.Collect(maps.Keys(custom)))
			}
			if diff := cmp.Diff(tc.spec, custom[tc.kind]["spec"]); diff != "" {
				t.Error(diff)
			}
		})
	}
	// A Prometheus may select monitors by labels that are ours.
	for _, kind := range []string{"ServiceMonitor", "PodMonitor"} {
		value := map[string]string{"ServiceMonitor": "serviceMonitor", "PodMonitor": "podMonitor"}[kind]
		o := render(t, "reloader: {"+value+": {enabled: true, namespace: monitoring, labels: {release: prometheus}, annotations: {a: b}}}")
		meta, _ := o.custom[kind]["metadata"].(map[string]any)
		labels, _ := meta["labels"].(map[string]any)
		if meta["name"] != "prod-reroll" || meta["namespace"] != "monitoring" || labels["release"] != "prometheus" || labels["app"] != "prod-reroll" {
			t.Errorf("metadata of the %s: %v", kind, meta)
		}
		if diff := cmp.Diff(map[string]any{"a": "b"}, meta["annotations"]); diff != "" {
			t.Errorf("annotations of the %s: %s", kind, diff)
		}
	}
}

func TestPodDisruptionBudget(t *testing.T) {
	for values, want := range map[string]struct{ unavailable, available string }{
		"":                                     {"1", ""},
		", maxUnavailable: 0":                  {"0", ""},
		", maxUnavailable: 50%":                {"50%", ""},
		", minAvailable: 1":                    {"", "1"},
		", minAvailable: 2, maxUnavailable: 1": {"1", ""},
		", minAvailable: null":                 {"1", ""},
	} {
		budgets := render(t, "reloader: {podDisruptionBudget: {enabled: true"+values+"}}").budgets
		if len(budgets) != 1 {
			t.Fatalf("%q: %+v", values, budgets)
		}
		spec := budgets[0].Spec
		text := func(n *intstr.IntOrString) string {
			if n == nil {
				return ""
			}
			return n.String()
		}
		if text(spec.MaxUnavailable) != want.unavailable || text(spec.MinAvailable) != want.available {
			t.Errorf("%q: %+v", values, spec)
		}
		if diff := cmp.Diff(selector(), spec.Selector.MatchLabels); diff != "" {
			t.Error(diff)
		}
	}
}

// ports are all that may be connected to by these rules, and how.
func ports(of []networkingv1.NetworkPolicyPort) []string {
	var all []string
	for _, p := range of {
		all = append(all, string(*p.Protocol)+" "+p.Port.String())
	}
	return all
}

func TestNetworkPolicy(t *testing.T) {
	const on = "reloader: {netpol: {enabled: true}, deployment: {env: {"
	for about, tc := range map[string]struct {
		values string
		out    []string
	}{
		"no alerts":                   {"reloader: {netpol: {enabled: true}}", nil},
		"alerts by https":             {on + "open: {ALERT_WEBHOOK_URL: 'https://hooks.example.com/a:1/b'}}}}", nil},
		"a receiver of changes":       {"reloader: {webhookUrl: 'https://hooks.example.com:8444/a', netpol: {enabled: true}}", []string{"TCP 8444"}},
		"an outside gate":             {"reloader: {gateUrl: 'http://gate.monitoring.svc:8081/', netpol: {enabled: true}}", []string{"TCP 8081"}},
		"alerts by http":              {on + "open: {ALERT_WEBHOOK_URL: 'http://hooks.example.com?x=:7'}}}}", []string{"TCP 80"}},
		"alerts to a port":            {on + "secret: {ALERT_WEBHOOK_URL: 'https://user:1@hooks.example.com:8443/x'}}}}", []string{"TCP 8443"}},
		"alerts to an IPv6 address":   {on + "secret: {ALERT_WEBHOOK_URL: 'http://[fd00::1]/x'}}}}", []string{"TCP 80"}},
		"alerts through a proxy":      {on + "open: {ALERT_WEBHOOK_URL: 'https://h/', ALERT_WEBHOOK_PROXY: 'socks5://proxy'}}}}", []string{"TCP 1080"}},
		"alerts to an address unseen": {on + "existing: {alerts: {ALERT_WEBHOOK_URL: url}}}}}", []string{"TCP 80"}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			policies := render(t, tc.values).policies
			if len(policies) != 1 {
				t.Fatalf("%+v", policies)
			}
			spec := policies[0].Spec
			if diff := cmp.Diff(metav1.LabelSelector{MatchLabels: selector()}, spec.PodSelector); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, spec.PolicyTypes); diff != "" {
				t.Error(diff)
			}
			got := [][]string{ports(spec.Ingress[0].Ports), ports(spec.Egress[0].Ports), ports(spec.Egress[1].Ports)}
			want := [][]string{{"TCP 9090"}, {"UDP 53", "TCP 53", "UDP 5353", "TCP 5353"}, append([]string{"TCP 443", "TCP 6443"}, tc.out...)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if len(spec.Ingress[0].From)+len(spec.Egress[0].To)+len(spec.Egress[1].To) != 0 || len(spec.Ingress) != 1 || len(spec.Egress) != 2 {
				t.Errorf("%+v", spec)
			}
		})
	}
	spec := render(t, `reloader: {netpol: {enabled: true, apiServerPorts: [16443],
  from: [{podSelector: {matchLabels: {app: prometheus}}}], to: [{ipBlock: {cidr: 10.0.0.1/32}}]}}`).policies[0].Spec
	from := []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "prometheus"}}}}
	if diff := cmp.Diff(from, spec.Ingress[0].From); diff != "" {
		t.Error(diff)
	}
	to := []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "10.0.0.1/32"}}}
	if diff := cmp.Diff(to, spec.Egress[1].To); diff != "" {
		t.Error(diff)
	}
	if len(spec.Egress[0].To) != 0 {
		t.Error("DNS is narrowed to the addresses of the API server")
	}
	if diff := cmp.Diff([]string{"TCP 16443"}, ports(spec.Egress[1].Ports)); diff != "" {
		t.Error(diff)
	}
}

func TestVerticalPodAutoscaler(t *testing.T) {
	target := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "prod-reroll"}
	for values, want := range map[string]map[string]any{
		"": {
			"targetRef": target, "updatePolicy": map[string]any{"updateMode": "Auto"},
			"resourcePolicy": map[string]any{"containerPolicies": []any{map[string]any{"containerName": "prod-reroll"}}},
		},
		`, recommenders: [{name: mine}], controlledResources: [memory], controlledValues: RequestsOnly, maxAllowed: {cpu: 1}, minAllowed: {memory: 64Mi},
  updatePolicy: {minReplicas: 1, updateMode: "Off"}`: {
			"targetRef": target, "updatePolicy": map[string]any{"minReplicas": 1.0, "updateMode": "Off"}, "recommenders": []any{map[string]any{"name": "mine"}},
			"resourcePolicy": map[string]any{"containerPolicies": []any{map[string]any{
				"containerName": "prod-reroll", "controlledResources": []any{"memory"}, "controlledValues": "RequestsOnly",
				"maxAllowed": map[string]any{"cpu": 1.0}, "minAllowed": map[string]any{"memory": "64Mi"},
			}}},
		},
	} {
		o := render(t, "reloader: {verticalPodAutoscaler: {enabled: true"+values+"}}")
		if diff := cmp.Diff(want, o.custom["VerticalPodAutoscaler"]["spec"]); diff != "" {
			t.Errorf("%q: %s", values, diff)
		}
	}
}
