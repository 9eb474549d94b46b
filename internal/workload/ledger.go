package workload

import "github.com/reroll-dev/reroll/internal/ledger"

// ReadLedger parses a text as the ledger of the workload. A ledger with another UID was copied with
// the object, and does not count. The maps of the result must not be changed.
func ReadLedger(text string, w *Workload) (ledger.Ledger, error) {
	if text == "" {
		return ledger.Ledger{}, ledger.ErrNone
	}
	known, err := w.Ledgers.Parse(text)
	if err == nil && known.UID != w.UID {
		return ledger.Ledger{}, ledger.ErrOtherObject
	}
	return known, err
}

// LedgerRank returns the rank of a text as a ledger of the workload.
func (w *Workload) LedgerRank(text string) ledger.Rank {
	l, err := ReadLedger(text, w)
	if err != nil {
		return ledger.Rank{}
	}
	return l.Rank()
}
