package reload

import "slices"

// olderThan tells that another one was written later.
func (l *Ledger) olderThan(other Ledger) bool {
	return l.Counter < other.Counter || l.Counter == other.Counter && l.Writes < other.Writes
}

// follows tells that whoever wrote it knew another one, or may have.
func (l *Ledger) follows(other Ledger) bool {
	return !l.olderThan(other) && l.Instance == other.Instance
}

// LedgerRank is what of a ledger tells which of two was written later. The largest text takes milliseconds to read, so this is
// read once, and before a lock is taken. The zero value is that of no ledger.
type LedgerRank struct {
	counter, writes int64
	instance        string
	read            bool
}

// LedgerRank reads that of a text, as a ledger of the workload.
func (w *Workload) LedgerRank(text string) LedgerRank {
	l, err := readLedger(text, w)
	if err != nil {
		return LedgerRank{}
	}
	return l.rank()
}

func (l *Ledger) rank() LedgerRank {
	return LedgerRank{counter: l.Counter, writes: l.Writes, instance: l.Instance, read: true}
}

// Follows tells that a ledger was written after others of the same object. One that was taken away or set back was not.
func (r LedgerRank) Follows(others ...LedgerRank) bool {
	standing := r.ledger()
	return r.read && !slices.ContainsFunc(others, func(other LedgerRank) bool { return other.read && !standing.follows(other.ledger()) })
}

func (r LedgerRank) ledger() Ledger {
	return Ledger{Counter: r.counter, Writes: r.writes, Instance: r.instance}
}
