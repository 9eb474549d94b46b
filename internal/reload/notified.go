package reload

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Notified is the decision after a receiver was notified of the changes: the ledger records the
// time, and keeps the marks of the latest reload.
func (d Decision) Notified(w *workload.Workload, at time.Time) Decision {
	known, _ := workload.ReadLedger(w.LedgerText, w) // without a ledger, there was no reload
	d.Action, d.Doubt = Record, ""
	d.Ledger.Step, d.Ledger.Counter, d.Ledger.NotifiedAt = known.Step, known.Counter, at.Unix()
	return d
}
