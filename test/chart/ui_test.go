package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestTheUI(t *testing.T) {
	for _, scope := range []string{"", "watchGlobally: false, "} {
		o := render(t, "reloader: {"+scope+"ui: {enabled: true}, netpol: {enabled: true}}")
		reviews := []rbacv1.PolicyRule{
			{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
		}
		if diff := cmp.Diff(reviews, o.grants()["ClusterRole/prod-reroll-ui-role"]); diff != "" {
			t.Errorf("permissions: %s", diff)
		}
		if got, want := o.bindings()["ClusterRoleBinding/prod-reroll-ui-role-binding"], "ClusterRole/prod-reroll-ui-role for ServiceAccount ops/prod-reroll"; got != want {
			t.Errorf("bound to %q, want %q", got, want)
		}
		if len(o.services) != 1 || o.services[0].Name != "prod-reroll-ui" || o.services[0].Spec.Ports[0].Port != 8080 || o.services[0].Spec.SessionAffinity != "" {
			t.Errorf("Services: %+v", o.services)
		}
		if diff := cmp.Diff(selector(), o.services[0].Spec.Selector); diff != "" {
			t.Error(diff)
		}
		container := o.deployment.Spec.Template.Spec.Containers[0]
		if !slices.Contains(container.Args, "--ui-address=:8080") {
			t.Errorf("arguments: %q", container.Args)
		}
		if i := slices.IndexFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == "ui" }); i < 0 || container.Ports[i].ContainerPort != 8080 {
			t.Errorf("ports: %+v", container.Ports)
		}
		ingress := o.policies[0].Spec.Ingress
		if len(ingress) != 2 || !slices.Equal(ports(ingress[1].Ports), []string{"TCP 8080"}) || len(ingress[1].From) != 0 {
			t.Errorf("NetworkPolicy: %+v", ingress)
		}
		// A standby forwards readers to the leader.
		egress := o.policies[0].Spec.Egress
		if last := egress[len(egress)-1]; !slices.Equal(ports(last.Ports), []string{"TCP 8080"}) || len(last.To) != 1 || !maps.Equal(last.To[0].PodSelector.MatchLabels, selector()) {
			t.Errorf("NetworkPolicy: %+v", egress)
		}
	}
	// A standby finds the leader's Pod. The namespace of the controller is always one of those that it watches.
	o := render(t, "reloader: {namespaces: [shop], ui: {enabled: true}}")
	if !slices.ContainsFunc(o.grants()["Role/ops/prod-reroll-role"], func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, "pods") && slices.Contains(r.Verbs, "list")
	}) {
		t.Errorf("no permission to list Pods of its own namespace: %v", o.grants())
	}
	o = render(t, "reloader: {ui: {enabled: true, port: 8443, from: [{podSelector: {}}]}, netpol: {enabled: true}, rbac: {enabled: false}}")
	if len(o.grants()) != 0 {
		t.Errorf("permissions without rbac.enabled: %v", o.grants())
	}
	if rule := o.policies[0].Spec.Ingress[1]; len(rule.From) != 2 || !maps.Equal(rule.From[1].PodSelector.MatchLabels, selector()) || !slices.Equal(ports(rule.Ports), []string{"TCP 8443"}) {
		t.Errorf("NetworkPolicy: %+v", rule)
	}
	for values, want := range map[string]string{
		"reloader: {ui: {enabled: true, ingress: {enabled: true}}}": "needs reloader.ui.ingress.host",
		"reloader: {ui: {enabled: true, port: 9090}}":               "/reloader/ui/port",
		"reloader: {ui: {enable: true}}":                            "enable",
		"reloader: {deployment: {extraArgs: ['--ui-address=:1']}}":  "set reloader.ui.enabled to true",
	} {
		if _, err := template(t, release, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", values, err, want)
		}
	}
}

func TestTheIngressOfTheUI(t *testing.T) {
	text, err := template(t, release, "reloader: {ui: {enabled: true, ingress: {enabled: true, host: reroll.example.com, tlsSecret: cert, className: public, annotations: {a: b}}}}")
	if err != nil {
		t.Fatal(err)
	}
	i := strings.Index(text, "kind: Ingress\n")
	if i < 0 {
		t.Fatal("there is no Ingress")
	}
	ingress, _, _ := strings.Cut(text[i:], "\n---")
	for _, want := range []string{`host: "reroll.example.com"`, `hosts: ["reroll.example.com"]`, `secretName: "cert"`, `ingressClassName: "public"`, "a: b", `name: "prod-reroll-ui"`, "name: ui\n"} {
		if !strings.Contains(ingress+"\n", want) {
			t.Errorf("the Ingress lacks %s:\n%s", want, ingress)
		}
	}
}
