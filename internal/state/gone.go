package state

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/reload"
)

// mostGone bounds what is kept of deleted sources. Of one that is not kept, the ledgers of the workloads still tell what it
// was; only when it went is not known any more, and then the pods are asked.
const mostGone = 4096

// keepGone keeps a deleted source for when it comes back, if that would concern anybody.
func (s *State) keepGone(src source) {
	if !s.missed(src.Key) {
		return
	}
	s.gone[src.Key] = src
	if len(s.gone) <= mostGone {
		return
	}
	var departed []uint64
	for _, gone := range s.gone {
		departed = append(departed, gone.departure.Version)
	}
	slices.Sort(departed)
	middle := departed[len(departed)/2]
	maps.DeleteFunc(s.gone, func(key reload.SourceKey, gone source) bool {
		return gone.departure.Version < middle && key != src.Key
	})
}

// missed tells whether a workload refers to a source that is not there, or names it.
func (s *State) missed(key reload.SourceKey) bool {
	if len(s.index.bySource[key]) > 0 {
		return true
	}
	for w := range s.index.patterned[key.Namespace] {
		if known, ok := s.workloads[w]; ok && known.Policy.Names(key.Local()) {
			return true
		}
	}
	return false
}

// forgetGone forgets deleted sources that concern nobody any more: whoever comes to use one that is made again has
// never had what it was before.
func (s *State) forgetGone(namespace string, l links) {
	for _, key := range l.exact {
		if gone := key.In(namespace); !s.missed(gone) {
			delete(s.gone, gone)
		}
	}
	if len(l.patterns) == 0 {
		return
	}
	for key := range s.gone {
		if key.Namespace == namespace && !s.missed(key) {
			delete(s.gone, key)
		}
	}
}
