package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestPodSettingsArePassedOn(t *testing.T) {
	o := render(t, `reloader: {deployment: {
  resources: {requests: {cpu: 10m}, limits: {memory: 64Mi}},
  nodeSelector: {disk: ssd},
  tolerations: [{key: infra, operator: Exists}],
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}},
  priorityClassName: high,
  securityContext: {runAsUser: 1000},
  containerSecurityContext: {privileged: false}}}`)
	spec, c := o.pod().Spec, o.container(t)
	if c.Resources.Requests.Cpu().String() != "10m" || c.Resources.Limits.Memory().String() != "64Mi" {
		t.Errorf("resources: %+v", c.Resources)
	}
	if diff := cmp.Diff(map[string]string{"disk": "ssd"}, spec.NodeSelector); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]corev1.Toleration{{Key: "infra", Operator: corev1.TolerationOpExists}}, spec.Tolerations); diff != "" {
		t.Error(diff)
	}
	terms := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 || terms[0].MatchFields[0].Values[0] != "n1" {
		t.Errorf("affinity: %+v", terms)
	}
	if spec.PriorityClassName != "high" {
		t.Errorf("priority class %q", spec.PriorityClassName)
	}
	// Maps are merged: what is not named keeps its default.
	if s := spec.SecurityContext; *s.RunAsUser != 1000 || !*s.RunAsNonRoot {
		t.Errorf("security context of the pod: %+v", s)
	}
	if s := c.SecurityContext; *s.Privileged || !*s.ReadOnlyRootFilesystem {
		t.Errorf("security context of the container: %+v", s)
	}
}
