package state

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// PutNamespace stores whether a namespace is being deleted.
func (s *State) PutNamespace(name string, terminating bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, before := s.terminating[name]; before != terminating {
		s.noteNamespace(name)
	}
	if !terminating {
		delete(s.terminating, name)
		return
	}
	s.terminating[name] = struct{}{}
}

// KeepNamespaces forgets the namespaces that a complete snapshot did not name.
func (s *State) KeepNamespaces(exists func(name string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.terminating {
		if !exists(name) {
			delete(s.terminating, name)
		}
	}
	for name := range s.selected {
		if !exists(name) {
			delete(s.selected, name)
		}
	}
	for name := range s.defaults {
		if !exists(name) {
			delete(s.defaults, name)
		}
	}
	s.inheritPending()
}

// selection is since when a namespace is selected.
type selection struct {
	// version is the version in which a watch has shown that, 0 if it was selected before. At is
	// the newest time of a field manager of its labels.
	version uint64
	at      time.Time
}

// SelectNamespace records that a namespace is selected, and returns its workloads, and those that
// name sources in it, if it was not selected before. Version is 0 if it was selected before the
// watch began. Labelled is the latest time at which its labels can have been written.
func (s *State) SelectNamespace(name string, version uint64, labelled time.Time) []workload.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, before := s.selected[name]; before {
		return nil
	}
	s.selected[name] = selection{version, labelled}
	s.noteNamespace(name)
	var found []workload.Key
	for key := range s.workloads {
		if key.Namespace == name {
			found = append(found, key)
		}
	}
	return append(found, s.index.namingFrom(name)...)
}

// DeselectNamespace records that a namespace is not selected.
func (s *State) DeselectNamespace(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, before := s.selected[name]; before {
		s.noteNamespace(name)
	}
	delete(s.selected, name)
}

// Selected reports whether a namespace is selected. An unknown namespace is not.
func (s *State) Selected(namespace string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.selected[namespace]
	return ok
}

// Terminating reports whether a namespace is being deleted. It returns false for an unknown
// namespace.
func (s *State) Terminating(namespace string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.terminating[namespace]
	return ok
}
