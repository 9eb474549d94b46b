package chart

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ruleObject is the little of a PrometheusRule that is written here. Its type is not a dependency.
type ruleObject struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

// only renders one template, which may come to nothing.
func only(t *testing.T, file, values string) (string, bool) {
	t.Helper()
	text, err := helm(t, values, "template", release, chart, "--namespace", namespace, "--kube-version", oldestCluster, "--show-only", "templates/"+file)
	if err != nil && strings.Contains(err.Error(), "could not find template") {
		return "", false
	}
	if err != nil {
		t.Fatal(err)
	}
	return documents(text)[0], true
}

func TestAlertRules(t *testing.T) {
	if _, there := only(t, "prometheusrule.yaml", ""); there {
		t.Error("they are there without having been asked for")
	}
	rules := func(values string) ruleObject {
		t.Helper()
		text, there := only(t, "prometheusrule.yaml", values)
		if !there {
			t.Fatalf("no rules with %s", values)
		}
		return parse[ruleObject](t, text)
	}
	usual := rules("reloader: {prometheusRule: {enabled: true}}")
	if usual.Metadata.Name != "prod-reroll" || usual.Metadata.Namespace != namespace {
		t.Errorf("it is %s/%s", usual.Metadata.Namespace, usual.Metadata.Name)
	}
	for _, r := range usual.Spec.Groups[0].Rules {
		if !strings.Contains(r.Expr, `namespace="ops"}`) {
			t.Errorf("%s is not about this installation: %s", r.Alert, r.Expr)
		}
	}
	given := rules(`{namespace: other, reloader: {prometheusRule: {enabled: true, labels: {release: stack, team: a}, selector: 'job="x"', ruleLabels: {team: b}, disabled: [RerollReverted]}}}`)
	if given.Metadata.Labels["team"] != "a" || given.Metadata.Labels["release"] != "stack" {
		t.Errorf("labels: %v", given.Metadata.Labels)
	}
	if all, left := len(usual.Spec.Groups[0].Rules), len(given.Spec.Groups[0].Rules); left != all-1 {
		t.Errorf("%d rules, and %d without one", all, left)
	}
	for _, r := range given.Spec.Groups[0].Rules {
		if r.Alert == "RerollReverted" || !strings.Contains(r.Expr, `job="x"}`) || strings.Contains(r.Expr, "namespace=") || r.Labels["team"] != "b" {
			t.Errorf("%+v", r)
		}
	}
}

func TestTheDashboardIsRendered(t *testing.T) {
	if _, there := only(t, "dashboard.yaml", ""); there {
		t.Error("it is there without having been asked for")
	}
	text, there := only(t, "dashboard.yaml", "reloader: {dashboard: {enabled: true, labels: {team: a}, annotations: {grafana_folder: x}}}")
	if !there {
		t.Fatal("it is not there")
	}
	cm := parse[corev1.ConfigMap](t, text)
	if cm.Labels["grafana_dashboard"] != "1" || cm.Labels["team"] != "a" {
		t.Errorf("labels: %v", cm.Labels)
	}
	if diff := cmp.Diff(map[string]string{"grafana_folder": "x"}, cm.Annotations); diff != "" {
		t.Error(diff)
	}
	var dashboard struct{ Title string }
	if err := json.Unmarshal([]byte(cm.Data["reroll.json"]), &dashboard); err != nil || dashboard.Title != "Reroll" {
		t.Errorf("the dashboard: %q, %v", dashboard.Title, err)
	}
}
