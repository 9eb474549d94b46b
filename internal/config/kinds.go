package config

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/kinds"
)

const workloadKindFlag = "workload-kind"

func bindKinds(to *[]string, flags *pflag.FlagSet) {
	flags.StringSliceVar(to, workloadKindFlag, nil, "GROUP/VERSION/KIND[:path.to.template] of a custom kind with a pod template, such as example.org/v1/Sandbox: it is rolled too, by the annotation (default path: spec.template); may be given several times")
}

// validateKinds calls refuse for every mistake, and settles which kinds there are.
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
			refuse("--%s has %s and %s: a kind has one version and one path here; leave one of them out", workloadKindFlag, before, text)
			continue
		}
		given[kind] = text
		if kind == "Rollout.argoproj.io" && c.ArgoRollouts != nil && !*c.ArgoRollouts {
			refuse("--%s=%s asks for what --%s=false forbids: leave one of them out", workloadKindFlag, text, strings.ToLower(argoRolloutsFlag))
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
