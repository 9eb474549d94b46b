package annotations

import (
	"errors"
	"fmt"
	"iter"
	"regexp/syntax"
	"strings"
)

// Any user who may annotate a workload controls the length of its lists: 250 KiB of names, or an
// expression that takes a thousand steps for each character. These bounds keep a list from delaying
// other workloads. They are far beyond lists written by people.
const (
	// maxEntries bounds a list.
	maxEntries = 5000
	// maxExpressions bounds the expressions of a list, because each of them is matched against each
	// source.
	maxExpressions = 200
	// maxPatternSize bounds the text of one expression and the total size of those in one list, and
	// maxPatternText the text that is parsed at all.
	maxPatternSize = 4 << 10
	maxPatternText = 16 << 10
	// maxAutomatonSteps bounds the steps to compile the expressions of a list.
	maxAutomatonSteps = 1 << 18
	// maxListMistakes bounds the mistakes of one list in events and memory: it may contain tens of
	// thousands of mistakes.
	maxListMistakes = 10
)

// Refusal is a refused entry of a list, with the reason.
type Refusal struct{ Entry, Why string }

// ReadList parses a list of named sources. It is nil if it has no valid entry. Foreign reports whether
// the list may name sources of other namespaces.
func ReadList(value string, names *Names, foreign bool) (*NameList, []Refusal) {
	if value == "" {
		return nil, nil // nearly all lists of nearly all workloads, at each of their events
	}
	list := &NameList{Text: value}
	reader := listReader{foreign: foreign}
	refused := readNames(value, names, list.has, func(text string) error {
		entry, err := reader.entry(text)
		if err == nil {
			list.add(entry)
		}
		return err
	})
	if len(list.Entries) == 0 {
		return nil, refused
	}
	return list, refused
}

// ReadSet parses a list of excluded sources. It is nil if it has no valid entry. Entries are
// compared as names: an expression is refused, because it would silently exclude nothing.
func ReadSet(value string, names *Names, valid func(string) bool) (*NameSet, []Refusal) {
	if value == "" {
		return nil, nil
	}
	set := &NameSet{Text: value}
	refused := readNames(value, names, set.Has, func(name string) error {
		if !valid(name) {
			return errNotAName
		}
		set.add(name)
		return nil
	})
	if len(set.Names) == 0 {
		return nil, refused
	}
	return set, refused
}

var errNotAName = errors.New("excludes nothing: it is not a valid name, and expressions do not work here; write names")

// readNames passes each distinct entry of a comma list to take, up to the bounds. The number of
// refusals is bounded, too.
func readNames(value string, names *Names, has func(string) bool, take func(string) error) []Refusal {
	var refused []Refusal
	var last, firstPast string
	taken, count, past := 0, 0, 0
	for text := range listOf(value) {
		switch {
		case has(text):
			continue
		case taken == maxEntries:
			if past++; past == 1 {
				firstPast = text
			}
			continue
		}
		err := take(text)
		if err == nil {
			taken++
			continue
		}
		if count++; count <= maxListMistakes {
			refused = append(refused, Refusal{text, err.Error()})
		}
		last = text
	}
	if count > maxListMistakes {
		refused = append(refused, Refusal{last, fmt.Sprintf("ignored, like %d other entries of the list, of which only the first %d are reported", count-1, maxListMistakes)})
	}
	if past > 0 {
		refused = append(refused, Refusal{firstPast, fmt.Sprintf("the list has more than %d entries, so this one and those after it, %d in all, are ignored; use %s, or an expression that matches several names",
			maxEntries, past, names.Auto)})
	}
	return refused
}

// listReader counts the cost of the entries of one list.
type listReader struct {
	read, size, steps, expressions, foreigners int
	// foreign reports whether the list may name sources of other namespaces.
	foreign bool
}

// entry parses an entry, or returns why it is refused.
func (r *listReader) entry(text string) (NamedEntry, error) {
	switch {
	case strings.Contains(text, "/"):
		return r.foreignEntry(text)
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

// isPlain reports whether an entry contains no special character of regular expressions.
func isPlain(text string) bool { return !strings.ContainsAny(text, `\.+*?()|[]{}^$`) }

// patternSize estimates the size of a compiled expression, with repetitions expanded.
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

// listOf returns the entries of a comma list, without empty ones.
func listOf(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for entry := range strings.SplitSeq(value, ",") {
			if entry = strings.TrimSpace(entry); entry != "" && !yield(entry) {
				return
			}
		}
	}
}
