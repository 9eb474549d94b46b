package state

import (
	"iter"
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// links are the sources that may concern one workload, as far as its own object shows.
type links struct {
	// exact are the sources that it references or names, if they are few.
	exact []source.LocalKey
	// tries reports whether each source of the namespace has to be matched: the workload names some
	// by an expression, or too many, or selects some by their labels.
	tries bool
	// keys are the keys that count of the sources of which not all do.
	keys map[source.LocalKey]*source.Keys
	// cluster reports whether a workload that tries also references sources without a namespace.
	cluster bool
	// unions are the unions of bundles that it references.
	unions []source.LocalKey
	// foreign are the sources of other namespaces that it names.
	foreign []source.LocalKey
}

// each iterates over all sources that are linked by themselves.
func (l *links) each(yield func(source.LocalKey)) {
	for _, keys := range [...][]source.LocalKey{l.exact, l.foreign} {
		for _, key := range keys {
			yield(key)
		}
	}
}

// mostExact bounds the entries of one workload in the index, and the time for which adding them
// holds the lock. A workload with more sources, which is rare, is found by matching its lists.
const mostExact = 64

func linksOf(w *workload.Workload, autoReloadAll bool, keys policy.KeyMode) links {
	var l links
	if !w.Policy.OptedIn(autoReloadAll) && w.LedgerText == "" {
		// The workload stays known, but no event of a source has to find it. A workload with a
		// ledger was opted in before, and sources that no longer concern it have to be removed from
		// its ledger.
		return l
	}
	l.keys = keysOf(w, keys)
	for _, ref := range w.References {
		if ref.Key.IsUnion() {
			l.unions = append(l.unions, ref.Key)
		}
	}
	l.foreign = foreignOf(w)
	names, patterns := w.Policy.CountNames()
	l.tries = patterns || w.Policy.Selector() != nil || len(w.References)+names > mostExact
	l.cluster = l.tries && slices.ContainsFunc(w.References, func(ref workload.Reference) bool { return ref.Key.Kind.ClusterScoped() })
	if len(w.References)+names > mostExact {
		return l
	}
	l.exact = make([]source.LocalKey, 0, len(w.References)+names)
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
	return l.tries == other.tries && l.cluster == other.cluster && slices.Equal(l.exact, other.exact) && slices.Equal(l.unions, other.unions) && slices.Equal(l.foreign, other.foreign) &&
		maps.EqualFunc(l.keys, other.keys, (*source.Keys).Equal)
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
	// trying are, by namespace, the workloads that any source may concern. Those that sources without
	// a namespace may concern, too, are below the empty name.
	trying map[string]keys
	// naming are, by namespace, the workloads of other ones that name its sources.
	naming map[string]keys
	// unions are the unions of bundles that workloads reference, and bundles are the existing bundles,
	// both by signer.
	unions  map[string]map[source.LocalKey]*union
	bundles map[string]map[source.LocalKey]*sourceRecord
	// sources are the existing sources, by namespace, because these workloads are matched against
	// all of a namespace.
	sources map[string]map[source.LocalKey]*sourceRecord
	// badWindows are those of them whose windows cannot be read.
	badWindows map[string]map[source.LocalKey]struct{}
}

func newIndex() index {
	return index{
		bySource:   map[source.Key]keys{},
		trying:     map[string]keys{},
		naming:     map[string]keys{},
		unions:     map[string]map[source.LocalKey]*union{},
		bundles:    map[string]map[source.LocalKey]*sourceRecord{},
		sources:    map[string]map[source.LocalKey]*sourceRecord{},
		badWindows: map[string]map[source.LocalKey]struct{}{},
	}
}

func (x *index) link(w workload.Key, l links) {
	l.each(func(key source.LocalKey) { add(x.bySource, key.In(w.Namespace).Origin(), w) })
	if l.tries {
		add(x.trying, w.Namespace, w)
	}
	if l.cluster {
		add(x.trying, "", w)
	}
	for _, key := range l.foreign {
		add(x.naming, key.In(w.Namespace).Origin().Namespace, w)
	}
	x.linkUnions(w, l.unions)
}

func (x *index) unlink(w workload.Key, l links) {
	l.each(func(key source.LocalKey) { drop(x.bySource, key.In(w.Namespace).Origin(), w) })
	if l.tries {
		drop(x.trying, w.Namespace, w)
	}
	if l.cluster {
		drop(x.trying, "", w)
	}
	for _, key := range l.foreign {
		drop(x.naming, key.In(w.Namespace).Origin().Namespace, w)
	}
	for _, key := range l.unions {
		if u, ok := x.union(key); ok {
			delete(u.users, w)
		}
	}
}

// source returns an existing source. The key may be that of a workload in another namespace.
func (x *index) source(key source.Key) (*sourceRecord, bool) {
	key = key.Origin()
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
	if known, ok := of[src.Key.Local()]; ok {
		src.Key = known.Key // the answers of expressions share the text of its name
	}
	if src.Bundle != nil {
		x.dropBundle(src.Key)
		put(x.bundles, src.Bundle.Signer, src.Key.Local(), src)
	}
	of[src.Key.Local()] = src
	if src.Annotations.Waves.Waves().BadWindow {
		add(x.badWindows, src.Key.Namespace, src.Key.Local())
	} else {
		drop(x.badWindows, src.Key.Namespace, src.Key.Local())
	}
}

func (x *index) dropSource(key source.Key) {
	drop(x.badWindows, key.Namespace, key.Local())
	x.dropBundle(key)
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

// usersOf are the workloads that sources of a kind without namespaces may concern.
func (x *index) usersOf(kind source.Kind) []workload.Key {
	var found []workload.Key
	for key, users := range x.bySource {
		if key.Kind == kind {
			found = slices.AppendSeq(found, maps.Keys(users))
		}
	}
	return slices.AppendSeq(found, maps.Keys(x.trying[""]))
}

// links reports whether a workload references a source or may name it.
func (x *index) links(key source.Key, w workload.Key) bool {
	if _, exact := x.bySource[key.Origin()][w]; exact {
		return true
	}
	_, tries := x.trying[key.Namespace][w]
	return tries
}

// sourcesFor are the existing sources that may concern a workload.
func (x *index) sourcesFor(w *workloadRecord) []gathered {
	if !w.links.tries {
		found := make([]gathered, 0, len(w.links.exact))
		for _, key := range w.links.exact {
			if src, ok := x.source(key.In(w.Key.Namespace)); ok {
				found = append(found, gathered{sourceRecord: src, away: w.away[key]})
			}
		}
		return x.withForeign(w, found)
	}
	there := x.sources[w.Key.Namespace]
	found := make([]gathered, 0, len(there))
	for key, src := range there {
		found = append(found, gathered{sourceRecord: src, away: w.away[key]})
	}
	if w.links.cluster {
		for _, ref := range w.References {
			if src, ok := x.source(ref.Key.In("")); ok && ref.Key.Kind.ClusterScoped() {
				found = append(found, gathered{sourceRecord: src, away: w.away[ref.Key]})
			}
		}
	}
	return x.withForeign(w, found)
}

func add[K, V comparable, M ~map[V]struct{}](to map[K]M, key K, value V) {
	put(to, key, value, struct{}{})
}

func put[K, V comparable, T any, M ~map[V]T](to map[K]M, key K, value V, of T) {
	if to[key] == nil {
		to[key] = M{}
	}
	to[key][value] = of
}

func drop[K, V comparable, T any, M ~map[V]T](from map[K]M, key K, value V) {
	delete(from[key], value)
	if len(from[key]) == 0 {
		delete(from, key)
	}
}
