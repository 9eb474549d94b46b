package state

import (
	"iter"
	"slices"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// links are the sources that may concern one workload, as far as its own object shows.
type links struct {
	// exact are the sources that it references or names, if they are few.
	exact []source.LocalKey
	// tries reports whether each source of the namespace has to be matched: the workload names some
	// by an expression, or too many.
	tries bool
}

// mostExact bounds the entries of one workload in the index, and the time for which adding them
// holds the lock. A workload with more sources, which is rare, is found by matching its lists.
const mostExact = 64

func linksOf(w *workload.Workload, autoReloadAll bool) links {
	var l links
	if !w.Policy.OptedIn(autoReloadAll) && w.LedgerText == "" {
		// The workload stays known, but no event of a source has to find it. A workload with a
		// ledger was opted in before, and sources that no longer concern it have to be removed from
		// its ledger.
		return l
	}
	names, patterns := w.Policy.CountNames()
	l.tries = patterns
	if len(w.References)+names > mostExact {
		l.tries = true
		return l
	}
	for _, ref := range w.References {
		l.exact = append(l.exact, ref.Key)
	}
	for _, kind := range source.Kinds() {
		for _, name := range w.Policy.ExactNames(kind) {
			if key := (source.LocalKey{Kind: kind, Name: name}); !slices.Contains(l.exact, key) {
				l.exact = append(l.exact, key)
			}
		}
	}
	return l
}

func (l links) equal(other links) bool {
	return l.tries == other.tries && slices.Equal(l.exact, other.exact)
}

// relinked reports whether other sources than before may concern a workload.
func relinked(before, now *workloadRecord) bool {
	switch {
	case !before.links.equal(now.links):
		return true
	case !now.links.tries:
		return false
	default:
		return !before.Policy.SameSources(now.Policy) ||
			!slices.EqualFunc(before.References, now.References, func(a, b workload.Reference) bool { return a.Key == b.Key })
	}
}

type keys map[workload.Key]struct{}

// index finds workloads by source and sources by workload.
type index struct {
	bySource map[source.Key]keys
	// trying are, by namespace, the workloads that any source may concern.
	trying map[string]keys
	// sources are the existing sources, by namespace, because these workloads are matched against
	// all of a namespace.
	sources map[string]map[source.LocalKey]*sourceRecord
}

func newIndex() index {
	return index{
		bySource: map[source.Key]keys{},
		trying:   map[string]keys{},
		sources:  map[string]map[source.LocalKey]*sourceRecord{},
	}
}

func (x *index) link(w workload.Key, l links) {
	for _, key := range l.exact {
		add(x.bySource, key.In(w.Namespace), w)
	}
	if l.tries {
		add(x.trying, w.Namespace, w)
	}
}

func (x *index) unlink(w workload.Key, l links) {
	for _, key := range l.exact {
		drop(x.bySource, key.In(w.Namespace), w)
	}
	if l.tries {
		drop(x.trying, w.Namespace, w)
	}
}

// source returns an existing source.
func (x *index) source(key source.Key) (*sourceRecord, bool) {
	src, ok := x.sources[key.Namespace][key.Local()]
	return src, ok
}

// allSources iterates over the keys of the existing sources. They may be dropped meanwhile.
func (x *index) allSources() iter.Seq[source.Key] {
	return func(yield func(source.Key) bool) {
		for namespace, of := range x.sources {
			for local := range of {
				if !yield(local.In(namespace)) {
					return
				}
			}
		}
	}
}

func (x *index) addSource(src *sourceRecord) {
	of := x.sources[src.Key.Namespace]
	if of == nil {
		of = map[source.LocalKey]*sourceRecord{}
		x.sources[src.Key.Namespace] = of
	}
	of[src.Key.Local()] = src
}

func (x *index) dropSource(key source.Key) {
	delete(x.sources[key.Namespace], key.Local())
	if len(x.sources[key.Namespace]) == 0 {
		delete(x.sources, key.Namespace)
	}
}

// candidates are the workloads that a source may concern.
func (x *index) candidates(key source.Key) []workload.Key {
	var found []workload.Key
	for w := range x.bySource[key] {
		found = append(found, w)
	}
	for w := range x.trying[key.Namespace] {
		if _, twice := x.bySource[key][w]; !twice {
			found = append(found, w)
		}
	}
	return found
}

// links reports whether a workload references a source or may name it.
func (x *index) links(key source.Key, w workload.Key) bool {
	if _, exact := x.bySource[key][w]; exact {
		return true
	}
	_, tries := x.trying[key.Namespace][w]
	return tries
}

// sourcesFor are the existing sources that may concern a workload.
func (x *index) sourcesFor(w *workloadRecord) []gathered {
	there := x.sources[w.Key.Namespace]
	if !w.links.tries {
		found := make([]gathered, 0, len(w.links.exact))
		for _, key := range w.links.exact {
			if src, ok := there[key]; ok {
				found = append(found, gathered{src, w.away[key]})
			}
		}
		return found
	}
	found := make([]gathered, 0, len(there))
	for key, src := range there {
		found = append(found, gathered{src, w.away[key]})
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
