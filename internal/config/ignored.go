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

// Ignored are the kinds that the controller has nothing to do with.
type Ignored struct {
	// Resources and Workloads are as they were given.
	Resources, Workloads []string
	// Sources are the kinds of source that are not even read. Validate sets it.
	Sources []source.Kind
	// Kinds are the kinds of workload that are left alone. Validate sets it.
	Kinds []string
}

func (i *Ignored) bindFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&i.Resources, ignoredResourcesFlag, nil, "kind of source to ignore: configmaps or secrets")
	flags.StringSliceVar(&i.Workloads, ignoredWorkloadsFlag, nil, "kinds of workloads to ignore: jobs, cronjobs or both")
}

// validate calls refuse for every mistake, and warn for what is no reason to refuse to start.
func (i *Ignored) validate(refuse, warn func(format string, args ...any)) {
	known := map[string]source.Kind{}
	for _, kind := range source.Kinds() {
		if !kind.Reported() { // those have a switch of their own
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

// ignorable are the kinds of workload that Reloader can leave alone.
func ignorable() []string { return []string{"jobs", "cronjobs"} }
