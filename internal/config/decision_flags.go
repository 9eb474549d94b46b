package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// DecisionFlags are the flags on which decisions depend, the most important first.
func DecisionFlags() []string {
	all := []string{
		"auto-reload-all", "namespaces", namespacesToIgnoreFlag, namespaceSelectorFlag, resourceSelectorFlag, ignoredResourcesFlag, ignoredWorkloadsFlag, webhookFlag,
		"reload-strategy", "on-revert", "secret-marks", "reload-on-create", "reload-on-delete", "settle", "settle-max", "settle-gitops", argoRolloutsFlag, workloadKindFlag,
	}
	var c Config
	for _, f := range nameFlags(&c.Names) {
		all = append(all, f.name)
	}
	return all
}

// BindDecisionFlags adds the flags of a controller to a command that explains what a controller
// decides.
func (c *Config) BindDecisionFlags(flags *pflag.FlagSet) {
	own := pflag.NewFlagSet("run", pflag.ContinueOnError)
	c.BindFlags(own)
	for _, name := range DecisionFlags() {
		flags.AddFlag(own.Lookup(name))
	}
}

// Take sets the flags to what a controller recorded about its own, see Options. A flag that is set stays.
func Take(flags *pflag.FlagSet, options map[string]any) error {
	for option, name := range recordedFlags() {
		f, recorded := flags.Lookup(name), options[option]
		if f == nil || recorded == nil || f.Changed {
			continue
		}
		if name == webhookFlag {
			recorded = takenAddress(fmt.Sprint(recorded))
		}
		value := f.Value
		if n, ok := value.(noting); ok && flags.Changed("settle") {
			value = n.Value // it was set beside another settle period
		}
		if err := take(value, recorded); err != nil {
			return fmt.Errorf("%s is %v, which --%s does not take: %w", option, recorded, name, err)
		}
	}
	return nil
}

// takenAddress leaves out what may be a token, and what is no address: Reloader takes that too, and reaches nobody by it.
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
		return nil // unset, or set by an older controller, which has no such flag
	default:
		return value.Set(fmt.Sprint(recorded))
	}
}

// Beyond are the flags that decide and differ from their defaults, as one would give them.
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
		if f.Name == webhookFlag {
			value = WithoutToken(value)
		}
		all = append(all, "--"+f.Name+"="+value)
	})
	return all
}
