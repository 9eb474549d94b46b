package config

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/kinds"
)

const workloadKindFlag = "workload-kind"

func bindKinds(to *[]string, flags *pflag.FlagSet) {
	flags.StringSliceVar(to, workloadKindFlag, nil, "GROUP/VERSION/KIND[:path.to.template] of a custom kind with a pod template to roll by the annotation, such as example.org/v1/Sandbox (default path: spec.template); may be repeated")
}

// validateKinds calls refuse for every mistake, and sets the kinds of workloads.
func (c *Config) validateKinds(refuse func(format string, args ...any)) {
	var added []kinds.Added
	given := map[string]string{}
	for _, text := range trimmed(c.WorkloadKinds) {
		a, err := kinds.ParseAdded(text)
		if err != nil {
			refuse("--%s=%s: %w", workloadKindFlag, text, err)
			continue
		}
		kind := a.GroupKind().String()
		if before, twice := given[kind]; twice {
			refuse("--%s has %s and %s: a kind can have one version and one path; remove one of them", workloadKindFlag, before, text)
			continue
		}
		given[kind] = text
		if kind == "Rollout.argoproj.io" && c.ArgoRollouts != nil && !*c.ArgoRollouts {
			refuse("--%s=%s contradicts --%s=false: remove one of them", workloadKindFlag, text, strings.ToLower(argoRolloutsFlag))
			continue
		}
		added = append(added, a)
	}
	said := map[string]kinds.Use{}
	for _, name := range c.Ignored.Kinds {
		said[name] = kinds.Never
	}
	if c.ArgoRollouts != nil {
		said["Rollout"] = kinds.Never
		if *c.ArgoRollouts {
			said["Rollout"] = kinds.Always
		}
	}
	c.Kinds = kinds.All(added...).Using(said)
}
