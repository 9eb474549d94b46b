package state

import (
	"cmp"
	"slices"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// countWaves counts the workloads of a namespace that have a wave other than 0, so that no other
// namespace pays for waves.
func (s *State) countWaves(before, now *workloadRecord) {
	if before != nil && before.Policy.Wave() != 0 {
		s.waved[before.Key.Namespace]--
	}
	if now != nil && now.Policy.Wave() != 0 {
		s.waved[now.Key.Namespace]++
	}
}

// HasWaves reports whether a workload of a namespace has a wave other than 0.
func (s *State) HasWaves(namespace string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.waved[namespace] > 0
}

// Candidates are the workloads that a source may concern.
func (s *State) Candidates(key source.Key) []workload.Key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.index.candidates(key)
}

// FactsAlone returns the facts about a workload without its sources, if one source concerns it.
func (s *State) FactsAlone(key workload.Key, src *source.Source) (reload.Facts, bool) {
	f, ok := s.alone(key, src.Key)
	if !ok || !f.Workload.Judge(src.Key, src.Annotations, s.autoReloadAll).Concerned {
		return reload.Facts{}, false
	}
	return f, true
}

// ReloadBegan is when the latest reload of a workload began, in seconds since 1970; 0 if its ledger
// does not note it.
func (s *State) ReloadBegan(key workload.Key) int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if w, ok := s.workloads[key]; ok {
		return w.ranks.current.Began()
	}
	return 0
}

// LatestReloads are the workloads whose latest reloads began last, at most a number of them.
func (s *State) LatestReloads(most int) []workload.Key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []*workloadRecord
	for _, w := range s.workloads {
		if w.ranks.current.Began() != 0 {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b *workloadRecord) int {
		return cmp.Or(cmp.Compare(b.ranks.current.Began(), a.ranks.current.Began()), workload.CompareKeys(b.Key, a.Key))
	})
	var keys []workload.Key
	for _, w := range all[:min(most, len(all))] {
		keys = append(keys, w.Key)
	}
	return keys
}

func (s *State) alone(key workload.Key, src source.Key) (reload.Facts, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w, ok := s.workloads[key]
	if !ok || !s.index.links(src, key) {
		return reload.Facts{}, false
	}
	if _, owned := s.rolledOwner(&w.Workload); owned {
		return reload.Facts{}, false
	}
	defaults := s.defaults[key.Namespace]
	return reload.Facts{
		Workload: w.Workload, Seen: w.seen, Remembered: w.remembered, OptedInByNamespaceAt: defaults.OptsInSince,
		Settings: reload.Settings{AutoReloadAll: s.autoReloadAll, Defaults: defaults.Policy},
	}, true
}
