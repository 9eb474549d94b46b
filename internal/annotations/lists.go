package annotations

import (
	"maps"
	"slices"
	"strings"
)

// NamedEntry is one entry of a list of named sources. A plain name has no pattern, because
// comparing it is enough.
type NamedEntry struct {
	Text    string
	Pattern pattern
}

// pattern matches several names.
type pattern interface {
	Matches(name string) bool
}

// dotted is a name with dots, each of which matches any character in an expression.
type dotted string

func (d dotted) Matches(name string) bool {
	if len(name) != len(d) {
		return false
	}
	for i := range len(d) {
		if d[i] != name[i] && (d[i] != '.' || name[i] == '/') {
			return false
		}
	}
	return true
}

// NameList is a list of named sources; nil is an empty one.
type NameList struct {
	// Text is the annotation; the entries are substrings of it.
	Text string
	// Entries are in the order of the annotation, without duplicates.
	Entries []NamedEntry
	// Places are the indexes of the entries.
	Places map[string]int
	// Patterns are the indexes of the entries with a pattern, and Foreign those of sources of other
	// namespaces.
	Patterns, Foreign []int

	// expressions is the number of entries with a pattern that takes time to match.
	expressions int
	answers     answers
}

// Find returns the first entry that names a source.
func (l *NameList) Find(name string) (entry string, found bool) {
	if l == nil {
		return "", false
	}
	var at int
	takes := l.takes()
	if takes <= fewExpressions || strings.Contains(name, "/") { // no pattern matches a slash
		at = l.match(name)
	} else {
		at = l.answers.find(name, min(takes*answersEach, mostAnswers), l.match)
	}
	if at == nowhere {
		return "", false
	}
	return l.Entries[at].Text, true
}

// takes is how many expressions take as long to match. A name with dots is compared in a moment, but a list
// may have thousands of them.
func (l *NameList) takes() int {
	const dottedNames = 64
	return l.expressions + (len(l.Patterns)-l.expressions)/dottedNames
}

// match returns the index of the first entry that names a source, or nowhere.
func (l *NameList) match(name string) int {
	exact, last := nowhere, len(l.Entries)
	if at, ok := l.Places[name]; ok && l.Entries[at].Pattern == nil {
		exact, last = at, at
	}
	for _, at := range l.Patterns {
		if at > last {
			break
		}
		if l.Entries[at].Pattern.Matches(name) {
			return at
		}
	}
	return exact
}

// Reusing returns an equal list that was read before, with its answers, or else the list itself: most
// events of an object do not change its annotations.
func (l *NameList) Reusing(known *NameList) *NameList {
	if l.Equal(known) {
		return known
	}
	return l
}

// HasName reports whether the list has an entry with that text, and not only an expression that
// matches it.
func (l *NameList) HasName(name string) bool {
	return l != nil && l.has(name)
}

func (l *NameList) has(text string) bool {
	_, ok := l.Places[text]
	return ok
}

func (l *NameList) add(entry NamedEntry) {
	if l.Places == nil {
		l.Places = map[string]int{}
	}
	at := len(l.Entries)
	l.Places[entry.Text] = at
	switch {
	case entry.Pattern != nil:
		l.Patterns = append(l.Patterns, at)
		if _, quick := entry.Pattern.(dotted); !quick {
			l.expressions++
		}
	case strings.Contains(entry.Text, "/"):
		l.Foreign = append(l.Foreign, at)
	}
	l.Entries = append(l.Entries, entry)
}

// Expressions returns how many entries are expressions that take time to match.
func (l *NameList) Expressions() int { return l.expressions }

// All returns the entries, in the order of the annotation.
func (l *NameList) All() []NamedEntry {
	if l == nil {
		return nil
	}
	return l.Entries
}

// HasAll reports whether the list contains all entries of another list.
func (l *NameList) HasAll(other *NameList) bool {
	if l.Equal(other) {
		return true
	}
	return !slices.ContainsFunc(other.All(), func(e NamedEntry) bool {
		if l == nil {
			return true
		}
		_, has := l.Places[e.Text]
		return !has
	})
}

// Equal reports whether two lists have the same entries in the same order.
func (l *NameList) Equal(other *NameList) bool {
	if l == nil || other == nil {
		return l == other
	}
	return l.Text == other.Text ||
		slices.EqualFunc(l.Entries, other.Entries, func(a, b NamedEntry) bool { return a.Text == b.Text })
}

// NameSet is a list of excluded sources; nil is an empty one.
type NameSet struct {
	Text  string
	Names map[string]struct{}
}

// Has reports whether a name is in the set.
func (s *NameSet) Has(name string) bool {
	if s == nil {
		return false
	}
	_, ok := s.Names[name]
	return ok
}

func (s *NameSet) add(name string) {
	if s.Names == nil {
		s.Names = map[string]struct{}{}
	}
	s.Names[name] = struct{}{}
}

// HasAll reports whether the set contains all names of another set.
func (s *NameSet) HasAll(other *NameSet) bool {
	if other == nil || s.Equal(other) {
		return true
	}
	for name := range other.Names {
		if !s.Has(name) {
			return false
		}
	}
	return true
}

// Equal reports whether two sets have the same names.
func (s *NameSet) Equal(other *NameSet) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.Text == other.Text || maps.Equal(s.Names, other.Names)
}

// IsBundleOrSigner reports whether a ClusterTrustBundle or its signer can have that name. The name of
// a signer is a domain with a path, and begins the names of its bundles, with colons.
func IsBundleOrSigner(text string) bool {
	domain, path, signed := strings.Cut(text, "/")
	if !signed {
		parts := strings.Split(text, ":")
		return !slices.ContainsFunc(parts, func(part string) bool { return !IsObjectName(part) })
	}
	return path != "" && len(text) <= maxObjectName && IsObjectName(domain) && !strings.ContainsAny(path, "{}()[]*+?^$|\\ ")
}

// IsObjectName reports whether an object can have that name.
func IsObjectName(text string) bool {
	if len(text) > maxObjectName {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		inner := strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-")
		if label == "" || inner != "" || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
	}
	return true
}

const maxObjectName = 253
