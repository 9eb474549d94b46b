package state

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Some workloads are created by another workload, whose controller reverts their changes. If Reroll
// rolls that kind of owner, it rolls the owner instead.

// RolledOwner returns the owner that is rolled instead of a workload, if there is one.
func (s *State) RolledOwner(key workload.Key) (workload.Key, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w, ok := s.workloads[key]
	if !ok {
		return workload.Key{}, false
	}
	return s.rolledOwner(&w.Workload)
}

func (s *State) rolledOwner(w *workload.Workload) (workload.Key, bool) {
	return w.RolledOwner(func(parent workload.Key) (types.UID, bool) {
		if known, ok := s.workloads[parent]; ok {
			return known.UID, true
		}
		user, ok := s.templateUsers[parent]
		return user.UID, ok
	})
}

// Children returns the workloads that a workload owns.
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
