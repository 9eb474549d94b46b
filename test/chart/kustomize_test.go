package chart

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/test/cluster"
)

// What kustomize makes of an overlay is what Helm makes of the values that the overlay stands for.
// No cluster is asked whether there are Argo Rollouts.
func TestTheOverlaysAreWhatTheChartRenders(t *testing.T) {
	clients, err := cluster.BuildClients(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	for folder, values := range map[string]string{
		"base":                "reloader: {isArgoRollouts: false}",
		"overlays/namespaced": "reloader: {isArgoRollouts: false, watchGlobally: false}",
		"overlays/ha":         "reloader: {isArgoRollouts: false, enableHA: true, deployment: {replicas: 2}, podDisruptionBudget: {enabled: true}}",
	} {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			want, err := helm(t, values, "template", "reroll", chart, "--skip-tests", "--namespace", "reroll")
			if err != nil {
				t.Fatal(err)
			}
			got, err := exec.CommandContext(t.Context(), clients.Kubectl, "kustomize", filepath.Join(root, "deploy/kustomize", folder)).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			if diff := cmp.Diff(byName(t, want), byName(t, string(got))); diff != "" {
				t.Errorf("-helm +kustomize:\n%s", diff)
			}
		})
	}
}

func byName(t *testing.T, text string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, doc := range documents(text) {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v in:\n%s", err, doc)
		}
		meta, _ := o["metadata"].(map[string]any)
		name := fmt.Sprint(o["kind"], " ", meta["name"])
		if all[name] != nil {
			t.Errorf("%s is there twice", name)
		}
		all[name] = o
	}
	return all
}
