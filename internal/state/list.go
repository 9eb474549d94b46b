package state

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Keys returns the known workloads of a namespace, or of all if it is empty, with those that use the
// pod template of another one.
func (s *State) Keys(namespace string) []workload.Key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]workload.Key, 0, len(s.workloads))
	for key := range s.workloads {
		if namespace == "" || key.Namespace == namespace {
			all = append(all, key)
		}
	}
	for key := range s.templateUsers {
		if namespace == "" || key.Namespace == namespace {
			all = append(all, key)
		}
	}
	return all
}

// Sources returns the keys of the existing sources of a namespace, or of all if it is empty.
func (s *State) Sources(namespace string) []source.Key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if namespace == "" {
		return slices.Collect(s.index.allSources())
	}
	var all []source.Key
	for local := range s.index.sources[namespace] {
		all = append(all, local.In(namespace))
	}
	return all
}

// AllDefaults returns what the annotations of all namespaces set.
func (s *State) AllDefaults() map[string]Defaults {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.defaults)
}
