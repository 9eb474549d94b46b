package source

import (
	"maps"
	"slices"
	"strings"
	"unique"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// maxLabels bounds the labels that are kept of a source, because any user who may create one
// controls their number. No selector of a workload matches a source with more.
const maxLabels = 4 << 10

const tooManyLabels = "its labels exceed 4 KiB, so no selector in " + annotations.Sources + " matches it; remove some of them"

// Labels are the labels of a source. They are comparable and take one word: sources with equal
// labels share the text. The zero value means that the labels are unknown, and no selector matches
// it.
type Labels struct{ text unique.Handle[string] }

// anyLabels is the text of AnyLabels. No label has this text.
const anyLabels = "*"

// LabelsOf returns the labels of an object.
func LabelsOf(set map[string]string) Labels {
	if len(set) == 0 {
		return Labels{unique.Make("")}
	}
	size := 0
	for key, value := range set {
		size += len(key) + len(value) + len("=\n")
	}
	if size > maxLabels {
		return Labels{}
	}
	var text strings.Builder
	text.Grow(size)
	for _, key := range slices.Sorted(maps.Keys(set)) {
		text.WriteString(key + "=" + set[key] + "\n")
	}
	return Labels{unique.Make(text.String())}
}

// AnyLabels are the labels of a source that no longer exists, and that a selector has matched, as
// the ledger shows. Each selector matches them.
func AnyLabels() Labels { return Labels{unique.Make(anyLabels)} }

// MatchedBy reports whether a selector matches the labels.
func (l Labels) MatchedBy(s *annotations.Selector) bool {
	switch {
	case s == nil || l == Labels{}:
		return false
	case l.text.Value() == anyLabels:
		return true
	default:
		return s.Matches(labelText(l.text.Value()))
	}
}

// labelText has a line for each label.
type labelText string

var _ labels.Labels = labelText("")

// Lookup returns the value of a label.
func (t labelText) Lookup(key string) (value string, exists bool) {
	for rest := string(t); rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if value, is := strings.CutPrefix(line, key); is && strings.HasPrefix(value, "=") {
			return value[1:], true
		}
	}
	return "", false
}

// Has reports whether there is a label.
func (t labelText) Has(key string) bool {
	_, exists := t.Lookup(key)
	return exists
}

// Get returns the value of a label, empty if there is none.
func (t labelText) Get(key string) string {
	value, _ := t.Lookup(key)
	return value
}
