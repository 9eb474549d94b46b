package annotations

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"
)

// Whoever may annotate a workload chooses what its lists have: 250 KiB of names, or
// an expression that takes a thousand steps for each character of each name. These
// bounds keep a list from holding up other workloads. They are far beyond what
// lists have that somebody wrote.
const (
	// maxEntries bounds a list.
	MaxEntries = 5000
	// maxExpressions bounds those entries of a list that are no names: each of them
	// is tried on each source.
	maxExpressions = 200
	// maxPatternSize bounds the text of one expression and the size of all that are
	// in one list, and maxPatternText what is read of those at all.
	maxPatternSize = 4 << 10
	maxPatternText = 16 << 10
	// maxAutomatonSteps bounds what the expressions of a list take to be built.
	maxAutomatonSteps = 1 << 18
)

// NamedEntry is one entry of a list of named sources. A plain name has no
// pattern, so that comparing is all it takes.
type NamedEntry struct {
	Text    string
	Pattern pattern
}

// pattern is what an entry that may match several names has.
type pattern interface {
	Matches(name string) bool
}

// dotted is a name with dots: as an expression each of them is any character.
type dotted string

func (d dotted) Matches(name string) bool {
	if len(name) != len(d) {
		return false
	}
	for i := range len(d) {
		if d[i] != '.' && d[i] != name[i] {
			return false
		}
	}
	return true
}

// NameList is a list of named sources; nil is an empty one.
type NameList struct {
	// text is the annotation, of which the entries are parts.
	Text string
	// entries are in the order of the annotation, each of them once.
	Entries []NamedEntry
	// places has, for each entry, where it is.
	Places map[string]int
	// patterns are the places of those that have one.
	Patterns []int
}

// Find returns the first entry that names a source.
func (l *NameList) Find(name string) (entry string, found bool) {
	if l == nil {
		return "", false
	}
	last := len(l.Entries)
	if at, ok := l.Places[name]; ok && l.Entries[at].Pattern == nil {
		last, entry, found = at, l.Entries[at].Text, true
	}
	for _, at := range l.Patterns {
		if at > last {
			break
		}
		if l.Entries[at].Pattern.Matches(name) {
			return l.Entries[at].Text, true
		}
	}
	return entry, found
}

// All returns the entries, in the order of the annotation.
func (l *NameList) All() []NamedEntry {
	if l == nil {
		return nil
	}
	return l.Entries
}

// HasAll reports whether all entries of another list are among these.
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

// HasAll reports whether all names of another set are among these.
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

// ListReader counts what the entries of one list take.
type ListReader struct {
	read, size, steps, expressions int
}

// Entry returns what an entry is, or why it is refused.
func (r *ListReader) Entry(text string) (NamedEntry, error) {
	switch {
	case isPlain(text):
		if len(text) > maxObjectName {
			return NamedEntry{}, fmt.Errorf("has %d characters, and no object has a name with more than %d; write the name of a source", len(text), maxObjectName)
		}
		return NamedEntry{Text: text}, nil
	case IsObjectName(text):
		return NamedEntry{Text: text, Pattern: dotted(text)}, nil
	case len(text) > maxPatternSize:
		return NamedEntry{}, fmt.Errorf("the expression has %d characters, must have at most %d; write names instead", len(text), maxPatternSize)
	case r.expressions == maxExpressions:
		return NamedEntry{}, fmt.Errorf("the list has more than %d expressions; write names, or fewer expressions that match more", maxExpressions)
	}
	if r.read += len(text); r.read > maxPatternText {
		return NamedEntry{}, fmt.Errorf("the expressions of the list have %d characters up to this one, may have %d; write names instead", r.read, maxPatternText)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return NamedEntry{}, fmt.Errorf("not a regular expression (%w); write a name, or an expression that matches the whole name", err)
	}
	size := r.size + patternSize(tree)
	if size > maxPatternSize {
		return NamedEntry{}, fmt.Errorf("the expressions of the list take %d steps up to this one, may take %d; write names, or repeat less", size, maxPatternSize)
	}
	left := maxAutomatonSteps - r.steps
	pattern, ok := newAutomaton(tree, &left)
	if !ok {
		return NamedEntry{}, errors.New("the expressions of the list are too complex up to this one; write names, or repeat less")
	}
	r.size, r.steps = size, maxAutomatonSteps-left
	r.expressions++
	return NamedEntry{Text: text, Pattern: pattern}, nil
}

// isPlain reports whether no character of an entry means anything in a regular
// expression.
func isPlain(text string) bool { return !strings.ContainsAny(text, `\.+*?()|[]{}^$`) }

// patternSize estimates what an expression takes when it is compiled, where a
// repetition stands as many times as it repeats.
func patternSize(tree *syntax.Regexp) int {
	size := 1 + len(tree.Rune)
	for _, sub := range tree.Sub {
		size += patternSize(sub)
	}
	if tree.Op == syntax.OpRepeat {
		size *= max(tree.Min, tree.Max, 1)
	}
	return size
}

// ListOf returns the entries of a comma list, without what is empty.
func ListOf(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for entry := range strings.SplitSeq(value, ",") {
			if entry = strings.TrimSpace(entry); entry != "" && !yield(entry) {
				return
			}
		}
	}
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
