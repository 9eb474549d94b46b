package state

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
)

// workload is one with what was seen of it.
type workload struct {
	reload.Workload
	seen     reload.WorkloadSeen
	revision reload.Digest
	links    links
	// remembered is the text of the ledger that we wrote or accepted last.
	remembered string
	// left are the sources that have had another content since the workload was compared with them.
	left map[reload.LocalKey]reload.Left
	// compared tells that it was compared at all, by us or by another instance whose ledger was seen to come.
	compared bool
}

// maxRecent bounds the revisions that are kept of a workload whose rollouts never end.
const maxRecent = 16

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
	revision := w.Revision()
	next := &workload{Workload: w, revision: revision, links: linksOf(&w, s.autoReloadAll), seen: reload.WorkloadSeen{Since: version}}
	if same {
		next.remembered = known.remembered
		next.left, next.compared = known.left, known.compared
		if known.LedgerText != w.LedgerText {
			next.left, next.compared = nil, true // who writes a ledger has compared
		}
	}
	switch {
	case !live:
		// Whether a template that differs was there before, nobody saw.
		next.seen.Returned = same && (known.seen.Returned || known.revision != revision)
		next.seen.Recent = []reload.Digest{revision}
	case !same:
		next.seen.Template, next.seen.Policy = version, version
		next.seen.Recent, next.seen.Whole = []reload.Digest{revision}, true
	default:
		next.seen = known.seen
		if known.revision != revision {
			next.changeTemplate(revision, version)
		}
		if !known.Policy.Equal(w.Policy) {
			next.seen.Policy = version
		}
	}
	if w.AtRest {
		next.seen.Recent, next.seen.Whole = []reload.Digest{revision}, true
	}
	if ok {
		s.index.unlink(w.Key, known.links)
	}
	s.index.link(w.Key, next.links)
	s.workloads[w.Key] = next
	cameBack := next.seen.Returned && same && known.revision != revision
	return !same || cameBack || known.LedgerText != w.LedgerText || !known.Policy.Equal(w.Policy) || !known.links.equal(next.links)
}

// changeTemplate notes that the pod template is another one from a version on.
func (w *workload) changeTemplate(revision reload.Digest, version uint64) {
	w.seen.Template = version
	w.seen.Returned = w.seen.MayHavePods(revision)
	if !slices.Contains(w.seen.Recent, revision) {
		w.seen.Recent = append(slices.Clone(w.seen.Recent), revision)
	}
	if len(w.seen.Recent) > maxRecent {
		w.seen.Recent, w.seen.Whole = []reload.Digest{revision}, false
	}
}

// Compared notes that a workload was compared with what the facts say of its sources, and that its pods have that or get
// it with what was written.
func (s *State) Compared(f *reload.Facts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.workloads[f.Workload.Key]
	if !ok || known.UID != f.Workload.UID {
		return
	}
	known.left, known.compared = nil, true
	for _, c := range f.Concerns {
		if now, ok := s.sources[c.Source.Key]; ok && now.seen.Version != c.Seen.Version && now.Digest != c.Source.Digest {
			// It has changed since the facts were taken, at some time after the version in them.
			known.leave(c.Source.Key.Local(), reload.Left{Version: c.Seen.Version + 1})
		}
	}
	if f.Pods != nil && known.revision == f.Workload.Revision() {
		known.seen.Returned, known.seen.Trusted = false, f.Workload.MarksDigest()
	}
}

func (w *workload) leave(key reload.LocalKey, left reload.Left) {
	if w.left == nil {
		w.left = map[reload.LocalKey]reload.Left{}
	}
	w.left[key] = left
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
