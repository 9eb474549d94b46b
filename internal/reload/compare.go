package reload

import (
	"errors"

	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// base is the known data that the Pods were last rolled with.
type base struct {
	ledger ledger.Ledger
	// err is why there is no valid ledger.
	err error
	// restore reports whether the ledger on the object was reverted or removed.
	restore bool
	// mayBeReverted reports whether Pods may run that the rollout of the ledger did not start.
	mayBeReverted bool
	// toReloader reports whether Reloader started these Pods.
	toReloader bool
}

func (f *Facts) base() base {
	known := f.known()
	known.mayBeReverted = f.mayBeReverted(known)
	known.toReloader = known.mayBeReverted && f.leftToReloader()
	return known
}

// Ledger returns the data that the Pods were last rolled with, and an error if no valid ledger
// shows that. Unproven reports whether Pods may run that this rollout did not start.
func (f *Facts) Ledger() (known ledger.Ledger, unproven bool, err error) {
	base := f.base()
	return base.ledger, base.mayBeReverted, base.err
}

// known returns the ledger on the object, unless the remembered one is later. A rollback to an
// earlier revision restores the earlier ledger, and tools may prune annotations that they do not
// know. The ledger that we wrote stays valid.
func (f *Facts) known() base {
	current, err := f.read(f.Workload.LedgerText)
	if errors.Is(err, ledger.ErrNewerFormat) || f.Remembered == "" || f.Remembered == f.Workload.LedgerText {
		return base{ledger: current, err: err}
	}
	ours, oursErr := f.read(f.Remembered)
	// If the digest key was lost, a write whose response was lost, too, has the first ledger with the
	// present one.
	follows := current.Follows(ours) || current.Instance == f.Instance && current.TakenOverFrom(ours)
	if oursErr != nil || err == nil && follows {
		return base{ledger: current, err: err}
	}
	return base{ledger: ours, restore: true}
}

// read is a ledger of the workload, without entries that its users may have invented.
func (f *Facts) read(text string) (ledger.Ledger, error) {
	l, err := workload.ReadLedger(text, &f.Workload)
	l.DropUnsigned(f.Key)
	return l, err
}

// finding is the result of comparing one source with the ledger.
type finding uint8

const (
	same      finding = iota // no difference
	recorded                 // the Pods have the current data; the ledger does not record that yet
	undecided                // the digest key of the ledger was lost, and nothing else decides; recorded as unchanged
	unproven                 // written after Pods started, but maybe not its data; treated as recorded
	changed                  // Pods use other data
	needsPods                // the age of the Pods decides
	waiting                  // the age of the Pods decides, after the rollout
	reverted                 // older Pods are back, because their template was reverted
)

// compareWithLedger finds what the ledger shows of the data of one source. Each case that needs
// more than the two digests has a function below.
func (f *Facts) compareWithLedger(c *Concern, base base) finding {
	digest, ok := base.ledger.Entries[c.Source.Key.Local()]
	switch {
	case !ok:
		return f.unrecorded(c, base)
	case digest.IsZero():
		return f.delayed(c, base) // with whichever key
	case f.underLostKey(c.Source.Key.Local(), base):
		return f.underOtherKey(c, base)
	case digest == c.Digest():
		c = f.seenEarlier(c)
		if found := f.returned(c, base); found != same && found != recorded {
			return found
		}
		return f.sameData(c, base)
	}
	if form := f.formOf(c, digest); form != otherData {
		return f.otherwiseCounted(c, base, form)
	}
	return f.differentData(c, base)
}

// sameData is for data that the ledger records. There are Pods with other data nevertheless if
// their template was reverted, or if they started while the source had other data for a moment.
func (f *Facts) sameData(c *Concern, base base) finding {
	pods := f.podsOf(c)
	switch {
	case !base.mayBeReverted && (!c.wasAway() || order(c, f.rollouts()) == upToDate || f.beforeAdoption(c)):
		return same
	case base.toReloader && !f.Workload.Marks.ByReloader.Before(c.Source.DataTime):
		return same // all Pods are from after that data
	case base.mayBeReverted && f.mustWait():
		return waiting
	case pods == nil:
		return needsPods
	case base.mayBeReverted && f.mayBeOlder(c, pods, base) && !f.beforeUs(c) && !f.beforeCover(c, base):
		return reverted
	case c.wasAway() && (pods.missed(c, f.Seen) || f.unlisted(pods)):
		return changed
	case c.wasAway() && c.Source.DataTime.Unix() > f.dataTime(base.ledger):
		return recorded // the ledger has to contain the time at which the data came back
	default:
		return same
	}
}

// mustWait reports whether Pods are about to be replaced, so that the present Pods prove nothing.
func (f *Facts) mustWait() bool {
	// The status may not have observed a change of the template that the watch has shown.
	unobserved := f.Workload.Unobserved && f.Seen.Template != 0
	return (!f.Workload.RolledOut || unobserved) && !f.Waited
}

// otherKey reports whether the digests of a kind were made with a lost key, so that they cannot be
// compared with current digests.
func otherKey(kind source.Kind, base base, f *Facts) bool {
	return base.err == nil && base.ledger.UnderOtherKey(kind, f.Instance)
}

// differentData is for data that differs from the ledger. It is a change, unless another client has
// rolled the workload since.
func (f *Facts) differentData(c *Concern, base base) finding {
	if f.beforeAdoption(c) || f.rotatedBeforeUs(c, base) {
		return recorded
	}
	return f.weighEvidence(c, base)
}

// delayed is for data whose reload was decided, and had to wait. If the creation of a source is a
// change, or that it got the labels, it may be the reason, even if the data is as it was before.
func (f *Facts) delayed(c *Concern, base base) finding {
	if f.OnCreate {
		made := f.arrival(c, base)
		if made.Seen.Created >= c.Seen.latest() { // the data is no newer
			c.Seen.Content = made.Seen.Created
		}
		if made.Source.Created.After(c.Source.DataTime) {
			c.Source.DataTime = made.Source.Created
		}
	}
	if mark, ok := f.latestMark(c); ok && base.ledger.Counter == 0 && !f.fits(c, mark) {
		f.noteTimeless(c, base)
		return f.marked(c, mark)
	}
	return f.weighEvidence(c, base)
}

// weighEvidence is for other data than Pods were last rolled with. The order of the changes shows
// whether Pods have it nevertheless, or else the age of the Pods does.
func (f *Facts) weighEvidence(c *Concern, base base) finding {
	switch f.order(c) {
	case upToDate:
		return recorded
	case outOfDate:
		return changed
	}
	f.noteTimeless(c, base)
	return f.byPods(c)
}

// noteTimeless records whether other data than the ledger has were written at an unknown time. The
// API server mostly records no time for an update that only removes keys, so such data claim to be
// no newer than the ledger. If not all keys count, these may be other keys than before, so only a
// missing key shows that, and its time may be that of another key. Without field managers, it shows
// only when the source was created. A union may have lost a bundle at any time.
func (f *Facts) noteTimeless(c *Concern, base base) {
	unseen := c.Seen.Content == 0 || f.Workload.Runs != nil
	removed := c.Source.DataTime.Unix() <= base.ledger.DataTime
	if c.Keys != nil {
		removed = c.Source.MayLack(c.Keys)
	}
	if unseen && (removed || c.Source.Key.Local().IsUnion() || c.Source.Untracked) && !c.Source.Key.Kind.Reported() {
		c.Seen.Timeless = true
	}
}

// mayHaveChanged is for a source of which the ledger only shows that a source of its kind changed,
// was created, or was deleted. SameCount reports that none can have been created or deleted alone.
func (f *Facts) mayHaveChanged(c *Concern, base base, sameCount bool) finding {
	switch {
	case f.Seen.Compared && !c.wasAway(), f.recreated(c) && !workload.Optional(c.Uses):
		return recorded // the watch would have shown a change
	case f.Seen.Compared:
		return f.differentData(c, base)
	case !edited(c), c.Source.DataTime.Unix() <= f.dataTime(base.ledger) && !sameCount:
		return recorded
	default:
		return f.differentData(c, base)
	}
}

// underOtherKey is for Secrets whose digest in the ledger cannot be compared any more.
func (f *Facts) underOtherKey(c *Concern, base base) finding {
	switch f.order(c) {
	case upToDate:
		return recorded
	case outOfDate:
		return changed
	}
	switch {
	case c.Seen.Content != 0:
		return f.byPods(c)
	case f.editedAt(c) <= f.dataTime(base.ledger):
		return undecided // mostly, the client that wrote the ledger has compared this data; keys that were removed since show nothing
	default:
		return f.byPods(c.asEdited())
	}
}

// unrecorded is for a source without an entry in the ledger, or for all sources if there is no
// ledger. Nothing shows which data the Pods have. Mostly it is the current data, because the
// reference to the source is new, too.
func (f *Facts) unrecorded(c *Concern, base base) finding {
	if errors.Is(base.err, ledger.ErrNone) {
		if mark, ok := f.latestMark(c); ok {
			return f.marked(c, mark)
		}
	}
	if arrived := f.arrival(c, base); f.OnCreate && !c.Source.Key.Kind.Reported() && f.madeLater(arrived) {
		if found := f.appeared(arrived, base); found != recorded {
			return found
		}
	}
	if f.recreatedAsCompared(c) {
		// The workload has run without it since, unless Pods are back that may have earlier data.
		if !f.Seen.TemplateReverted {
			return recorded
		}
		c = c.asBeforeItsDeletion()
	}
	content := c.Seen.latest()
	if f.usedSince(c) > content && content != 0 {
		return recorded // it began to concern the workload after its data was written
	}
	switch {
	case f.recreated(c):
		return recorded // it was created; Pods that reference it could not start without it
	case !edited(c):
		return f.createdBehindPods(c, base)
	}
	switch f.order(c) {
	case upToDate:
		return recorded
	case outOfDate:
		return changed
	}
	if c.Seen.Content == 0 {
		return f.unseenEdit(c)
	}
	return f.byPods(c)
}

// usedSince is the version since which a source concerns the workload and its Pods, as far as a watch
// has shown it. Pods may read a source that annotations name without a reference to it.
func (f *Facts) usedSince(c *Concern) uint64 {
	switch {
	case f.Seen.TemplateReverted && c.Verdict.Rule.WithoutReference():
		return f.coveredIn(c)
	case f.Seen.TemplateReverted:
		return max(f.coveredIn(c), f.Seen.Referenced[c.Source.Key.Local()])
	}
	return max(f.coveredIn(c), f.rollouts().Template)
}

// recreated reports whether a source was deleted before the workload used it, and has the data with
// which it was created again. No Pod has ever had earlier data. The first bundle of a union changes
// its data, and creates nothing.
func (f *Facts) recreated(c *Concern) bool {
	if c.Source.Key.Local().IsUnion() {
		return false
	}
	return c.Seen.Departed != 0 && c.Seen.Content == c.Seen.Created && f.usedSince(c) > c.Seen.Departed
}

// byPods compares the age of the Pods with the data.
func (f *Facts) byPods(c *Concern) finding {
	pods := f.podsOf(c)
	switch {
	case f.Seen.TemplateReverted && f.Seen.Template > c.Seen.latest() && f.mustWait():
		return waiting
	case !f.Seen.TemplateReverted && f.rolledByReloader(c):
		return recorded
	case pods == nil:
		return needsPods
	}
	if f.unlisted(pods) {
		return changed
	}
	if at, ok := f.restartedByReloader(c); ok && pods.left(c, at) == 0 || pods.older(c, f.rollouts()) == 0 {
		return recorded
	}
	return changed
}

// marked is for a workload that another controller rolled before us. Its mark shows which data the
// Pods have. A mark that does not fit is a change that was missed, if older Pods are still there. One
// that fits the data of an edit after the template shows that this data is back, and not that all Pods
// have it: a rollout for another source leaves the mark as it is.
func (f *Facts) marked(c *Concern, mark string) finding {
	if later := c.Seen.Edited && c.Seen.Content > max(f.usedSince(c), f.rollouts().Since); f.fits(c, mark) && !later {
		return recorded
	}
	switch f.order(c) {
	case upToDate:
		return recorded
	case outOfDate:
		return changed
	}
	switch pods := f.podsOf(c); {
	case pods == nil:
		return needsPods
	case pods.older(c, f.Seen) > 0, f.unlisted(pods):
		return changed
	default:
		return recorded
	}
}
