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
		{"configmap-annotation", &n.ConfigMap, "annotation of a workload with the names of ConfigMaps that roll it"},
		{"secret-annotation", &n.Secret, "annotation of a workload with the names of Secrets that roll it"},
		{"auto-annotation", &n.Auto, "annotation of a workload that opts it in for all it refers to"},
		{"configmap-auto-annotation", &n.ConfigMapAuto, "annotation of a workload that opts it in for the ConfigMaps it refers to"},
		{"secret-auto-annotation", &n.SecretAuto, "annotation of a workload that opts it in for the Secrets it refers to"},
		{"auto-search-annotation", &n.Search, "annotation of a workload that opts it in for what it refers to and its owner has marked to match"},
		{"search-match-annotation", &n.Match, "annotation of a ConfigMap or Secret that marks it to match"},
		{"ignore-annotation", &n.Ignore, "annotation of a ConfigMap or Secret that rolls nothing"},
		{"pause-deployment-annotation", &n.PausePeriod, "annotation of a Deployment with how long it is held still after a reload"},
		{"pause-deployment-time-annotation", &n.PausedAt, "annotation of a Deployment with since when it is held still, written by the controller"},
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
		taken[key] = "the controller has a use of its own for it that cannot be renamed"
	}
	for _, f := range nameFlags(n) {
		key := strings.TrimSpace(*f.value)
		*f.value = key
		if key == "" {
			refuse("--%s is empty: give an annotation key, such as %s, or leave the flag out", f.name, defaultOf(f.name))
			continue
		}
		// Annotations are as the API server takes them: upper case is fine in front of the slash too.
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			refuse("--%s=%s is no annotation key: it must be like reload or example.org/reload, of letters, digits and -_. in between", f.name, key)
			continue
		}
		if why, ok := taken[key]; ok {
			refuse("--%s=%s: %s; give another key", f.name, key, why)
			continue
		}
		taken[key] = "--" + f.name + " has the same key, and one annotation cannot say both"
	}
}

// fixedNames are the keys that no flag may take.
func fixedNames(n *annotations.Names) []string {
	return []string{
		annotations.Ledger, annotations.Rolled, annotations.Settle,
		n.LastReloadedFrom, n.RolloutStrategy, n.ConfigMapExclude, n.SecretExclude, n.SPCExclude, n.SecretProviderClass, n.SPCAuto,
	}
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
