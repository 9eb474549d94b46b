package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What it does is tried with the modes of installation.
func TestHelmTestReadsTheStateWithTheAccountOfTheController(t *testing.T) {
	o := render(t, `global: {imagePullSecrets: [pull]}
image: {pullPolicy: Always}
namespace: elsewhere
reloader: {isOpenshift: true, matchLabels: {team: a}, deployment: {nodeSelector: {disk: ssd}, tolerations: [{key: infra, operator: Exists}],
  runtimeClassName: gvisor, securityContext: {runAsUser: 65532}, resources: {limits: {cpu: 1}}}}`)
	if len(o.tests) != 1 || len(o.tests[0].Spec.Containers) != 1 {
		t.Fatalf("tests: %+v", o.tests)
	}
	pod, c := o.tests[0], o.tests[0].Spec.Containers[0]
	if diff := cmp.Diff([]string{"status", "--namespace=elsewhere", "--controller-namespace=elsewhere", "--require-controller"}, c.Args); diff != "" {
		t.Error(diff)
	}
	hook := map[string]string{"helm.sh/hook": "test", "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded"}
	if diff := cmp.Diff(hook, pod.Annotations); diff != "" {
		t.Error(diff)
	}
	if pod.Namespace != "elsewhere" || pod.Name != "prod-reroll-test" {
		t.Errorf("it is %s/%s", pod.Namespace, pod.Name)
	}
	for key, value := range o.deployment.Spec.Selector.MatchLabels {
		if pod.Labels[key] == value {
			t.Errorf("the label %s=%s is one that the Deployment selects", key, value)
		}
	}
	// It runs wherever the controller can, and as it does.
	want, own := o.pod().Spec, o.container(t)
	for name, pair := range map[string][2]any{
		"account":             {want.ServiceAccountName, pod.Spec.ServiceAccountName},
		"pull secrets":        {want.ImagePullSecrets, pod.Spec.ImagePullSecrets},
		"node selector":       {want.NodeSelector, pod.Spec.NodeSelector},
		"tolerations":         {want.Tolerations, pod.Spec.Tolerations},
		"runtime":             {want.RuntimeClassName, pod.Spec.RuntimeClassName},
		"security of the Pod": {want.SecurityContext, pod.Spec.SecurityContext},
		"security":            {own.SecurityContext, c.SecurityContext},
		"image":               {own.Image, c.Image},
		"pull policy":         {own.ImagePullPolicy, c.ImagePullPolicy},
		"requests and limits": {own.Resources, c.Resources},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if token := pod.Spec.AutomountServiceAccountToken; token == nil || !*token {
		t.Error("it has no token")
	}
}
