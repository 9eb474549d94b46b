package state

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// mostGone bounds the deleted sources in memory. For any others, the ledgers of the workloads still
// contain the digests. Only the time of the deletion is lost, and then the Pods are listed.
const mostGone = 4096

// keepGone keeps a deleted source in case it is recreated.
func (s *State) keepGone(src sourceRecord) {
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
	maps.DeleteFunc(s.gone, func(key source.Key, gone sourceRecord) bool {
		return gone.departure.Version < middle && key != src.Key
	})
}

// matched is the policy of a workload that each source of its namespace is matched against.
type matched struct {
	policy     policy.Policy
	references []workload.Reference
}

func (a *matched) covers(key source.LocalKey, labels source.Labels) bool {
	w := workload.Workload{References: a.references}
	_, refers := w.Reference(key)
	return refers || a.policy.Names(key) || labels.MatchedBy(a.policy.SelectorFor(key.Kind))
}

// unlinked is the previous version of a workload that sources may no longer concern.
type unlinked struct {
	matched
	namespace string
	links     links
}

// missed reports whether a workload references, names or selects a source that does not exist.
func (s *State) missed(key source.Key) bool {
	s.mu.RLock()
	referred := len(s.index.bySource[key]) > 0
	candidates := s.matchedIn(key.Namespace)
	src, _ := s.known(key)
	s.mu.RUnlock()
	return referred || covered(candidates, key, src.Annotations.Labels)
}

// matchedIn returns the workloads of a namespace that each source is matched against. The caller
// does that without the lock.
func (s *State) matchedIn(namespace string) []matched {
	all := make([]matched, 0, len(s.index.trying[namespace]))
	for key := range s.index.trying[namespace] {
		if w, ok := s.workloads[key]; ok {
			all = append(all, matched{w.Policy, w.References})
		}
	}
	return all
}

func covered(by []matched, key source.Key, labels source.Labels) bool {
	return slices.ContainsFunc(by, func(a matched) bool { return a.covers(key.Local(), labels) })
}

// unlink removes a workload from the index before it is changed or forgotten, and keeps its
// previous version for forgetGone.
func (s *State) unlink(w *workloadRecord) {
	s.index.unlink(w.Key, w.links)
	if len(s.gone) > 0 {
		s.unlinked = append(s.unlinked, unlinked{matched{w.Policy, w.References}, w.Key.Namespace, w.links})
	}
}

// mostTries bounds the time to find the workloads that miss deleted sources. Beyond it, these
// sources are forgotten, as beyond mostGone.
const mostTries = 4096

// forgetGone forgets deleted sources that no longer concern any workload. If such a source is
// recreated and used later, no Pod has ever had its earlier data. Callers do not hold the lock.
func (s *State) forgetGone() {
	lost, trying := s.lost()
	tries := 0
	maps.DeleteFunc(lost, func(key source.Key, l *lostSource) bool {
		if !l.exactly && !covered(l.before, key, l.labels) {
			return true
		}
		tries += len(trying[key.Namespace])
		return tries <= mostTries && covered(trying[key.Namespace], key, l.labels)
	})
	if len(lost) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, l := range lost {
		if gone, ok := s.gone[key]; ok && gone.departure == l.departure && len(s.index.bySource[key]) == 0 {
			delete(s.gone, key)
		}
	}
}

// lostSource is a deleted source that may have lost the last workload that it concerned.
type lostSource struct {
	departure *reload.Departure
	labels    source.Labels
	// exactly reports whether it concerned a workload that was changed or forgotten. Before are the
	// workloads that have to be matched to find that out.
	exactly bool
	before  []matched
}

// lost returns such sources, with the workloads that they may still concern.
func (s *State) lost() (map[source.Key]*lostSource, map[string][]matched) {
	s.mu.RLock()
	nothing := len(s.unlinked) == 0
	s.mu.RUnlock()
	if nothing {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all, trying := map[source.Key]*lostSource{}, map[string][]matched{}
	of := func(key source.Key, gone sourceRecord) *lostSource {
		if all[key] == nil {
			all[key] = &lostSource{departure: gone.departure, labels: gone.Annotations.Labels}
		}
		return all[key]
	}
	for i := range s.unlinked {
		u := &s.unlinked[i]
		u.links.each(func(local source.LocalKey) {
			if gone, ok := s.gone[local.In(u.namespace).Origin()]; ok {
				of(gone.Key, gone).exactly = true
			}
		})
		if !u.links.tries {
			continue
		}
		for key, gone := range s.gone {
			if u.links.mayReach(u.namespace, key) {
				l := of(key, gone)
				l.before = append(l.before, u.matched)
			}
		}
	}
	s.unlinked = nil
	for key := range all {
		if _, done := trying[key.Namespace]; !done {
			trying[key.Namespace] = s.matchedIn(key.Namespace)
		}
	}
	return all, trying
}
