package state

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// workloadRecord is a workload with its observed history.
type workloadRecord struct {
	workload.Workload
	seen     reload.WorkloadSeen
	revision digest.Digest
	links    links
	// own is the state of the object without its template users; nil without any.
	own *own
	// remembered is the text of the ledger that we wrote or accepted last, or that another client
	// removed before we could.
	remembered string
	ranks      ranks
	// away are the sources that had other data since the workload was compared with them.
	away map[source.LocalKey]reload.Away
	// compared reports whether the workload was ever compared, by us or by another replica whose
	// ledger the watch has shown.
	compared bool
	// comparedIn is the version of the ledger by which another replica has compared it last; 0 if we
	// have since.
	comparedIn uint64
	// sending is the ledger of the latest write that was begun. The response or the watch may show
	// that it took effect.
	sending sending
	// answered is the version in the latest response to a write of ours.
	answered uint64
	// asked is the version of a template that came back and whose Pods were asked since; 0 if there was
	// none.
	asked uint64
}

type own struct {
	policy    policy.Policy
	optedInAt time.Time
	rolledOut bool
	progress  workload.Progress
	pausable  bool
}

// PutWorkload stores a workload and reports whether it has to be reconciled: not if no input of a
// decision changed. Live is an event of a watch without a gap since the last complete snapshot, or
// the response to a write of ours.
func (s *State) PutWorkload(w workload.Workload, live bool) bool {
	w.Ledgers = s.ledgers
	revision, rank := w.Revision(), s.rankOf(&w, w.LedgerText)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putWorkload(w, revision, rank, live)
}

// PutAnswer stores the response to a write of ours. The response is live, and it never adds a
// workload: the watch may have reported its deletion in the meantime, and would not report that
// again.
func (s *State) PutAnswer(w workload.Workload) {
	w.Ledgers = s.ledgers
	revision, rank := w.Revision(), s.rankOf(&w, w.LedgerText)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putAnswer(w, revision, rank)
}

