package state

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// PutNamespace keeps whether a namespace is being deleted.
func (s *State) PutNamespace(name string, terminating bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
}

// selection is since when a namespace is selected, as far as that shows.
type selection struct {
	// version is the one in which it was seen to be, 0 if it was before; at is the newest time of a manager of its labels.
	version uint64
	at      time.Time
}

// SelectNamespace keeps that a namespace is selected, and returns its workloads if it was not before. Version is 0 for one that
// was selected before anybody watched. Labelled is when its labels were last written, at the latest.
func (s *State) SelectNamespace(name string, version uint64, labelled time.Time) []workload.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, before := s.selected[name]; before {
		return nil
	}
	s.selected[name] = selection{version, labelled}
	var found []workload.Key
	for key := range s.workloads {
		if key.Namespace == name {
			found = append(found, key)
		}
	}
	return found
}

// DeselectNamespace keeps that a namespace is not selected.
func (s *State) DeselectNamespace(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.selected, name)
}

// Selected reports whether a namespace is selected. One that was never put is not.
func (s *State) Selected(namespace string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.selected[namespace]
	return ok
}

// Terminating reports whether a namespace is being deleted. Of one that was never put it is not known, and false.
func (s *State) Terminating(namespace string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.terminating[namespace]
	return ok
}
