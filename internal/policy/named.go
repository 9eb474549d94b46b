package policy

import (
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// Names reports whether an entry of a list names a source.
func (p Policy) Names(key source.LocalKey) bool {
	_, found := p.of(key.Kind).entries.Find(key.Name)
	return found
}

// NamedSource is an entry of a list of sources that a workload names.
type NamedSource struct {
	Kind source.Kind
	// Text is the entry as the user wrote it.
	Text string
	// Expression reports whether the entry cannot be the name of an object. An entry with a dot may
	// be either, and counts as a name.
	Expression bool
	// Labels reports whether it is no entry, but the selector by labels, which has no kind.
	Labels bool
}

// Kinds are the kinds of source that it may be.
func (n NamedSource) Kinds() []source.Kind {
	if n.Labels {
		return []source.Kind{source.ConfigMap, source.Secret}
	}
	return []source.Kind{n.Kind}
}

// What describes the kinds.
func (n NamedSource) What() string {
	if n.Labels {
		return "ConfigMap or Secret"
	}
	return n.Kind.String()
}

// Named are the entries of all lists, without duplicates, and the selector by labels.
func (p Policy) Named() []NamedSource {
	named := p.NamedWhere(func(source.Kind, annotations.NamedEntry) bool { return true })
	if s := p.sources.selector; s != nil {
		named = append(named, NamedSource{Text: s.Text, Expression: true, Labels: true})
	}
	return named
}

// NamedWhere are the wanted entries, without duplicates.
func (p Policy) NamedWhere(wanted func(source.Kind, annotations.NamedEntry) bool) []NamedSource {
	var named []NamedSource
	seen := map[NamedSource]struct{}{}
	for _, kind := range source.Kinds() {
		for _, entry := range p.of(kind).entries.All() {
			source := NamedSource{Kind: kind, Text: entry.Text, Expression: entry.Pattern != nil && !annotations.IsObjectName(entry.Text)}
			if _, twice := seen[source]; !twice && wanted(kind, entry) {
				seen[source] = struct{}{}
				named = append(named, source)
			}
		}
	}
	return named
}

// ExactNames returns the names of a kind that match only one source, in the order of the
// annotation. It excludes names with a special character of regular expressions, such as a dot, and
// the sources of other namespaces.
func (p *Policy) ExactNames(kind source.Kind) []string {
	return p.entryTexts(kind, func(e annotations.NamedEntry) bool { return e.Pattern == nil && !strings.Contains(e.Text, "/") })
}

// Patterns returns the named entries of a kind that can match several sources.
func (p *Policy) Patterns(kind source.Kind) []string {
	return p.entryTexts(kind, func(e annotations.NamedEntry) bool { return e.Pattern != nil })
}

// Foreign returns the entries that name sources of other namespaces; nil for most workloads.
func (p *Policy) Foreign() []source.LocalKey {
	var all []source.LocalKey
	for i, kind := range source.Kinds() {
		list := p.kinds[i].entries
		if list == nil {
			continue
		}
		for _, at := range list.Foreign {
			all = append(all, source.LocalKey{Kind: kind, Name: list.Entries[at].Text})
		}
	}
	return all
}

// CountNames returns the number of ExactNames of all kinds, and whether there are Patterns.
func (p *Policy) CountNames() (names int, patterns bool) {
	for _, kind := range p.kinds {
		if kind.entries != nil {
			names += len(kind.entries.Entries) - len(kind.entries.Patterns) - len(kind.entries.Foreign)
			patterns = patterns || len(kind.entries.Patterns) > 0
		}
	}
	return names, patterns
}

func (p *Policy) entryTexts(kind source.Kind, wanted func(annotations.NamedEntry) bool) []string {
	var texts []string
	for _, entry := range p.of(kind).entries.All() {
		if wanted(entry) {
			texts = append(texts, entry.Text)
		}
	}
	return texts
}