// PutWritten stores the response to the write of a ledger, and remembers the ledger. Its text is not
// parsed again, unless the response has another one.
func (s *State) PutWritten(w workload.Workload, written *ledger.Ledger, text string) {
	w.Ledgers = s.ledgers
	var rank ledger.Rank
	if written.UID == w.UID {
		rank = written.Rank()
	}
	revision, current := w.Revision(), rank
	if w.LedgerText != text {
		current = s.rankOf(&w, w.LedgerText)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.putAnswer(w, revision, current)
	s.remember(&w, text, rank)
}

func (s *State) putAnswer(w workload.Workload, revision digest.Digest, rank ledger.Rank) {
	if known, ok := s.workloads[w.Key]; ok && known.UID == w.UID {
		s.putWorkload(w, revision, rank, true)
		now := s.workloads[w.Key]
		now.answered = max(now.answered, VersionOf(w.ResourceVersion))
	}
}

func (s *State) putWorkload(w workload.Workload, revision digest.Digest, rank ledger.Rank, live bool) bool {
	version := VersionOf(w.ResourceVersion)
	replaced, same := s.workloads[w.Key], (*workloadRecord)(nil)
	if replaced != nil && replaced.UID == w.UID {
		same = replaced
	}
	if same != nil && overtaken(version, VersionOf(same.ResourceVersion), live) {
		return false
	}
	if s.noHistory {
		same = nil
	}
	if same != nil && s.defaultsPending {
		s.inheritDefaults(same, 0) // the object has not changed in that
	}
	itself := s.ownOf(&w)
	w = s.complete(w)
	next := &workloadRecord{Workload: w, own: itself, revision: revision, links: linksOf(&w, s.autoReloadAll, s.keys), seen: reload.WorkloadSeen{Since: version}}
	next.ranks.current = rank
	if same != nil {
		s.inherit(next, same, version)
	}
	next.recordEvent(same, version, live, s.autoReloadAll)
	if replaced != nil {
		s.orphan(&replaced.Workload)
	}
	linked := s.relink(replaced, next)
	if w.Parent != nil {
		add(s.children, w.Parent.Key, w.Key)
	}
	s.workloads[w.Key] = next
	s.countWaves(replaced, next)
	s.noteChange(w.Key)
	return linked || same == nil || next.differs(same)
}

// inherit copies what is remembered of the same object.
func (s *State) inherit(next, known *workloadRecord, version uint64) {
	next.remembered, next.ranks.remembered, next.answered = known.remembered, known.ranks.remembered, known.answered
	next.asked = known.asked
	next.away, next.compared, next.comparedIn, next.sending = known.away, known.compared, known.comparedIn, known.sending
	next.keepRemoved(known)
	unselected := s.awayUnselected(known)
	sent, ours := known.sending.of(next.LedgerText)
	switch {
	case known.LedgerText == next.LedgerText:
	case ours:
		next.compare(s, sent.versions)
		next.sending = sending{text: sent.text, versions: sent.versions} // the others have no effect any more
	case known.LedgerText != "" && known.ranks.current == (ledger.Rank{}) && next.Runs != nil && next.Runs.Once:
		// The ledger of a recreated Job gets its UID: the data is from the decision to recreate it.
	case next.ranks.current.Follows(known.ranks.current, known.ranks.remembered):
		// Another replica has written the ledger, and so has compared all earlier versions.
		next.compared, next.comparedIn, next.away = true, version, s.awaySince(known, version)
		maps.Copy(next.away, unselected)
	}
}

// differs reports whether an input of a decision differs from what was known of the same object,
// beyond the sources that may concern it.
func (w *workloadRecord) differs(known *workloadRecord) bool {
	switch {
	case w.seen.TemplateReverted && known.revision != w.revision:
	case !known.Marks.ByReloader.Equal(w.Marks.ByReloader): // another rollout has to be reported
	case known.Marks.RestartAt != w.Marks.RestartAt: // no revision shows that
	case !known.Runs.Equal(w.Runs):
	case known.LedgerText != w.LedgerText:
	case !known.Policy.Equal(w.Policy):
	default:
		return false
	}
	return true
}

// relink updates the index for the current policy and references of a workload, and reports whether
// other sources may concern it. Most events change neither.
func (s *State) relink(known, next *workloadRecord) bool {
	if known != nil && !relinked(known, next) {
		return false
	}
	if known != nil {
		s.index.unlink(known.Key, known.links)
	}
	s.index.link(next.Key, next.links)
	var before []source.LocalKey
	if known != nil {
		before = known.links.unions
	}
	s.follow(next.links.unions, before, VersionOf(next.ResourceVersion))
	s.unfollow(before)
	return true
}

// DeleteWorkload removes a workload.
func (s *State) DeleteWorkload(key workload.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropWorkload(key)
}

// KeepWorkloads removes the workloads of a kind, in one namespace or in all, that a complete
// snapshot did not contain, and returns them.
func (s *State) KeepWorkloads(kind, namespace string, named map[types.NamespacedName]struct{}) (gone []workload.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.workloads {
		if key.Kind != kind || namespace != "" && key.Namespace != namespace {
			continue
		}
		if _, ok := named[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}]; !ok {
			s.dropWorkload(key)
			gone = append(gone, key)
		}
	}
	return gone
}

func (s *State) dropWorkload(key workload.Key) {
	if known, ok := s.workloads[key]; ok {
		s.noteChange(key)
		s.index.unlink(known.Key, known.links)
		s.unfollow(known.links.unions)
		s.orphan(&known.Workload)
		s.countWaves(known, nil)
		delete(s.workloads, key)
	}
}

// doesWithout reports whether Pods of a workload start even if a referenced source does not exist.
func (w *workloadRecord) doesWithout(key source.LocalKey) bool {
	ref, refers := w.Reference(key)
	return refers && workload.Optional(ref.Uses)
}
