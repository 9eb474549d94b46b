package reload

// Told is the decision once somebody else was told of the changes, who acts upon
// them: the ledger takes note, and the marks are those of the latest reload.
func (d Decision) Told(w *Workload) Decision {
	known, _ := readLedger(w.LedgerText, w) // without one there was no reload
	d.Action, d.Doubt = Record, ""
	d.Ledger.Step, d.Ledger.Counter = known.Step, known.Counter
	return d
}

// Content stands for what a ledger says of sources, whoever wrote it and how often.
func (l Ledger) Content() string {
	return Ledger{Instance: l.Instance, Entries: l.Entries, Gone: l.Gone, Aggregates: l.Aggregates}.String()
}
