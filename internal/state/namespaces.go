package state

import "github.com/reroll-dev/reroll/internal/reload"

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

// SelectNamespace keeps whether a namespace is selected, and returns its workloads if it was not before and is now.
func (s *State) SelectNamespace(name string, selected bool) []reload.WorkloadKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !selected {
		delete(s.selected, name)
		return nil
	}
	if _, before := s.selected[name]; before {
		return nil
	}
	s.selected[name] = struct{}{}
	var found []reload.WorkloadKey
	for key := range s.workloads {
		if key.Namespace == name {
			found = append(found, key)
		}
	}
	return found
}

// Selected tells whether a namespace is selected. One that was never put is not.
func (s *State) Selected(namespace string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.selected[namespace]
	return ok
}

// Terminating tells whether a namespace is being deleted. Of one that was never put it is not known, and false.
func (s *State) Terminating(namespace string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.terminating[namespace]
	return ok
}
