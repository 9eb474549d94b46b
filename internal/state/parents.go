package state

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Some workloads are made by another one, which takes back what is changed of them. If that is known here, it is rolled in
// their place.

// LeftTo returns the workload that this one is left to, if there is one.
func (s *State) LeftTo(key workload.Key) (workload.Key, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w, ok := s.workloads[key]
	if !ok {
		return workload.Key{}, false
	}
	return s.leftTo(&w.Workload)
}

func (s *State) leftTo(w *workload.Workload) (workload.Key, bool) {
	if w.Parent == nil {
		return workload.Key{}, false
	}
	parent, ok := s.workloads[w.Parent.Key]
	if ok {
		return w.Parent.Key, w.Parent.Is(parent.UID)
	}
	borrower, ok := s.borrowers[w.Parent.Key]
	return w.Parent.Key, ok && w.Parent.Is(borrower.UID)
}

// Children returns what a workload makes.
func (s *State) Children(key workload.Key) []workload.Key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Keys(s.children[key]))
}

func (s *State) orphan(w *workload.Workload) {
	if w.Parent != nil {
		drop(s.children, w.Parent.Key, w.Key)
	}
}
