package state

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// NewWithoutHistory returns an empty state that always is as after a start: each version of an object
// counts as the first one. A process that only explains decisions gives the same answers with it as a
// command that has just read the cluster.
func NewWithoutHistory(autoReloadAll bool) *State {
	s := New(autoReloadAll)
	s.noHistory = true
	return s
}

// TrackChanges records from now on which workloads may have another answer, for a process that keeps
// the answers about all of them. Otherwise nothing is recorded.
func (s *State) TrackChanges() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		return
	}
	s.changed = keys{}
	for key := range s.workloads {
		s.changed[key] = struct{}{}
	}
	for key := range s.templateUsers {
		s.changed[key] = struct{}{}
	}
}

// TakeChanges returns the workloads that changed since the last call, or whose sources did. Some of
// them may be deleted.
func (s *State) TakeChanges() []workload.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.changed) == 0 {
		return nil
	}
	taken := slices.Collect(maps.Keys(s.changed))
	s.changed = keys{}
	return taken
}

// noteChange records that a workload changed, with the owner that is rolled instead and the
// workloads that it owns: whether these are rolled depends on it. The caller holds the lock.
func (s *State) noteChange(key workload.Key) {
	if s.changed == nil {
		return
	}
	s.changed[key] = struct{}{}
	for child := range s.children[key] {
		s.changed[child] = struct{}{}
	}
}

// noteSource records that a source changed. The caller holds the lock.
func (s *State) noteSource(key source.Key) {
	if s.changed == nil {
		return
	}
	for w := range s.index.bySource[key] {
		s.changed[w] = struct{}{}
	}
	for w := range s.index.trying[key.Namespace] {
		s.changed[w] = struct{}{}
	}
}

// noteNamespace records that the workloads of a namespace may have another answer. The caller holds
// the lock.
func (s *State) noteNamespace(name string) {
	if s.changed == nil {
		return
	}
	for key := range s.workloads {
		if key.Namespace == name {
			s.changed[key] = struct{}{}
		}
	}
}
