package workload

import "github.com/reroll-dev/reroll/internal/ledger"

// ReadLedger reads a text as a ledger of the workload. That of another object, from which this one was copied, is none.
func ReadLedger(text string, w *Workload) (ledger.Ledger, error) {
	if text == "" {
		return ledger.Ledger{}, ledger.ErrNone
	}
	known, err := ledger.Parse(text)
	if err == nil && known.UID != w.UID {
		return ledger.Ledger{}, ledger.ErrOtherObject
	}
	return known, err
}

// LedgerRank reads that of a text, as a ledger of the workload.
func (w *Workload) LedgerRank(text string) ledger.Rank {
	l, err := ReadLedger(text, w)
	if err != nil {
		return ledger.Rank{}
	}
	return l.Rank()
}
