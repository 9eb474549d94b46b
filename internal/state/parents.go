package state

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

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
	return w.LeftTo(func(parent workload.Key) (types.UID, bool) {
		if known, ok := s.workloads[parent]; ok {
			return known.UID, true
		}
		user, ok := s.templateUsers[parent]
		return user.UID, ok
	})
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
