package state

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
}

// Terminating tells whether a namespace is being deleted. Of one that was never put it is not known, and false.
func (s *State) Terminating(namespace string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.terminating[namespace]
	return ok
}
