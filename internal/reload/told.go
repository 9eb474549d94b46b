package reload

import "time"

// Told is the decision once somebody else was told of the changes, who acts upon
// them: the ledger takes note of when that was, and the marks are those of the
// latest reload.
func (d Decision) Told(w *Workload, at time.Time) Decision {
	known, _ := readLedger(w.LedgerText, w) // without one there was no reload
	d.Action, d.Doubt = Record, ""
	d.Ledger.Step, d.Ledger.Counter, d.Ledger.Told = known.Step, known.Counter, at.Unix()
	return d
}

// Content stands for what a ledger says of sources, whoever wrote it and how often.
func (l Ledger) Content() string {
	return Ledger{Instance: l.Instance, Entries: l.Entries, Gone: l.Gone, Aggregates: l.Aggregates}.String()
}
