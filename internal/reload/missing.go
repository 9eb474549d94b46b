package reload

import (
	"slices"
	"sync"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// MissingSource is a source that a workload requires and that does not exist.
type MissingSource struct {
	Key source.Key
	// Referenced reports whether the pod template references it, so that no Pod can start.
	// Otherwise only the annotations name it.
	Referenced bool
	// Deleted reports whether it is known to have existed, so that its name is not a typo.
	Deleted bool
	// Reloads reports whether creating it again with other data reloads the workload.
	Reloads bool
}

// Missing are the sources that the workload requires and that do not exist, those that its pod
// template references first. It is unknown which sources exist of a kind that is not watched, so
// they are never missing.
//
// A source is not required if the template references it as optional, or if the workload is a Job,
// which may not start Pods any more.
func (f *Facts) Missing() []MissingSource {
	there, former := f.existing(), sync.OnceValue(f.former)
	var missing []MissingSource
	for _, ref := range f.Workload.References {
		if _, exists := there[ref.Key]; !exists && f.isRequired(&ref) {
			missing = append(missing, MissingSource{Key: ref.Key.In(f.Workload.Key.Namespace), Referenced: true})
		}
	}
	for _, n := range f.withoutSource(there, former) {
		key := source.LocalKey{Kind: n.Kind, Name: n.Text}
		if _, refers := f.Workload.Reference(key); !refers && !n.Expression && !key.IsForeign() {
			missing = append(missing, MissingSource{Key: key.In(f.Workload.Key.Namespace)})
		}
	}
	concerns := missing[:0]
	for _, m := range missing {
		inLedger, was := former()[m.Key.Local()]
		m.Deleted, m.Reloads = was, inLedger && !f.OnDelete && !f.NotifyOnly
		// The labels and annotations of a source that does not exist are unknown. If it is in the
		// ledger, they selected it.
		unknown := m.Referenced && f.Selective && !inLedger
		if !unknown && f.Workload.Verdict(m.Key, f.asInLedger(m.Key.Local(), inLedger), f.AutoReloadAll).Concerned {
			concerns = append(concerns, m)
		}
	}
	return concerns
}

// asInLedger are the annotations and labels of a source that does not exist, as far as its entry in
// the ledger shows that they selected it.
func (f *Facts) asInLedger(key source.LocalKey, inLedger bool) source.Annotations {
	all := source.Annotations{Match: inLedger}
	if inLedger && f.Workload.Policy.Selector() != nil {
		if known := f.known(); f.selectedByLabels(key, &known.ledger) {
			all.Labels = source.AnyLabels()
		}
	}
	return all
}

// Unmatched are the expressions in the lists of the workload that match no source, and its selector
// by labels if it selects none. An expression whose sources were deleted may match none on purpose.
func (f *Facts) Unmatched() []policy.NamedSource {
	unmatched := f.withoutSource(f.existing(), sync.OnceValue(f.former))
	unmatched = slices.DeleteFunc(unmatched, func(n policy.NamedSource) bool { return !n.Expression })
	if f.selectsNothing() {
		unmatched = append(unmatched, policy.NamedSource{Text: f.Workload.Policy.Selector().Text, Expression: true, Labels: true})
	}
	return unmatched
}

// selectsNothing reports whether the workload has a selector by labels that selects no source now,
// and selected none before.
func (f *Facts) selectsNothing() bool {
	selector := f.Workload.Policy.Selector()
	if selector == nil || !f.isWatched(source.ConfigMap) || !f.isWatched(source.Secret) {
		return false
	}
	if slices.ContainsFunc(f.Concerns, func(c Concern) bool {
		return !c.Source.Key.IsForeign() && c.Source.Annotations.Labels.MatchedBy(selector)
	}) {
		return false
	}
	// Entries from another selector do not show that this one has selected anything.
	known := f.known()
	for key, inLedger := range f.former() {
		_, refers := f.Workload.Reference(key)
		if !refers && !f.Workload.Policy.Names(key) && (!inLedger || f.selectedByLabels(key, &known.ledger)) {
			return false
		}
	}
	return true
}

func (f *Facts) isRequired(ref *workload.Reference) bool {
	once := f.Workload.Runs != nil && f.Workload.Runs.Once
	return f.isWatched(ref.Key.Kind) && !once && !workload.Optional(ref.Uses)
}

// withoutSource are the entries of the lists that match no source, except for expressions that
// matched a former one.
func (f *Facts) withoutSource(there map[source.LocalKey]struct{}, former func() map[source.LocalKey]bool) []policy.NamedSource {
	// Only expressions need the names, and few workloads have any.
	names := sync.OnceValue(func() map[source.Kind][]string { return namesByKind(there) })
	formerNames := sync.OnceValue(func() map[source.Kind][]string { return namesByKind(former()) })
	return f.Workload.Policy.NamedWhere(func(kind source.Kind, entry annotations.NamedEntry) bool {
		key := source.LocalKey{Kind: kind, Name: entry.Text}
		_, exists := there[key]
		switch {
		case exists || !f.isWatched(kind):
			return false
		case entry.Pattern == nil:
			return true
		case slices.ContainsFunc(names()[kind], entry.Pattern.Matches):
			return false
		}
		_, was := former()[key]
		return was || !slices.ContainsFunc(formerNames()[kind], entry.Pattern.Matches)
	})
}

func namesByKind[V any](sources map[source.LocalKey]V) map[source.Kind][]string {
	names := map[source.Kind][]string{}
	for key := range sources {
		names[key.Kind] = append(names[key.Kind], key.Name)
	}
	return names
}

// former are the sources that existed while the workload used them, each with whether the ledger
// has the data that its Pods started with.
func (f *Facts) former() map[source.LocalKey]bool {
	former := map[source.LocalKey]bool{}
	for key, left := range f.Gone {
		concerned := f.Workload.Verdict(left.Source.Key, left.Source.Annotations, f.AutoReloadAll).Concerned
		if concerned && f.usedUntil(&Concern{Source: left.Source, Seen: left.Seen}, left.Version) {
			former[key] = false
		}
	}
	for key := range f.known().ledger.Entries {
		former[key] = true
	}
	return former
}

// isWatched reports whether it is known which sources of a kind exist.
func (f *Facts) isWatched(kind source.Kind) bool {
	return kind.Known() && !kind.Reported() && !slices.Contains(f.Unread, kind)
}

// Awaited are the sources that do not exist, that the workload references, and that will concern it
// once they exist.
func (f *Facts) Awaited() []Concern {
	there := f.existing()
	var awaited []Concern
	for _, ref := range f.Workload.References {
		if _, exists := there[ref.Key]; exists {
			continue
		}
		src := ref.Key.In(f.Workload.Key.Namespace)
		if v := f.Workload.Verdict(src, source.Annotations{}, f.AutoReloadAll); v.Concerned {
			awaited = append(awaited, Concern{Source: source.Source{Key: src}, Verdict: v, Deleted: true, Uses: ref.Uses})
		}
	}
	return awaited
}

// CompareConcerns orders by kind and name.
func CompareConcerns(a, b Concern) int {
	return source.CompareLocalKeys(a.Source.Key.Local(), b.Source.Key.Local())
}

// existing are the sources that exist, even if they do not concern the workload.
func (f *Facts) existing() map[source.LocalKey]struct{} {
	l := f.lookupTables()
	if l.there == nil {
		l.there = f.allExisting()
	}
	return l.there
}

func (f *Facts) allExisting() map[source.LocalKey]struct{} {
	there := make(map[source.LocalKey]struct{}, len(f.Spared)+len(f.Unselected)+len(f.Concerns))
	for _, keys := range [][]source.LocalKey{f.Spared, f.Unselected} {
		for _, key := range keys {
			there[key] = struct{}{}
		}
	}
	for _, c := range f.Concerns {
		there[c.Source.Key.Local()] = struct{}{}
	}
	return there
}
