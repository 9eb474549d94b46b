package annotations

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Any user who may annotate a workload controls the length of its selector, and each source of the
// namespace is matched. The bounds are far beyond selectors written by people.
const (
	// maxSelectorText bounds the text of a selector, and with it the values of its requirements.
	maxSelectorText = 2 << 10
	// maxRequirements bounds the requirements of a selector.
	maxRequirements = 50
)

// Selector selects sources by their labels; nil selects none.
type Selector struct {
	// Text is the selector in its canonical form, in which the order of its requirements and the
	// blanks of the user do not matter.
	Text    string
	matches labels.Selector
}

// ReadSelector parses a label selector of Kubernetes.
func ReadSelector(text string) (*Selector, error) {
	if len(text) > maxSelectorText {
		return nil, fmt.Errorf("selects nothing: it has %d characters, must have at most %d", len(text), maxSelectorText)
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("selects nothing: it is not a label selector (%w); write, for example, plugins=grafana", err)
	}
	switch requirements, _ := selector.Requirements(); {
	case len(requirements) == 0:
		return nil, errors.New("selects nothing, because it is empty; write a label selector such as plugins=grafana, or remove the annotation")
	case len(requirements) > maxRequirements:
		return nil, fmt.Errorf("selects nothing: it has %d requirements, must have at most %d", len(requirements), maxRequirements)
	}
	return &Selector{Text: strings.ReplaceAll(selector.String(), "==", "="), matches: selector}, nil
}

// Matches reports whether an object with these labels is selected.
func (s *Selector) Matches(l labels.Labels) bool { return s != nil && s.matches.Matches(l) }

// Equal reports whether two selectors are equal.
func (s *Selector) Equal(other *Selector) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.Text == other.Text
}
