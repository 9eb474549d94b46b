package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// DecisionFlags are the flags that affect decisions, the most important first.
func DecisionFlags() []string {
	all := []string{
		"auto-reload-all", "namespaces", namespacesToIgnoreFlag, namespaceSelectorFlag, resourceSelectorFlag, ignoredResourcesFlag, ignoredWorkloadsFlag, webhookFlag,
		"reload-strategy", "on-revert", "secret-marks", "reload-on-create", "reload-on-delete", "settle", "settle-max", "settle-gitops", "churn", "window", gateFlag, "keys", "mode", "approval", "max-rolling", "soak", "max-failures", "halt-when-failing", argoRolloutsFlag, workloadKindFlag, trustBundlesFlag, grantsFlag,
	}
	var c Config
	for _, f := range nameFlags(&c.Names) {
		all = append(all, f.name)
	}
	return all
}

// BindDecisionFlags adds the flags of a controller to a command that explains its decisions.
func (c *Config) BindDecisionFlags(flags *pflag.FlagSet) {
	own := pflag.NewFlagSet("run", pflag.ContinueOnError)
	c.BindFlags(own)
	for _, name := range DecisionFlags() {
		flags.AddFlag(own.Lookup(name))
	}
}

// Take sets the flags to the values that a controller recorded, see Options. It keeps flags that
// are already set.
func Take(flags *pflag.FlagSet, options map[string]any) error {
	for option, name := range recordedFlags() {
		f, recorded := flags.Lookup(name), options[option]
		if f == nil || recorded == nil || f.Changed {
			continue
		}
		if isAddress(name) {
			recorded = takenAddress(fmt.Sprint(recorded))
		}
		value := f.Value
		if n, ok := value.(noting); ok && flags.Changed("settle") {
			value = n.Value // recorded with another settle period
		}
		if err := take(value, recorded); err != nil {
			return fmt.Errorf("%s is %v, which --%s does not take: %w", option, recorded, name, err)
		}
	}
	return nil
}

// takenAddress drops parts that may be a token, and values that are not an address. Reloader
// accepts such a value, and sends nothing.
func takenAddress(text string) string {
	text = WithoutToken(text)
	if _, ok := address(text, "http", "https"); !ok {
		return ""
	}
	return text
}

func take(value pflag.Value, recorded any) error {
	list, isList := value.(pflag.SliceValue)
	given, several := recorded.([]any)
	switch {
	case isList && several:
		var texts []string
		for _, item := range given {
			texts = append(texts, fmt.Sprint(item))
		}
		return list.Replace(texts)
	case recorded == "":
		return nil // unset, or recorded by an older controller without this flag
	default:
		return value.Set(fmt.Sprint(recorded))
	}
}

// Beyond returns the decision flags that differ from their defaults, in the form of the command
// line.
func Beyond(flags *pflag.FlagSet) []string {
	var all []string
	known := DecisionFlags()
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(known, f.Name) {
			return
		}
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok && len(list.GetSlice()) == 0 || value == f.DefValue {
			return
		}
		if value == "true" {
			all = append(all, "--"+f.Name)
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",")
		}
		if isAddress(f.Name) {
			value = WithoutToken(value)
		}
		all = append(all, "--"+f.Name+"="+value)
	})
	return all
}
