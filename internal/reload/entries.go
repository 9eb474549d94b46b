package reload

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
	maxEntries = 5000
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

// namedEntry is one entry of a list of named sources. A plain name has no
// pattern, so that comparing is all it takes.
type namedEntry struct {
	text    string
	pattern pattern
}

// pattern is what an entry that may match several names has.
type pattern interface {
	matches(name string) bool
}

// dotted is a name with dots: as an expression each of them is any character.
type dotted string

func (d dotted) matches(name string) bool {
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

// nameList is a list of named sources; nil is an empty one.
type nameList struct {
	// text is the annotation, of which the entries are parts.
	text string
	// entries are in the order of the annotation, each of them once.
	entries []namedEntry
	// places has, for each entry, where it is.
	places map[string]int
	// patterns are the places of those that have one.
	patterns []int
}

// find returns the first entry that names a source.
func (l *nameList) find(name string) (entry string, found bool) {
	if l == nil {
		return "", false
	}
	last := len(l.entries)
	if at, ok := l.places[name]; ok && l.entries[at].pattern == nil {
		last, entry, found = at, l.entries[at].text, true
	}
	for _, at := range l.patterns {
		if at > last {
			break
		}
		if l.entries[at].pattern.matches(name) {
			return l.entries[at].text, true
		}
	}
	return entry, found
}

// all returns the entries, in the order of the annotation.
func (l *nameList) all() []namedEntry {
	if l == nil {
		return nil
	}
	return l.entries
}

// hasAll reports whether all entries of another list are among these.
func (l *nameList) hasAll(other *nameList) bool {
	if l.equal(other) {
		return true
	}
	return !slices.ContainsFunc(other.all(), func(e namedEntry) bool {
		if l == nil {
			return true
		}
		_, has := l.places[e.text]
		return !has
	})
}

func (l *nameList) equal(other *nameList) bool {
	if l == nil || other == nil {
		return l == other
	}
	return l.text == other.text ||
		slices.EqualFunc(l.entries, other.entries, func(a, b namedEntry) bool { return a.text == b.text })
}

// nameSet is a list of excluded sources; nil is an empty one.
type nameSet struct {
	text  string
	names map[string]struct{}
}

func (s *nameSet) has(name string) bool {
	if s == nil {
		return false
	}
	_, ok := s.names[name]
	return ok
}

// hasAll reports whether all names of another set are among these.
func (s *nameSet) hasAll(other *nameSet) bool {
	if other == nil || s.equal(other) {
		return true
	}
	for name := range other.names {
		if !s.has(name) {
			return false
		}
	}
	return true
}

func (s *nameSet) equal(other *nameSet) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.text == other.text || maps.Equal(s.names, other.names)
}

// listReader counts what the entries of one list take.
type listReader struct {
	read, size, steps, expressions int
}

// entry returns what an entry is, or why it is refused.
func (r *listReader) entry(text string) (namedEntry, error) {
	switch {
	case isPlain(text):
		if len(text) > maxObjectName {
			return namedEntry{}, fmt.Errorf("has %d characters, and no object has a name with more than %d; write the name of a source", len(text), maxObjectName)
		}
		return namedEntry{text: text}, nil
	case isObjectName(text):
		return namedEntry{text: text, pattern: dotted(text)}, nil
	case len(text) > maxPatternSize:
		return namedEntry{}, fmt.Errorf("the expression has %d characters, must have at most %d; write names instead", len(text), maxPatternSize)
	case r.expressions == maxExpressions:
		return namedEntry{}, fmt.Errorf("the list has more than %d expressions; write names, or fewer expressions that match more", maxExpressions)
	}
	if r.read += len(text); r.read > maxPatternText {
		return namedEntry{}, fmt.Errorf("the expressions of the list have %d characters up to this one, may have %d; write names instead", r.read, maxPatternText)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return namedEntry{}, fmt.Errorf("not a regular expression (%w); write a name, or an expression that matches the whole name", err)
	}
	size := r.size + patternSize(tree)
	if size > maxPatternSize {
		return namedEntry{}, fmt.Errorf("the expressions of the list take %d steps up to this one, may take %d; write names, or repeat less", size, maxPatternSize)
	}
	left := maxAutomatonSteps - r.steps
	pattern, ok := newAutomaton(tree, &left)
	if !ok {
		return namedEntry{}, errors.New("the expressions of the list are too complex up to this one; write names, or repeat less")
	}
	r.size, r.steps = size, maxAutomatonSteps-left
	r.expressions++
	return namedEntry{text: text, pattern: pattern}, nil
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

// listOf returns the entries of a comma list, without what is empty.
func listOf(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for entry := range strings.SplitSeq(value, ",") {
			if entry = strings.TrimSpace(entry); entry != "" && !yield(entry) {
				return
			}
		}
	}
}

// isObjectName tells whether an object can have that name.
func isObjectName(text string) bool {
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
