package config

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/source"
)

const (
	ignoredResourcesFlag = "resources-to-ignore"
	ignoredWorkloadsFlag = "ignored-workload-types"
)

// Ignored are the kinds that the controller ignores.
type Ignored struct {
	// Resources and Workloads are the values of the flags.
	Resources, Workloads []string
	// Sources are the ignored kinds of sources, which are never read. Validate sets it.
	Sources []source.Kind
	// Kinds are the ignored kinds of workloads. Validate sets it.
	Kinds []string
}

func (i *Ignored) bindFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&i.Resources, ignoredResourcesFlag, nil, "kind of source to ignore: configmaps or secrets")
	flags.StringSliceVar(&i.Workloads, ignoredWorkloadsFlag, nil, "kinds of workloads to ignore: jobs, cronjobs or both")
}

// validate calls refuse for every mistake, and warn for findings that do not prevent the start.
func (i *Ignored) validate(refuse, warn func(format string, args ...any)) {
	known := map[string]source.Kind{}
	for _, kind := range source.Kinds() {
		if !kind.Reported() && !kind.ClusterScoped() { // these have their own flag
			known[kind.Resource()] = kind
		}
	}
	i.Sources = nil
	for _, given := range i.Resources {
		name := strings.ToLower(strings.TrimSpace(given))
		kind, ok := known[name]
		switch {
		case name == "":
		case !ok:
			refuse("--%s=%s: must be configmaps or secrets", ignoredResourcesFlag, given)
		case !slices.Contains(i.Sources, kind):
			i.Sources = append(i.Sources, kind)
		}
	}
	if len(i.Sources) == len(known) {
		refuse("--%s has both configmaps and secrets, so no change could roll a workload: ignore one of them", ignoredResourcesFlag)
	}
	i.Kinds = nil
	for _, given := range i.Workloads {
		label := strings.ToLower(strings.TrimSpace(given))
		if label == "" {
			continue
		}
		kind, ok := kinds.All().Labeled(label)
		if !ok || !slices.Contains(ignorable(), label) {
			warn("--%s=%s is unknown and has no effect; write %s", ignoredWorkloadsFlag, given, strings.Join(ignorable(), " or "))
			continue
		}
		i.Kinds = append(i.Kinds, kind.Name)
	}
}

// ignorable are the kinds of workloads that Reloader can ignore.
func ignorable() []string { return []string{"jobs", "cronjobs"} }
