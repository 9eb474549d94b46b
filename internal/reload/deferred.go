package reload

import (
	"crypto/sha256"
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

// Defer returns what to record of a reload that has to wait, and whether that is necessary. The
// ledger gets a digest for each changed source that no data has. Otherwise, after a restart of the
// controller, a source that has its previous data again would look unchanged, although Pods may
// have started with the other data meanwhile.
//
// If note is true, the ledger also records that a user is notified of these changes, so that each
// of them is notified once.
func (f *Facts) Defer(d *Decision, note bool) (Decision, bool) {
	base := f.base()
	next := base.ledger
	next.Entries, next.Aggregates = maps.Clone(next.Entries), maps.Clone(next.Aggregates)
	if base.err != nil {
		next.UID, next.Instance, next.OnDelete, next.Selecting = f.Workload.UID, f.Instance, f.OnDelete, f.selecting()
		next.Entries = map[source.LocalKey]digest.Digest{}
	} else if next.Selecting != f.selecting() || next.OnDelete != f.OnDelete {
		f.reselect(&next, d.Changes)
	}
	for i := range d.Changes {
		c := &d.Changes[i]
		key := c.Source.Key.Local()
		if all, aggregated := next.Aggregates[key.Kind]; aggregated {
			all.Digest = digest.Digest{}
			next.Aggregates[key.Kind] = all
		} else {
			next.Entries[key] = digest.Digest{}
		}
		if c.Seen.Timeless {
			next.DataTime = max(next.DataTime, f.timeless(c, &next))
		}
	}
	next.SignForeign(f.Key)
	if note {
		next.Noted = noteOf(d.Changes)
	}
	needed := base.restore || next.Noted != base.ledger.Noted || next.Selecting != base.ledger.Selecting || next.OnDelete != base.ledger.OnDelete || next.DataTime != base.ledger.DataTime || next.Content() != base.ledger.Content()
	next.Writes++
	return Decision{Action: Record, Why: "its reload waits, which its ledger does not show yet", Ledger: next, Restores: base.restore, ChurnUntil: next.ChurnUntil}, needed
}

// reselect records what selects the sources now, and whether deletions count, without the entries of
// sources that are no longer selected. An entry of these would later look like that of a source which
// lost its labels. A deletion that is none of the changes is noted: as it happened, it was no change.
func (f *Facts) reselect(next *ledger.Ledger, changes []Concern) {
	for _, key := range f.Spared {
		delete(next.Entries, key)
	}
	f.dropUnlabeled(next, next)
	maps.DeleteFunc(next.Entries, func(key source.LocalKey, sum digest.Digest) bool {
		return !sum.IsZero() && f.isAbsent(key) && !f.mayUse(key, next)
	})
	next.Selecting, next.OnDelete, next.Gone = f.selecting(), f.OnDelete, f.absent(*next)
	for i := range changes {
		delete(next.Gone, changes[i].Source.Key.Local())
	}
}

// timeless is the data time of a ledger which shows that a change has no time, although Pods from before
// it may be younger than the source seems to be. For a kind with one digest, that is the time of its
// newest source, see compareKind.
func (f *Facts) timeless(c *Concern, next *ledger.Ledger) int64 {
	newest := c.Source.DataTime
	if _, aggregated := next.Aggregates[c.Source.Key.Kind]; aggregated {
		for i := range f.Concerns {
			if other := &f.Concerns[i].Source; other.Key.Kind == c.Source.Key.Kind && other.DataTime.After(newest) {
				newest = other.DataTime
			}
		}
	}
	return newest.Unix()
}

// IsDeferred reports whether the ledger shows that a reload waits.
func (f *Facts) IsDeferred() bool {
	known := f.known()
	for _, sum := range known.ledger.Entries {
		if sum.IsZero() {
			return true
		}
	}
	for _, all := range known.ledger.Aggregates {
		if all.Digest.IsZero() {
			return true
		}
	}
	return false
}

// onlyWaits reports whether a ledger shows that a reload waits, and nothing else: it is the first one
// of its workload, and no data was recorded before it.
func onlyWaits(l *ledger.Ledger) bool {
	for _, sum := range l.Entries {
		if !sum.IsZero() {
			return false
		}
	}
	return l.Counter == 0 && l.DataTime == 0 && len(l.Entries) > 0 && len(l.Aggregates) == 0
}

// noteOf is a digest of changes.
func noteOf(changes []Concern) digest.Digest {
	changes = slices.Clone(changes)
	slices.SortFunc(changes, CompareConcerns)
	e := digest.NewEncoder(sha256.New())
	e.Begin('n')
	for i := range changes {
		key, sum := changes[i].Source.Key, changes[i].Digest()
		e.Text(key.Kind.String())
		e.Text(key.Name)
		e.Write(sum[:])
	}
	return digest.Digest(e.Sum(nil)[:len(digest.Digest{})])
}
