package state

import (
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

// ranks order the ledgers of a workload, on the object and remembered, by the time of their write.
type ranks struct{ current, remembered ledger.Rank }

// rankOf reads a ledger before the lock is taken, unless it is known.
func (s *State) rankOf(w *workload.Workload, text string) ledger.Rank {
	if rank, ok := s.knownRank(w, text); ok {
		return rank
	}
	return w.LedgerRank(text)
}

func (s *State) knownRank(w *workload.Workload, text string) (ledger.Rank, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch known, ok := s.workloads[w.Key]; {
	case !ok || known.UID != w.UID:
		return ledger.Rank{}, false
	case known.LedgerText == text:
		return known.ranks.current, true
	default:
		return known.ranks.remembered, known.remembered == text
	}
}

// Remember stores the text of the ledger that we wrote or accepted, as long as the workload is the
// same object.
func (s *State) Remember(w *workload.Workload, ledger string) {
	rank := s.rankOf(w, ledger)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember(w, ledger, rank)
}

func (s *State) remember(w *workload.Workload, text string, rank ledger.Rank) {
	if known, ok := s.workloads[w.Key]; ok && known.UID == w.UID {
		known.remembered, known.ranks.remembered = text, rank
	}
}

// keepRemoved remembers the ledger of the previous version of a workload if another client removed
// or reverted it before the first comparison, for example while the controller was starting.
func (w *workloadRecord) keepRemoved(known *workloadRecord) {
	if w.remembered == "" && known.ranks.current != (ledger.Rank{}) && w.ranks.current.Precedes(known.ranks.current) {
		w.remembered, w.ranks.remembered = known.LedgerText, known.ranks.current
	}
}
