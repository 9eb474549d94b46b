// Package state is what is known of the cluster, in memory: sources as digests, workloads as what decisions need, and
// the index between them in both directions. No request is ever made for what it can answer.
package state

import (
	"cmp"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
)

// State is safe for concurrent use.
type State struct {
	autoReloadAll bool

	mu        sync.RWMutex
	sources   map[reload.SourceKey]reload.Source
	workloads map[reload.WorkloadKey]*entry
	index     index
}

type entry struct {
	workload reload.Workload
	links    links
}

// New returns an empty one.
func New(autoReloadAll bool) *State {
	return &State{
		autoReloadAll: autoReloadAll,
		sources:       map[reload.SourceKey]reload.Source{},
		workloads:     map[reload.WorkloadKey]*entry{},
		index:         newIndex(),
	}
}

// PutSource stores a source and returns the workloads that have to be looked at because of it: none if neither its
// content nor its annotations differ from what was known.
func (s *State) PutSource(src reload.Source) []reload.WorkloadKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.sources[src.Key]
	s.sources[src.Key] = src
	s.index.addSource(src.Key)
	if ok && known.Digest == src.Digest && known.Annotations == src.Annotations && known.UID == src.UID {
		return nil
	}
	return s.index.candidates(src.Key)
}

// DeleteSource forgets a source.
func (s *State) DeleteSource(key reload.SourceKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sources, key)
	s.index.dropSource(key)
}

// KeepSources forgets the sources of a kind, in one namespace or in all, that a complete snapshot did not name.
func (s *State) KeepSources(kind reload.SourceKind, namespace string, named map[types.NamespacedName]struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.sources {
		if key.Kind != kind || namespace != "" && key.Namespace != namespace {
			continue
		}
		if _, ok := named[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}]; !ok {
			delete(s.sources, key)
			s.index.dropSource(key)
		}
	}
}

// PutWorkload stores a workload and tells whether it has to be looked at: not if nothing differs that a decision
// depends on.
func (s *State) PutWorkload(w reload.Workload) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	links := linksOf(&w, s.autoReloadAll)
	known, ok := s.workloads[w.Key]
	if ok {
		s.index.unlink(w.Key, known.links)
	}
	s.index.link(w.Key, links)
	s.workloads[w.Key] = &entry{workload: w, links: links}
	if !ok {
		return true
	}
	return known.workload.UID != w.UID || known.workload.LedgerText != w.LedgerText || !known.links.equal(links)
}

// DeleteWorkload forgets a workload.
func (s *State) DeleteWorkload(key reload.WorkloadKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropWorkload(key)
}

// KeepWorkloads forgets the workloads of a kind, in one namespace or in all, that a complete snapshot did not name.
func (s *State) KeepWorkloads(kind, namespace string, named map[types.NamespacedName]struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.workloads {
		if key.Kind != kind || namespace != "" && key.Namespace != namespace {
			continue
		}
		if _, ok := named[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}]; !ok {
			s.dropWorkload(key)
		}
	}
}

func (s *State) dropWorkload(key reload.WorkloadKey) {
	if known, ok := s.workloads[key]; ok {
		s.index.unlink(key, known.links)
		delete(s.workloads, key)
	}
}

// Facts returns a workload with the sources that concern it now.
func (s *State) Facts(key reload.WorkloadKey) (reload.Facts, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	known, ok := s.workloads[key]
	if !ok {
		return reload.Facts{}, false
	}
	f := reload.Facts{Workload: known.workload}
	for _, src := range s.index.sourcesFor(key.Namespace, known.links) {
		source, ok := s.sources[src]
		if !ok {
			continue
		}
		verdict := known.workload.Judge(src, source.Annotations, s.autoReloadAll)
		if !verdict.Concerned {
			continue
		}
		reference, _ := known.workload.Reference(src.Local())
		f.Concerns = append(f.Concerns, reload.Concern{Source: source, Verdict: verdict, Uses: reference.Uses})
	}
	slices.SortFunc(f.Concerns, func(a, b reload.Concern) int {
		return cmp.Or(cmp.Compare(a.Source.Key.Kind, b.Source.Key.Kind), cmp.Compare(a.Source.Key.Name, b.Source.Key.Name))
	})
	return f, true
}

// Counts tells how many workloads are known and how many of them are opted in.
func (s *State) Counts() (workloads, optedIn int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, e := range s.workloads {
		if e.workload.Policy.OptedIn(s.autoReloadAll) {
			optedIn++
		}
	}
	return len(s.workloads), optedIn
}

// Policy returns what the annotations of a workload ask for.
func (s *State) Policy(key reload.WorkloadKey) (reload.Policy, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	known, ok := s.workloads[key]
	if !ok {
		return reload.Policy{}, false
	}
	return known.workload.Policy, true
}
