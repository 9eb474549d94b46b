package state

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// foreignOf are the sources of other namespaces that a workload names. Whether they allow that is
// decided with the other facts.
func foreignOf(w *workload.Workload) []source.LocalKey {
	return slices.DeleteFunc(w.Policy.Foreign(), func(key source.LocalKey) bool { return !key.In(w.Key.Namespace).IsForeign() })
}

// withForeign adds the existing sources of other namespaces that a workload names.
func (x *index) withForeign(w *workloadRecord, found []gathered) []gathered {
	for _, key := range w.links.foreign {
		if src, ok := x.source(key.In(w.Key.Namespace)); ok {
			found = append(found, gathered{sourceRecord: src, away: w.away[key]})
		}
	}
	return found
}

// seenBy is a source as a workload sees it.
func (r *sourceRecord) seenBy(w workload.Key) *sourceRecord {
	key := r.Key.SeenFrom(w.Namespace)
	if key == r.Key {
		return r
	}
	seen := *r
	seen.Key = key
	return &seen
}

// namingFrom returns the workloads of other namespaces that name sources of a namespace.
func (x *index) namingFrom(namespace string) []workload.Key {
	return slices.Collect(maps.Keys(x.naming[namespace]))
}
