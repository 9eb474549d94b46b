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

// CandidatesIn are the workloads of a namespace that a source may concern.
func (s *State) CandidatesIn(namespace string, key source.Key) []workload.Key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := s.index.candidates(key)
	if key.Namespace != "" {
		return all
	}
	return slices.DeleteFunc(all, func(w workload.Key) bool { return w.Namespace != namespace })
}

// FactsAlone returns the facts about a workload, if one source concerns it. Of its sources, they have
// only those whose windows cannot be read, or all of them if its ledger has one digest for many.
func (s *State) FactsAlone(key workload.Key, src *source.Source) (reload.Facts, bool) {
	if src.Key.SeenFrom(key.Namespace) != src.Key {
		return reload.Facts{}, false // waves do not reach into other namespaces
	}
	f, bad, ok := s.alone(key, src.Key)
	if ok && s.isAggregated(key) {
		all, _ := s.Facts(key)
		f.Concerns, bad = all.Concerns, nil
	}
	if !ok || !f.Workload.Verdict(src.Key, src.Annotations, s.autoReloadAll).Concerned {
		return reload.Facts{}, false
	}
	for _, one := range bad {
		if verdict := f.Workload.Verdict(one.Key, one.Annotations, s.autoReloadAll); verdict.Concerned {
			f.Concerns = append(f.Concerns, reload.Concern{Source: one.Source, Verdict: verdict})
		}
	}
	return f, true
}

func (s *State) isAggregated(key workload.Key) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w, ok := s.workloads[key]
	return ok && (w.ranks.current.Aggregated() || w.ranks.remembered.Aggregated())
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

// alone also returns the sources whose windows cannot be read.
func (s *State) alone(key workload.Key, src source.Key) (f reload.Facts, bad []*sourceRecord, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w, known := s.workloads[key]
	if !known || !s.index.links(src, key) {
		return f, nil, false
	}
	if _, owned := s.rolledOwner(&w.Workload); owned {
		return f, nil, false
	}
	for _, in := range []string{key.Namespace, ""} {
		for local := range s.index.badWindows[in] {
			if one, exists := s.index.source(local.In(in)); exists && s.index.links(one.Key, key) {
				bad = append(bad, one)
			}
		}
	}
	defaults := s.defaults[key.Namespace]
	return reload.Facts{
		Workload: w.Workload, Seen: w.seen, Remembered: w.remembered, OptedInByNamespaceAt: defaults.OptsInSince,
		Settings: reload.Settings{AutoReloadAll: s.autoReloadAll, Keys: s.keys, Defaults: defaults.Policy},
	}, bad, true
}
