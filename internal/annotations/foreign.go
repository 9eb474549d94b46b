package annotations

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unique"
)

// AllowFromKey is on a ConfigMap or Secret and allows workloads of other namespaces to name it.
const AllowFromKey = "reroll.dev/allow-from"

// Any user who may annotate a source or a workload controls these numbers. They are far beyond lists
// written by people.
const (
	// maxForeign bounds the sources of other namespaces in one list of a workload, so that their
	// digests always have room in a ledger.
	maxForeign = 16
	// maxAllowed bounds the entries of AllowFromKey, and maxAllowText its text.
	maxAllowed   = 100
	maxAllowText = 8 << 10
	// maxNamespace is the longest name of a namespace.
	maxNamespace = 63
)

// SplitForeign splits an entry of the form NAMESPACE/NAME. It returns false for any other text.
func SplitForeign(entry string) (namespace, name string, ok bool) {
	namespace, name, ok = strings.Cut(entry, "/")
	if !ok || !isNamespace(namespace) || !IsObjectName(name) {
		return "", "", false
	}
	return namespace, name, true
}

func isNamespace(text string) bool {
	return len(text) <= maxNamespace && IsObjectName(text) && !strings.Contains(text, ".")
}

// foreignEntry parses an entry with a slash. It is never an expression: each namespace has its own
// consent, so each source is named by itself.
func (r *listReader) foreignEntry(text string) (NamedEntry, error) {
	_, _, valid := SplitForeign(text)
	switch {
	case !r.foreign:
		return NamedEntry{}, errors.New("names nothing, because no source of this kind may be in another namespace; write the name alone")
	case !valid:
		return NamedEntry{}, errors.New("names nothing; for a source of another namespace, write NAMESPACE/NAME, without expressions")
	case r.foreigners == maxForeign:
		return NamedEntry{}, fmt.Errorf("names nothing, because the list has more than %d sources of other namespaces; copy some of them into this one", maxForeign)
	}
	r.foreigners++
	return NamedEntry{Text: text}, nil
}

// AllowFrom are the namespaces whose workloads may name a source of another namespace. It is
// comparable, and takes one word. The zero value allows none.
type AllowFrom struct{ text unique.Handle[string] }

// ReadAllowFrom reads AllowFromKey. An entry is the name of a namespace, in which * stands for any
// characters. An invalid entry allows nothing.
func ReadAllowFrom(own map[string]string) (AllowFrom, []Mistake) {
	text, ok := own[AllowFromKey]
	if !ok {
		return AllowFrom{}, nil
	}
	var mistakes []Mistake
	refuse := func(format string, args ...any) {
		if len(mistakes) < maxListMistakes {
			mistakes = append(mistakes, Written{Values: own}.Mistake(AllowFromKey, fmt.Sprintf(format, args...)))
		}
	}
	if len(text) > maxAllowText {
		refuse("allows nothing: it has %d characters, must have at most %d", len(text), maxAllowText)
		return AllowFrom{}, mistakes
	}
	var allowed []string
	for entry := range listOf(text) {
		switch {
		case slices.Contains(allowed, entry):
		case len(allowed) == maxAllowed:
			refuse("allows nothing from %q on: the list has more than %d entries; use * for any characters", entry, maxAllowed)
			return keepAllowed(allowed), mistakes
		case !isNamespacePattern(entry):
			refuse("%q allows nothing; write the name of a namespace, in which * stands for any characters", Shortened(entry))
		default:
			allowed = append(allowed, entry)
		}
	}
	if len(allowed) == 0 && len(mistakes) == 0 {
		refuse("allows nothing, because it is empty; write the names of namespaces, or remove the annotation")
	}
	return keepAllowed(allowed), mistakes
}

// keepAllowed sorts the entries, so that equal sets are equal.
func keepAllowed(allowed []string) AllowFrom {
	if len(allowed) == 0 {
		return AllowFrom{}
	}
	slices.Sort(allowed)
	return AllowFrom{unique.Make(strings.Join(allowed, ","))}
}

func isNamespacePattern(text string) bool {
	return len(text) <= maxNamespace && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-*") == ""
}

// AllowAny is that of a source that no longer exists, and that has allowed the workload.
func AllowAny() AllowFrom { return AllowFrom{unique.Make("*")} }

// AllowOnly allows the workloads of one namespace.
func AllowOnly(namespace string) AllowFrom { return keepAllowed([]string{namespace}) }

// Has reports whether workloads of a namespace may name the source.
func (a AllowFrom) Has(namespace string) bool {
	if a == (AllowFrom{}) {
		return false
	}
	for entry := range strings.SplitSeq(a.text.Value(), ",") {
		if matchesStars(entry, namespace) {
			return true
		}
	}
	return false
}

// Any reports whether it allows any namespace.
func (a AllowFrom) Any() bool { return a != AllowFrom{} }

// matchesStars reports whether a pattern, in which * stands for any characters, matches a whole name.
// It takes at most as many steps as the product of their lengths.
func matchesStars(pattern, name string) bool {
	p, n, star, retry := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, retry = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0:
			retry++
			p, n = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
