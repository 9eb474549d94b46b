package config

import (
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// nameFlag is a flag that renames an annotation.
type nameFlag struct {
	name  string
	value *string
	usage string
}

func nameFlags(n *annotations.Names) []nameFlag {
	return []nameFlag{
		{"configmap-annotation", &n.ConfigMap, "annotation on a workload: names of the ConfigMaps whose changes roll it"},
		{"secret-annotation", &n.Secret, "annotation on a workload: names of the Secrets whose changes roll it"},
		{"auto-annotation", &n.Auto, "annotation on a workload: opt in for all ConfigMaps and Secrets that it references"},
		{"configmap-auto-annotation", &n.ConfigMapAuto, "annotation on a workload: opt in for the ConfigMaps that it references"},
		{"secret-auto-annotation", &n.SecretAuto, "annotation on a workload: opt in for the Secrets that it references"},
		{"auto-search-annotation", &n.Search, "annotation on a workload: opt in for the ConfigMaps and Secrets that it references and that have the match annotation"},
		{"search-match-annotation", &n.Match, "annotation on a ConfigMap or Secret: roll workloads that have the search annotation"},
		{"ignore-annotation", &n.Ignore, "annotation on a ConfigMap or Secret: ignore its changes"},
		{"pause-deployment-annotation", &n.PausePeriod, "annotation on a Deployment: how long to pause it after a change"},
		{"pause-deployment-time-annotation", &n.PausedAt, "annotation on a Deployment: time at which the controller paused it (written by the controller)"},
	}
}

func bindNames(n *annotations.Names, flags *pflag.FlagSet) {
	*n = annotations.DefaultNames()
	for _, f := range nameFlags(n) {
		flags.StringVar(f.value, f.name, *f.value, f.usage)
	}
}

// validateNames calls refuse for every mistake.
func validateNames(n *annotations.Names, refuse func(format string, args ...any)) {
	taken := map[string]string{}
	for _, key := range fixedNames(n) {
		taken[key] = "the controller uses this key for another purpose, and it cannot be renamed"
	}
	for _, f := range nameFlags(n) {
		key := strings.TrimSpace(*f.value)
		*f.value = key
		if key == "" {
			refuse("--%s is empty: set an annotation key, such as %s, or omit the flag", f.name, defaultOf(f.name))
			continue
		}
		// The API server also allows upper case before the slash.
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			refuse("--%s=%s is not an annotation key: write a key such as reload or example.org/reload, of letters, digits and -_. in between", f.name, key)
			continue
		}
		if why, ok := taken[key]; ok {
			refuse("--%s=%s: %s; set another key", f.name, key, why)
			continue
		}
		taken[key] = "--" + f.name + " has the same key, and one annotation cannot have both meanings"
	}
}

// fixedNames are the keys that no flag may use.
func fixedNames(n *annotations.Names) []string {
	return append(annotations.Fixed(), n.LastReloadedFrom, n.RolloutStrategy, n.ConfigMapExclude, n.SecretExclude, n.SPCExclude, n.SecretProviderClass, n.SPCAuto)
}

func defaultOf(flag string) string {
	names := annotations.DefaultNames()
	for _, f := range nameFlags(&names) {
		if f.name == flag {
			return *f.value
		}
	}
	return ""
}
