package ledger

import "github.com/reroll-dev/reroll/internal/source"

import "slices"

// olderThan reports whether another one was written later.
func (l *Ledger) olderThan(other Ledger) bool {
	return l.Counter < other.Counter || l.Counter == other.Counter && l.Writes < other.Writes
}

// Follows reports whether whoever wrote it knew another one, or may have.
func (l *Ledger) Follows(other Ledger) bool {
	return !l.olderThan(other) && l.Instance == other.Instance
}

// Rank is what of a ledger tells which of two was written later. The largest text takes milliseconds to read, so this is
// read once, and before a lock is taken. The zero value is that of no ledger.
type Rank struct {
	counter, writes int64
	instance        string
	read            bool
}

// Rank returns the fields of the ledger that show when it was written.
func (l *Ledger) Rank() Rank {
	return Rank{counter: l.Counter, writes: l.Writes, instance: l.Instance, read: true}
}

// Follows reports whether a ledger was written after others of the same object. One that was removed or reverted was not.
func (r Rank) Follows(others ...Rank) bool {
	current := r.ledger()
	return r.read && !slices.ContainsFunc(others, func(other Rank) bool { return other.read && !current.Follows(other.ledger()) })
}

func (r Rank) ledger() Ledger {
	return Ledger{Counter: r.counter, Writes: r.writes, Instance: r.instance}
}

// UnderOtherKey reports whether the digests of a kind of source were made with another key than that of an instance, so that they
// cannot be compared.
func (l *Ledger) UnderOtherKey(kind source.Kind, instance string) bool {
	return kind.Keyed() && l.Instance != instance
}
