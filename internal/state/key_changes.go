package state

import (
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// keyChanges are the keys of a source that an event changes. Users control how many these are, and
// how many keys a workload lists. So long lists are compared before the event holds the lock.
type keyChanges struct {
	// before is the digest of the earlier data.
	before digest.Digest
	keys   []string
	// compared is, for long lists, whether one of the keys counts.
	compared map[*source.Keys]bool
}

// fewKeys is how many keys are compared with the lock.
const fewKeys = 16

func changesOf(src, before *source.Source) keyChanges {
	return keyChanges{before: before.Digest, keys: src.ChangedKeys(before)}
}

// count reports whether a change of keys counts.
func (c *keyChanges) count(keys *source.Keys) bool {
	if counts, compared := c.compared[keys]; compared {
		return counts
	}
	return keys.HasAny(c.keys)
}

// compareKeys compares a source with what is known of it.
func (s *State) compareKeys(src *source.Source) keyChanges {
	before, ok := s.latest(src.Key)
	if !ok || before.Digest == src.Digest || !src.Key.Kind.HasKeys() {
		return keyChanges{}
	}
	c := changesOf(src, &before)
	s.matchAhead(src.Key)
	if len(c.keys) > fewKeys {
		c.compared = s.longLists(src)
		for keys := range c.compared {
			c.compared[keys] = keys.HasAny(c.keys)
		}
	}
	return c
}

// matchAhead matches a source with the expressions of the workloads for which not all of its keys may
// count. So the answers are known when the event asks for them with the lock.
func (s *State) matchAhead(key source.Key) {
	for _, expressions := range s.restricting(key) {
		expressions.Names(key.Local())
	}
}

// restricting are the policies of these workloads.
func (s *State) restricting(key source.Key) (found []policy.Policy) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for w := range s.index.trying[key.Namespace] {
		if known := s.workloads[w]; known.links.keys[key.Local()] != nil {
			found = append(found, known.Policy)
		}
	}
	return found
}

// latest is what was known of a source last, also if it was deleted since.
func (s *State) latest(key source.Key) (source.Source, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if src, ok := s.index.source(key); ok {
		return src.Source, true
	}
	gone, ok := s.gone.get(key)
	return gone.Source, ok
}

// longLists are the keys that count for workloads which a source may concern, if they are many.
func (s *State) longLists(src *source.Source) map[*source.Keys]bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	long := map[*source.Keys]bool{}
	for _, key := range s.index.candidates(src.Key) {
		if keys := s.workloads[key].keysOf(src, s.keys); keys != nil && keys.Len() > fewKeys {
			long[keys] = false
		}
	}
	return long
}
