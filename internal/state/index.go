package state

import (
	"slices"

	"github.com/reroll-dev/reroll/internal/reload"
)

// links are the sources that may concern one workload, as far as its own object tells.
type links struct {
	// exact are those it refers to or names.
	exact []reload.LocalKey
	// patterns are the kinds of which it names some by an expression, so that any new one may concern it.
	patterns []string
}

func linksOf(w *reload.Workload, autoReloadAll bool) links {
	var l links
	if !w.Policy.OptedIn(autoReloadAll) && w.LedgerText == "" {
		// It stays known, but no event of a source has to look it up. One with a ledger was opted in once, and what
		// the ledger says of sources that do not concern it any more has to go.
		return l
	}
	for _, ref := range w.References {
		l.exact = append(l.exact, ref.Key)
	}
	for _, kind := range reload.SourceKinds() {
		for _, name := range w.Policy.ExactNames(kind) {
			if key := (reload.LocalKey{Kind: kind, Name: name}); !slices.Contains(l.exact, key) {
				l.exact = append(l.exact, key)
			}
		}
		for _, text := range w.Policy.Patterns(kind) {
			l.patterns = append(l.patterns, kind.Type()+" "+text)
		}
	}
	return l
}

func (l links) equal(other links) bool {
	return slices.Equal(l.exact, other.exact) && slices.Equal(l.patterns, other.patterns)
}

type keys map[reload.WorkloadKey]struct{}

// index finds workloads by source and sources by workload.
type index struct {
	bySource map[reload.SourceKey]keys
	// patterned are, by namespace, the workloads that name sources by an expression.
	patterned map[string]keys
	// names are, by namespace, the sources that exist: what an expression is tried on.
	names map[string]map[reload.LocalKey]struct{}
}

func newIndex() index {
	return index{
		bySource:  map[reload.SourceKey]keys{},
		patterned: map[string]keys{},
		names:     map[string]map[reload.LocalKey]struct{}{},
	}
}

func (x *index) link(w reload.WorkloadKey, l links) {
	for _, key := range l.exact {
		add(x.bySource, key.In(w.Namespace), w)
	}
	if len(l.patterns) > 0 {
		add(x.patterned, w.Namespace, w)
	}
}

func (x *index) unlink(w reload.WorkloadKey, l links) {
	for _, key := range l.exact {
		drop(x.bySource, key.In(w.Namespace), w)
	}
	if len(l.patterns) > 0 {
		drop(x.patterned, w.Namespace, w)
	}
}

func (x *index) addSource(key reload.SourceKey) { add(x.names, key.Namespace, key.Local()) }

func (x *index) dropSource(key reload.SourceKey) { drop(x.names, key.Namespace, key.Local()) }

// candidates are the workloads that a source may concern.
func (x *index) candidates(key reload.SourceKey) []reload.WorkloadKey {
	var found []reload.WorkloadKey
	for w := range x.bySource[key] {
		found = append(found, w)
	}
	for w := range x.patterned[key.Namespace] {
		if _, twice := x.bySource[key][w]; !twice {
			found = append(found, w)
		}
	}
	return found
}

// sourcesFor are the sources that may concern a workload, whether they exist or not.
func (x *index) sourcesFor(namespace string, l links) []reload.SourceKey {
	var found []reload.SourceKey
	for _, key := range l.exact {
		found = append(found, key.In(namespace))
	}
	if len(l.patterns) > 0 {
		for key := range x.names[namespace] {
			if !slices.Contains(l.exact, key) {
				found = append(found, key.In(namespace))
			}
		}
	}
	return found
}

func add[K, V comparable, M ~map[V]struct{}](to map[K]M, key K, value V) {
	if to[key] == nil {
		to[key] = M{}
	}
	to[key][value] = struct{}{}
}

func drop[K, V comparable, M ~map[V]struct{}](from map[K]M, key K, value V) {
	delete(from[key], value)
	if len(from[key]) == 0 {
		delete(from, key)
	}
}
