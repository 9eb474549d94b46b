package reload

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// maxPatternSize bounds the text of one expression and the size of all that are
// in one list. Without a bound an annotation of 32 KiB takes 130 MiB once it is
// compiled, and whoever may annotate a workload could bring the controller down.
const maxPatternSize = 4 << 10

// namedEntry is one entry of a list of named sources. A plain name has no
// pattern, so that comparing is all it takes.
type namedEntry struct {
	text    string
	pattern *regexp.Regexp
}

// newNamedEntry adds the size of the entry to that of the list, unless it
// refuses it.
func newNamedEntry(text string, listSize *int) (namedEntry, error) {
	if regexp.QuoteMeta(text) == text {
		return namedEntry{text: text}, nil
	}
	if len(text) > maxPatternSize {
		return namedEntry{}, fmt.Errorf("the expression has %d characters, must have at most %d; write names instead", len(text), maxPatternSize)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return namedEntry{}, fmt.Errorf("not a regular expression (%w); write a name, or an expression that matches the whole name", err)
	}
	size := *listSize + patternSize(tree)
	if size > maxPatternSize {
		return namedEntry{}, fmt.Errorf("the expressions of the list take %d steps up to this one, may take %d; write names, or repeat less", size, maxPatternSize)
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return namedEntry{}, err
	}
	*listSize = size
	pattern.Longest()
	return namedEntry{text: text, pattern: pattern}, nil
}

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

// matches asks for the longest match and compares its bounds, instead of
// writing anchors around the text: an entry like "a)|(b" would get out of them.
func (e namedEntry) matches(name string) bool {
	if e.pattern == nil {
		return e.text == name
	}
	bounds := e.pattern.FindStringIndex(name)
	return bounds != nil && bounds[0] == 0 && bounds[1] == len(name)
}

// listOf returns the entries of a comma list, without what is empty.
func listOf(value string) []string {
	var list []string
	for entry := range strings.SplitSeq(value, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			list = append(list, entry)
		}
	}
	return list
}

// isObjectName tells whether an object can have that name.
func isObjectName(text string) bool {
	for label := range strings.SplitSeq(text, ".") {
		inner := strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-")
		if label == "" || inner != "" || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
	}
	return len(text) <= maxObjectName
}

const maxObjectName = 253
