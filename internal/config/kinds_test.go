package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/kinds"
)

func configOf(t *testing.T, args ...string) (*Config, error) {
	t.Helper()
	var c Config
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	c.BindFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &c, c.Validate()
}

func TestAKindIsAddedByAFlag(t *testing.T) {
	c, err := configOf(t, "--workload-kind=example.org/v1/Sandbox", "--workload-kind=a.example/v2beta1/Pool:spec.pods.template,apps.kruise.io/v1beta1/CloneSet")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Kinds) != len(kinds.All())+2 {
		t.Errorf("%d kinds, and %d are built in", len(c.Kinds), len(kinds.All()))
	}
	for group, want := range map[string]struct{ kind, name, version, label string }{
		"example.org": {"Sandbox", "Sandbox.example.org", "v1", "sandbox.example.org"},
		"a.example":   {"Pool", "Pool.a.example", "v2beta1", "pool.a.example"},
		// A predefined kind keeps its name, and gets the version of the flag.
		"apps.kruise.io": {"CloneSet", "CloneSet", "v1beta1", "clonesets"},
	} {
		k, ok := c.Kinds.Of(group, want.kind)
		if !ok || k.Name != want.name || k.Resource.Version != want.version || k.Label() != want.label || k.Use != kinds.Always || !k.Custom {
			t.Errorf("%s: %v %s %s %s, use: %v", group, ok, k.Name, k.Resource, k.Label(), k.Use)
		}
	}
	asked := slices.DeleteFunc(slices.Clone(c.Kinds), func(k kinds.Kind) bool { return k.Use != kinds.Always })
	if len(asked) != 3 {
		t.Errorf("%d kinds are asked for", len(asked))
	}
}

func TestInvalidKindsAreRejectedWithASuggestion(t *testing.T) {
	for given, want := range map[string]string{
		"Sandbox":                                     "write GROUP/VERSION/KIND, such as example.org/v1/Sandbox",
		"example.org/Sandbox":                         "write GROUP/VERSION/KIND",
		"example.org/v1/Sandbox/more":                 "write GROUP/VERSION/KIND",
		"Example.org/v1/Sandbox":                      `"Example.org" is not a group: write one such as example.org`,
		"example.org/1/Sandbox":                       `"1" is not a version: write one such as v1 or v1alpha1`,
		"example.org/v1/sandboxes":                    `"sandboxes" is not a kind: write one such as Sandbox, in the singular`,
		"example.org/v1/Sandbox:":                     `"" is not a path to a pod template`,
		"example.org/v1/Sandbox:template":             `"template" is not a path to a pod template: write names of fields with dots between them, beginning with spec`,
		"example.org/v1/Sandbox:spec":                 `"spec" is not a path`,
		"example.org/v1/Sandbox:spec..template":       `"spec..template" is not a path`,
		"example.org/v1/Sandbox:spec.sets[0].pod":     "is not a path to a pod template",
		"apps/v1/Deployment":                          "deployments are rolled without that: remove it",
		"batch/v1/Job":                                "jobs are rolled without that: remove it",
		"batch/v1/Task":                               "Task.batch is a kind of Kubernetes itself: only custom kinds can be added",
		"/v1/Pod":                                     `"" is not a group`,
		"apps.kruise.io/v1alpha1/CloneSet:spec.other": "the pod template of OpenKruise CloneSets is known to be at spec.template: remove the path",
	} {
		_, err := configOf(t, "--workload-kind="+given)
		if err == nil || !strings.Contains(err.Error(), "--workload-kind="+given+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", given, err, want)
		}
	}
	for about, args := range map[string][]string{
		"has example.org/v1/Sandbox and example.org/v2/Sandbox": {"--workload-kind=example.org/v1/Sandbox", "--workload-kind=example.org/v2/Sandbox"},
		"contradicts --is-argo-rollouts=false":                  {"--workload-kind=argoproj.io/v1alpha1/Rollout", "--is-argo-rollouts=false"},
	} {
		if _, err := configOf(t, args...); err == nil || !strings.Contains(err.Error(), about) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
