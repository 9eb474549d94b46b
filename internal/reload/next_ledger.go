package reload

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

// ledger is the ledger for the current data. Entries of missing sources stay as long as the
// workload references them, so that a source that is recreated with other data is a change.
func (f *Facts) ledger(known ledger.Ledger, gone []source.LocalKey) ledger.Ledger {
	next := ledger.Ledger{
		UID: f.Workload.UID, Instance: f.Instance, Counter: known.Counter, DataTime: f.dataTime(known),
		Marks: known.Marks, Superseded: known.Superseded, Step: known.Step, Run: known.Run, NotifiedAt: known.NotifiedAt, ChurnUntil: known.ChurnUntil, Turn: known.Turn, Writes: known.Writes + 1, Entries: map[source.LocalKey]digest.Digest{},
	}
	if !f.owesRuns() {
		next.Run = ""
	}
	for key, digest := range known.Entries {
		if known.EntryUnderOtherKey(key, f.Instance) {
			continue
		}
		if f.mayUse(key, &known) {
			next.Entries[key] = digest
		}
	}
	for _, key := range slices.Concat(f.Spared, gone) {
		delete(next.Entries, key)
	}
	f.dropUnlabeled(&next, &known)
	next.OnDelete, next.Gone, next.Selecting = f.OnDelete, f.absent(next), f.selecting()
	for _, c := range f.Concerns {
		if f.differsFrom(&known, &c) {
			// The Pods got this data from another client, or may have, under the same marks.
			next.Marks, next.Superseded = digest.Digest{}, f.superseded()
		}
		next.Entries[c.Source.Key.Local()] = c.Digest()
		next.DataTime = max(next.DataTime, c.Source.DataTime.Unix())
	}
	next.Certificates = f.certificates(known, next)
	// One digest for all sources is compared with the existing sources.
	exists := entriesOf(f.Concerns)
	for kind := range next.Bounded().Aggregates {
		maps.DeleteFunc(next.Entries, func(key source.LocalKey, _ digest.Digest) bool {
			_, is := exists[key]
			return key.Kind == kind && !is && !key.IsForeign()
		})
	}
	next.SignForeign(f.Key)
	return next
}

// differsFrom reports whether a source has other data than its entry in a ledger. If the key of the
// entry is lost, the digests differ in any case. Then, as in underOtherKey, only an observed change or
// a later edit shows other data. Otherwise a reload whose ledger is recorded under a new key would lose
// its marks, and would seem to be reverted, or its revert would not be found.
func (f *Facts) differsFrom(known *ledger.Ledger, c *Concern) bool {
	key := c.Source.Key.Local()
	sum, named := known.Entries[key]
	switch {
	case !named:
		return f.editedBeforeEntry(known, c)
	case known.EntryUnderOtherKey(key, f.Instance) && !sum.IsZero():
		later := c.Source.DataTime.Unix() > f.dataTime(*known) && f.order(c) == upToDate // another client may have rolled it
		return c.Seen.Content != 0 || later || f.editedAt(c) > f.dataTime(*known)
	default:
		return f.isOtherData(c, sum)
	}
}

// editedBeforeEntry reports whether another client has rolled an edit of a source that has no entry yet.
// Then Pods may have started with what it had before, unless it began to concern them after the edit. One
// digest for all sources of a kind shows no single one.
func (f *Facts) editedBeforeEntry(known *ledger.Ledger, c *Concern) bool {
	key := c.Source.Key.Local()
	_, counted := known.Aggregates[key.Kind]
	since := max(f.coveredIn(c), f.Seen.Referenced[key])
	if counted || !edited(c) || since > c.Seen.latest() || f.order(c) != upToDate {
		return false
	}
	optedIn, proven := f.optedInSince(c)
	return c.Seen.Content != 0 || proven && !c.Source.DataTime.Before(optedIn)
}

// superseded are the revisions whose Pods a rollout is replacing, the latest ones if there are
// many.
func (f *Facts) superseded() []digest.Digest {
	now := f.Workload.Revision()
	old := slices.DeleteFunc(slices.Clone(f.Seen.Recent), func(revision digest.Digest) bool { return revision == now })
	return old[max(0, len(old)-ledger.MaxSuperseded):]
}

func entriesOf(concerns []Concern) map[source.LocalKey]digest.Digest {
	entries := make(map[source.LocalKey]digest.Digest, len(concerns))
	for _, c := range concerns {
		entries[c.Source.Key.Local()] = c.Digest()
	}
	return entries
}
