package policy

import (
	"slices"
	"strconv"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// sources reads the label selector for sources. Unlike the annotations that opt in, it is read from
// the workload or else from its pod template, whatever else they have.
func (r *policyReader) sources() setSelector {
	from := r.preferred(annotations.Sources)
	text, ok := from.Values[annotations.Sources]
	if !ok {
		return setSelector{}
	}
	selector, err := annotations.ReadSelector(text)
	if err != nil {
		r.refuse(from, annotations.Sources, text, "%s", err)
	}
	return setSelector{selector, true}
}

// SelectorFor returns the selector for sources of a kind; nil if there is none. A
// SecretProviderClass is known only by the reports of Pods that mount it.
func (p *Policy) SelectorFor(kind source.Kind) *annotations.Selector {
	if kind != source.ConfigMap && kind != source.Secret {
		return nil
	}
	return p.sources.selector
}

// WithoutReference returns the rule by which a source with some labels concerns the workload even if
// the pod template does not reference it, or none.
func (p *Policy) WithoutReference(key source.LocalKey, labels source.Labels) Rule {
	switch {
	case p.Names(key):
		return RuleNamed
	case labels.MatchedBy(p.SelectorFor(key.Kind)):
		return RuleSelected
	default:
		return 0
	}
}

// Selector returns the selector for sources; nil if there is none.
func (p *Policy) Selector() *annotations.Selector { return p.sources.selector }

// SelectedBefore reports whether a source that does not concern the workload may have been selected
// by earlier labels, and what else decides about it is the same.
func (p *Policy) SelectedBefore(src source.Key, ann source.Annotations, refers bool) bool {
	if p.SelectorFor(src.Kind) == nil || ann.Ignore || ann.Unselected {
		return false
	}
	kind := p.of(src.Kind)
	searched := refers && kind.search // the source may have lost the match annotation instead
	return !searched && !kind.excluded.Has(src.Name)
}

// ReferencesCount reports whether a source can concern the workload because its pod template
// references the source.
func (p *Policy) ReferencesCount(autoReloadAll bool) bool {
	return slices.ContainsFunc(p.kinds[:], func(k kindPolicy) bool {
		return k.search || k.optedIn(p.ruleByDefault(autoReloadAll)) != 0
	})
}

// Texts are the parts of the policy that select sources, if it selects some by their labels. They
// are equal for two policies that select the same sources.
func (p *Policy) Texts(autoReloadAll bool) []string {
	if p.sources.selector == nil {
		return nil
	}
	texts := []string{p.sources.selector.Text}
	for _, kind := range p.kinds {
		excluded := ""
		if kind.excluded != nil {
			excluded = kind.excluded.Text
		}
		// Which rule opts in makes no difference: the flag may take the place of a default of the
		// namespace.
		optedIn := kind.optedIn(p.ruleByDefault(autoReloadAll)) != 0
		texts = append(texts, excluded, strconv.FormatBool(kind.search), strconv.FormatBool(optedIn))
		texts = append(texts, strconv.Itoa(len(kind.entries.All())))
		for _, entry := range kind.entries.All() {
			texts = append(texts, entry.Text)
		}
	}
	return texts
}
