package config

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	namespacesToIgnoreFlag = "namespaces-to-ignore"
	namespaceSelectorFlag  = "namespace-selector"
	resourceSelectorFlag   = "resource-label-selector"
)

// Selectors limit the objects that the controller watches.
type Selectors struct {
	// NamespacesToIgnore are ignored if all namespaces are watched.
	NamespacesToIgnore []string
	// Namespaces and Resources select by label. Nil selects all. Validate sets them.
	Namespaces, Resources labels.Selector

	namespaces, resources []string
}

func (s *Selectors) bindFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&s.NamespacesToIgnore, namespacesToIgnoreFlag, nil, "namespaces to ignore, if all are watched")
	flags.StringSliceVar(&s.namespaces, namespaceSelectorFlag, nil, "label selector for the namespaces to watch, if all are watched")
	flags.StringSliceVar(&s.resources, resourceSelectorFlag, nil, "label selector for the ConfigMaps and Secrets to watch")
}

// validate calls refuse for every mistake, and warn for settings without effect.
func (s *Selectors) validate(global bool, refuse, warn func(format string, args ...any)) {
	s.NamespacesToIgnore = trimmed(s.NamespacesToIgnore)
	s.Namespaces = selector(namespaceSelectorFlag, s.namespaces, refuse)
	s.Resources = selector(resourceSelectorFlag, s.resources, refuse)
	const why = "it applies only if all namespaces are watched, and --namespaces or KUBERNETES_NAMESPACE selects some"
	if !global && len(s.NamespacesToIgnore) > 0 {
		warn("--%s has no effect: %s", namespacesToIgnoreFlag, why)
		s.NamespacesToIgnore = nil
	}
	if !global && s.Namespaces != nil {
		warn("--%s has no effect: %s", namespaceSelectorFlag, why)
		s.Namespaces = nil
	}
}

// trimmed returns names without surrounding blanks and without duplicates.
func trimmed(names []string) []string {
	var clean []string
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(clean, name) {
			clean = append(clean, name)
		}
	}
	return clean
}

// selector joins the parts that the command line has split at commas, also within parentheses.
func selector(flag string, given []string, refuse func(format string, args ...any)) labels.Selector {
	text := strings.Join(given, ",")
	var terms []string
	for _, term := range splitTerms(text) {
		if term = strings.TrimSpace(term); term != "" {
			terms = append(terms, modernTerm(term))
		}
	}
	if len(terms) == 0 {
		return nil
	}
	parsed, err := labels.Parse(strings.Join(terms, ","))
	if err != nil {
		refuse("--%s=%s is not a label selector: write key=value, key!=value, key, !key or key in (a,b), with commas between several (%v)", flag, text, err)
		return nil
	}
	return parsed
}

func splitTerms(text string) []string {
	var terms []string
	depth, begin := 0, 0
	for i, r := range text {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth == 0:
			terms = append(terms, text[begin:i])
			begin = i + 1
		}
	}
	return append(terms, text[begin:])
}

// modernTerm converts the forms that Reloader used before label selectors: key:value, key:* and
// key=*.
func modernTerm(term string) string {
	m := regexp.MustCompile(`^([^\s!=:()]+)\s*(:|==?)\s*([^\s!=:()]*)$`).FindStringSubmatch(term)
	switch {
	case m == nil:
		return term
	case m[3] == "*":
		return m[1]
	default:
		return m[1] + "=" + m[3]
	}
}
