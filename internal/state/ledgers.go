package state

import "github.com/reroll-dev/reroll/internal/reload"

// ranks tell which ledger of a workload was written later, of those that stand on it and are remembered.
type ranks struct{ standing, remembered reload.LedgerRank }

// rankOf reads a ledger before the lock is taken, unless it is known.
func (s *State) rankOf(w *reload.Workload, text string) reload.LedgerRank {
	if rank, ok := s.knownRank(w, text); ok {
		return rank
	}
	return w.LedgerRank(text)
}

func (s *State) knownRank(w *reload.Workload, text string) (reload.LedgerRank, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch known, ok := s.workloads[w.Key]; {
	case !ok || known.UID != w.UID:
		return reload.LedgerRank{}, false
	case known.LedgerText == text:
		return known.ranks.standing, true
	default:
		return known.ranks.remembered, known.remembered == text
	}
}

// Remember keeps the text of the ledger that we wrote or accepted, as long as the workload is the same object.
func (s *State) Remember(w *reload.Workload, ledger string) {
	rank := s.rankOf(w, ledger)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.workloads[w.Key]; ok && known.UID == w.UID {
		known.remembered, known.ranks.remembered = ledger, rank
	}
}
