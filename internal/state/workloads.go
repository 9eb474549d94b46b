package state

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
)

// workload is one with what was seen of it.
type workload struct {
	reload.Workload
	seen  reload.WorkloadSeen
	links links
	// remembered is the text of the ledger that we wrote or accepted last.
	remembered string
}

// PutWorkload stores a workload and tells whether it has to be looked at: not if nothing differs that a decision
// depends on. Live is an event of a watch that has missed nothing since the last complete snapshot, or the answer to a
// write of ours.
func (s *State) PutWorkload(w reload.Workload, live bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := versionOf(w.ResourceVersion)
	known, ok := s.workloads[w.Key]
	same := ok && known.UID == w.UID
	if same && overtaken(version, versionOf(known.ResourceVersion), live) {
		return false
	}
	next := &workload{Workload: w, links: linksOf(&w, s.autoReloadAll), seen: reload.WorkloadSeen{Since: version}}
	if same {
		next.remembered = known.remembered
	}
	switch {
	case !live:
	case !same:
		next.seen.Template, next.seen.Policy = version, version
	default:
		next.seen = known.seen
		if known.Template != w.Template || !known.Marks.Equal(w.Marks) {
			next.seen.Template = version
		}
		if !known.Policy.Equal(w.Policy) {
			next.seen.Policy = version
		}
	}
	if ok {
		s.index.unlink(w.Key, known.links)
	}
	s.index.link(w.Key, next.links)
	s.workloads[w.Key] = next
	return !same || known.LedgerText != w.LedgerText || !known.Policy.Equal(w.Policy) || !known.links.equal(next.links)
}

// Remember keeps the text of the ledger that we wrote or accepted, as long as the workload is the same object.
func (s *State) Remember(w *reload.Workload, ledger string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.workloads[w.Key]; ok && known.UID == w.UID {
		known.remembered = ledger
	}
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
