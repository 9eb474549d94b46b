package ledger

import "github.com/reroll-dev/reroll/internal/source"

import "slices"

// olderThan reports whether another ledger was written later.
func (l *Ledger) olderThan(other Ledger) bool {
	return l.Counter < other.Counter || l.Counter == other.Counter && l.Writes < other.Writes
}

// Follows reports whether its writer knew another ledger, or may have.
func (l *Ledger) Follows(other Ledger) bool {
	return !l.olderThan(other) && l.Instance == other.Instance
}

// TakenOverFrom reports whether an installation with another key wrote it after another ledger.
func (l *Ledger) TakenOverFrom(other Ledger) bool {
	return l.Instance != other.Instance && !l.olderThan(other)
}

// Rank contains the fields that show which of two ledgers was written later. Parsing the longest
// text takes milliseconds, so it is parsed once, before a lock is taken. The zero value is the rank
// of no ledger.
type Rank struct {
	counter, writes int64
	instance        string
	read            bool
	began           int64
	aggregated      bool
}

// Began is when the latest reload began, in seconds since 1970; 0 if the ledger does not note it.
func (r Rank) Began() int64 { return r.began }

// Aggregated reports whether one digest stands for many sources.
func (r Rank) Aggregated() bool { return r.aggregated }

// Rank returns the fields of the ledger that show when it was written.
func (l *Ledger) Rank() Rank {
	return Rank{counter: l.Counter, writes: l.Writes, instance: l.Instance, read: true, began: l.Turn.At, aggregated: len(l.Aggregates) > 0}
}

// Follows reports whether a ledger was written after others of the same object. A removed or
// reverted ledger was not.
func (r Rank) Follows(others ...Rank) bool {
	current := r.ledger()
	return r.read && !slices.ContainsFunc(others, func(other Rank) bool { return other.read && !current.Follows(other.ledger()) })
}

// Precedes reports whether a ledger was written before another one of the same object, or is none.
func (r Rank) Precedes(other Rank) bool {
	current := r.ledger()
	return !r.read || current.olderThan(other.ledger())
}

func (r Rank) ledger() Ledger {
	return Ledger{Counter: r.counter, Writes: r.writes, Instance: r.instance}
}

// EntryUnderOtherKey reports whether the digest of a source was made with another key than an instance
// has, so that it cannot be compared.
func (l *Ledger) EntryUnderOtherKey(key source.LocalKey, instance string) bool {
	return key.Keyed() && l.Instance != instance
}

// UnderOtherKey reports whether the digests of a kind of source were made with another key than an
// instance has, so that they cannot be compared.
func (l *Ledger) UnderOtherKey(kind source.Kind, instance string) bool {
	return kind.Keyed() && l.Instance != instance
}
