package reload

import (
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Departure is an observed deletion of a source.
type Departure struct {
	// Version is the resource version of the deletion.
	Version uint64
	// Time is by our own clock.
	Time time.Time
	// Source and Seen are the last known state.
	Source source.Source
	Seen   SourceSeen
}

// madeLater reports whether a source was created later than the workload by more than the settle
// period, or when its Pods were Ready, so that the two do not belong together. Both times are whole
// seconds. If they are not precise enough, an earlier comparison of the workload decides, because that
// requires the settle period to be over. If no watch has shown the creation, Pods may prove that they
// were Ready before it.
func (f *Facts) madeLater(c *Concern) bool {
	quiet := f.Workload.Created.Add(f.SettlePeriod)
	switch {
	case quiet.Before(c.Source.Created), f.Seen.Ready != 0 && c.Seen.Created > f.Seen.Ready:
		return true
	case c.Seen.Created == 0 && f.Workload.Created.Add(source.StartLag).Before(c.Source.Created):
		pods := f.podsOf(c)
		return pods == nil || pods.readyBefore(c.Source.Created) || f.unlisted(pods) // byPods asks for them
	case !quiet.Before(c.Source.Created.Add(time.Second)):
		return false
	default:
		return f.Seen.ComparedAt != 0 && c.Seen.Created > f.Seen.ComparedAt
	}
}

// appeared is for a source that was created later than the workload: its Pods run without it,
// unless they were started since. A ledger without the source shows that it did not exist, or did
// not concern the workload, at the last comparison. If no watch has shown its creation or its labels,
// these are from before any change of its data that a watch has shown. The latest one is bound enough.
func (f *Facts) appeared(c *Concern, base base) finding {
	made := *c
	made.Seen.Content, made.Seen.Bound, made.Seen.Timeless = c.Seen.Created, c.Seen.latest(), false
	made.Source.DataTime = c.Source.Created
	switch {
	case f.coveredIn(c) > made.Seen.latest() && made.Seen.latest() != 0:
		return recorded // it did not concern the workload when it was created
	case f.beforeUs(&made), c.Seen.Created == 0 && !f.optedInBefore(c, base):
		return recorded
	}
	switch order(&made, f.rollouts()) {
	case upToDate:
		return recorded
	case outOfDate:
		return changed
	default:
		return f.byPods(&made)
	}
}

// returned is for a source that was deleted, which the ledger only notes, and that was created again as
// it was. Mostly the deletion did not concern the workload. Nothing shows whether its Pods were started
// before it, or without the source.
func (f *Facts) returned(c *Concern, base base) finding {
	_, noted := base.ledger.Gone[c.Source.Key.Local()]
	if !noted || !f.OnCreate {
		return same
	}
	if arrived := f.arrival(c, base); f.madeLater(arrived) {
		return f.appeared(arrived, base)
	}
	return same
}

// createdBehindPods is for a source that was created, and whose workload may have Pods that the
// rollout of the ledger did not start. They may have data that the source had before a deletion that no
// watch has shown: the reload for a deletion drops the entry, leaves a mark, and may be undone.
func (f *Facts) createdBehindPods(c *Concern, base base) finding {
	pods := f.podsOf(c)
	switch {
	case !base.mayBeReverted, !base.ledger.OnDelete, base.ledger.Marks.IsZero(), c.Source.Key.Kind.Reported(), f.beforeUs(c), f.beforeCover(c, base):
		return recorded // Pods that reference it could not start without it
	case f.mustWait():
		return waiting
	case pods == nil:
		return needsPods
	case pods.olderThanSource(c), f.unlisted(pods):
		return changed
	default:
		return recorded
	}
}

// findGone compares the missing sources with the ledger. A source with an entry existed when the
// entry was written, unless the ledger records its deletion.
func (f *Facts) findGone(base base, t *tally) {
	f.findDeparted(base, t)
	if base.err != nil {
		return
	}
	t.noted, t.reselected = base.ledger.OnDelete != f.OnDelete, base.ledger.Selecting != f.selecting()
	if !f.OnDelete {
		return
	}
	f.findLeft(base, t)
	for _, key := range slices.SortedFunc(maps.Keys(base.ledger.Entries), source.CompareLocalKeys) {
		waits := base.ledger.Entries[key].IsZero() // it concerned the workload when its reload began to wait
		if !waits && !f.mayUse(key, &base.ledger) && !f.sawLeave(key) {
			continue
		}
		_, noted := base.ledger.Gone[key]
		switch absent := f.isAbsent(key); {
		case noted && !absent:
			t.noted = true // it exists again
		case absent && !noted:
			f.gone(key, base, t)
		}
	}
}

// sawLeave reports whether a watch has shown the deletion of a source that the workload may have used.
// So the annotations and labels that it had are known.
func (f *Facts) sawLeave(key source.LocalKey) bool {
	left, seen := f.Gone[key]
	return seen && f.referencedIn(&Concern{Source: left.Source, Seen: left.Seen}) <= left.Version
}

// findDeparted is for sources that existed after the watch began, and whose data no ledger recorded
// before they were deleted. Pods may have that data, which is recorded in case they are recreated.
//
// If a ledger records other sources, the deletion itself is no change. A later template or run ends what
// Pods may have then, even if the template returned: a reload for the deletion has dropped the entry. So
// may one that a gap in the watch of the workload hides.
//
// Pods may also have started without an optional source. With --reload-on-create, its creation is a
// change for those, whatever its data is. An entry with its data would hide that.
func (f *Facts) findDeparted(base base, t *tally) {
	first := base.err != nil || onlyWaits(&base.ledger)
	for _, c := range f.departed() {
		key := c.Source.Key.Local()
		deleted := f.Gone[key].Version
		_, named := base.ledger.Entries[key]
		_, aggregated := base.ledger.Aggregates[key.Kind]
		switch {
		case named, aggregated, !first && (f.rollouts().Template > deleted || f.Seen.Since >= deleted), !f.usedUntil(&c, deleted):
			continue
		case f.OnDelete && first && deleted > f.Seen.Since:
			t.gone = append(t.gone, key)
			t.changes = append(t.changes, c)
			continue
		}
		found := changed
		if !f.OnCreate || !workload.Optional(c.Uses) {
			found = f.unrecorded(&c, base)
		}
		switch found {
		case changed:
			t.depart(&c, digest.Digest{}) // no data of a recreated source equals this
			t.recorded++
			continue
		case recorded, unproven:
			t.depart(&c, c.Digest())
		}
		t.add(&c, found)
	}
}

// usedUntil reports whether a source concerned the workload when it was deleted, and its Pods did not
// start without it.
func (f *Facts) usedUntil(c *Concern, deleted uint64) bool {
	seen := f.rollouts()
	return f.referencedIn(c) <= deleted && (seen.Template <= deleted || seen.TemplateReverted)
}

func (t *tally) depart(c *Concern, sum digest.Digest) {
	if t.departed == nil {
		t.departed = map[source.LocalKey]digest.Digest{}
	}
	t.departed[c.Source.Key.Local()] = sum
	t.departedTime = max(t.departedTime, c.Source.DataTime.Unix())
}

// completed is a ledger that includes the sources deleted before it recorded them. Pods of a reload
// start without them.
func (t *tally) completed(base base, f *Facts) ledger.Ledger {
	known := base.ledger
	if t.departed == nil || len(t.changes) > 0 {
		return known
	}
	for key, sum := range known.Entries { // also those of reloads that wait
		if !known.EntryUnderOtherKey(key, f.Instance) {
			t.departed[key] = sum
		}
	}
	known.Entries, known.Instance, known.DataTime = t.departed, f.Instance, max(f.dataTime(known), t.departedTime)
	if known.Selecting.IsZero() {
		f.dropUnlabeled(&known, &base.ledger)
		known.Selecting = f.selecting() // no entry is there because of a selector
	}
	return known
}

// departed are the sources whose deletion was observed and that concerned the workload, sorted.
func (f *Facts) departed() []Concern {
	var departed []Concern
	for _, key := range slices.SortedFunc(maps.Keys(f.Gone), source.CompareLocalKeys) {
		left := f.Gone[key]
		if !f.isAbsent(key) {
			continue
		}
		reference, refers := f.Workload.Reference(key)
		verdict := f.Workload.Verdict(left.Source.Key, left.Source.Annotations, f.AutoReloadAll)
		if !verdict.Concerned || !refers && !verdict.Rule.WithoutReference() {
			continue
		}
		c := Concern{Source: left.Source, Seen: left.Seen, Verdict: verdict, Deleted: true, Uses: reference.Uses}
		c.Count(f.Workload.KeysOf(key, left.Source.Annotations.Labels, f.Keys).Keys)
		departed = append(departed, c)
	}
	return departed
}

// LacksDeleted reports whether the workload uses a source whose deletion was observed.
func (f *Facts) LacksDeleted() bool { return len(f.departed()) > 0 }

// gone is for a source that existed when the ledger was written.
func (f *Facts) gone(key source.LocalKey, base base, t *tally) {
	reference, refers := f.Workload.Reference(key)
	src := key.In(f.Workload.Key.Namespace)
	left := f.Gone[key]
	// If no watch has shown the deletion, the annotations and labels of the source are unknown. Its
	// entry in the ledger shows that they selected it, and that it allowed the workload.
	had := source.Annotations{Match: true, AllowFrom: annotations.AllowAny()}
	if f.selectedByLabels(key, &base.ledger) {
		had.Labels = source.AnyLabels()
	}
	if left.Source.Key == src {
		had = left.Source.Annotations
	}
	verdict := f.Workload.Policy.Verdict(src, had, refers, f.AutoReloadAll)
	seen := left.Version
	switch {
	case !verdict.Concerned, seen == 0 && !base.ledger.OnDelete:
		t.noted = true // a deletion was no change when it happened
	case seen != 0 && f.Seen.Template > seen && !f.Seen.TemplateReverted:
		t.gone = append(t.gone, key)
		t.noted = true // another client has rolled the workload since
	case f.adoptedAfter(key, seen):
		t.noted = true // the workload selected nothing then, and the deletion arrived after its first ledger
	default:
		t.gone = append(t.gone, key)
		t.changes = append(t.changes, Concern{Source: source.Source{Key: src}, Verdict: verdict, Deleted: true, Uses: reference.Uses})
	}
}

// missingFor are the deleted sources without which the Pods run, or will run. Pods of a reload
// start without any missing source. Its creation would be no change if its entry stayed in the
// ledger.
func (f *Facts) missingFor(base base, t *tally) []source.LocalKey {
	if !f.OnDelete || len(t.changes) == 0 {
		return t.gone
	}
	missing := t.gone
	for key := range base.ledger.Entries {
		if f.isAbsent(key) {
			missing = append(missing, key)
		}
	}
	return missing
}

// isAbsent reports whether a watched source does not exist.
func (f *Facts) isAbsent(key source.LocalKey) bool {
	return f.isWatched(key.Kind) && !f.exists(key)
}

// absent are the sources with an entry in a ledger that do not exist.
func (f *Facts) absent(next ledger.Ledger) map[source.LocalKey]struct{} {
	if !f.OnDelete {
		return nil
	}
	gone := map[source.LocalKey]struct{}{}
	for key := range next.Entries {
		if f.isAbsent(key) {
			gone[key] = struct{}{}
		}
	}
	return gone
}

// DepartedFor is how much longer a source must be missing before a workload is rolled for the
// deletion. Many tools change an object by deleting and creating it.
func (f *Facts) DepartedFor(d Decision, now time.Time) time.Duration {
	var wait time.Duration
	for _, c := range d.Changes {
		if left, ok := f.Gone[c.Source.Key.Local()]; ok && c.Deleted {
			wait = max(wait, left.Time.Add(f.SettlePeriod).Sub(now))
		}
	}
	return wait
}
