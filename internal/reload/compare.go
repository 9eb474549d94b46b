package reload

import (
	"errors"

	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// base is what is known of the content that the pods were last rolled with.
type base struct {
	ledger ledger.Ledger
	// err says why there is no ledger, or none that counts.
	err error
	// restore reports whether the ledger on the object was reverted or removed.
	restore bool
	// doubted reports whether pods may run that were not started by the rollout that
	// the ledger is about.
	doubted bool
	// toReloader reports whether these were started by Reloader.
	toReloader bool
}

func (f *Facts) base() base {
	known := f.known()
	known.doubted = f.doubted(known)
	known.toReloader = known.doubted && f.leftToReloader()
	return known
}

// known takes the ledger on the object, unless we know better: a rollback to an
// earlier revision brings the ledger of that time back, and tools may prune what
// they do not know. What we wrote stays true.
func (f *Facts) known() base {
	current, err := workload.ReadLedger(f.Workload.LedgerText, &f.Workload)
	if errors.Is(err, ledger.ErrNewerFormat) || f.Remembered == "" || f.Remembered == f.Workload.LedgerText {
		return base{ledger: current, err: err}
	}
	ours, oursErr := workload.ReadLedger(f.Remembered, &f.Workload)
	if oursErr != nil || err == nil && current.Follows(ours) {
		return base{ledger: current, err: err}
	}
	return base{ledger: ours, restore: true}
}

// finding is what the comparison of one source with the ledger comes to.
type finding uint8

const (
	same      finding = iota // nothing differs
	recorded                 // the pods have the present content; the ledger does not say so yet
	undecided                // the key of its digests was lost, and nothing else decides; recorded as unchanged
	unproven                 // it was written after pods started, maybe not its data; taken for recorded
	changed                  // pods run with another content
	asking                   // the age of the pods decides
	waiting                  // the age of the pods decides, once they stop changing
	outlived                 // pods from before it are there again, because their template came back
)

func (f *Facts) find(c *Concern, base base) finding {
	digest, ok := base.ledger.Entries[c.Source.Key.Local()]
	switch {
	case !ok:
		return f.unrecorded(c, base)
	case otherKey(c.Source.Key.Kind, base, f):
		return f.underOtherKey(c, base)
	case digest == c.Source.Digest:
		return f.kept(c, base)
	default:
		return f.compared(c, base)
	}
}

// kept is for data that the ledger records. There are Pods with other data nevertheless if their
// template was reverted, or if they started while the source had other data for a moment.
func (f *Facts) kept(c *Concern, base base) finding {
	pods := f.podsOf(c)
	switch {
	case !base.doubted && (!c.wasAway() || order(c, f.rollouts()) == fresh):
		return same
	case base.toReloader && !f.Workload.Marks.ByReloader.Before(c.Source.DataTime):
		return same // all pods are from after that content
	case base.doubted && f.mustWait():
		return waiting
	case pods == nil:
		return asking
	case base.doubted && f.mayBeOlder(c, pods, base) && !f.beforeUs(c) && !f.beforeAll(c, base):
		return outlived
	case c.wasAway() && (pods.missed(c, f.Seen) || f.unlisted(pods)):
		return changed
	case c.wasAway() && c.Source.DataTime.Unix() > f.dataTime(base.ledger):
		return recorded // the ledger has to know the time of its coming back
	default:
		return same
	}
}

// mayBeOlder reports whether a pod may be from before the data that the ledger has.
func (f *Facts) mayBeOlder(c *Concern, pods *Pods, base base) bool {
	if f.unlisted(pods) {
		return edited(c)
	}
	return pods.older(c.writtenBy(base.ledger.DataTime), f.rollouts()) > 0 && (edited(c) || pods.olderThanSource(c))
}

// doubted reports whether the pods may not be those that the ledger is about.
func (f *Facts) doubted(base base) bool {
	step := base.ledger.Step
	switch {
	case f.Workload.Runs != nil:
		return false // no pod of an earlier run is kept
	case base.err != nil, base.ledger.Marks == f.Workload.Marks.DigestAfter(step):
		return false // what is there of a template with these marks, the latest reload has started
	case f.Seen.Returned:
		return true
	default:
		// Our marks were removed while nobody watched, or where no template shows it.
		return (f.Seen.Template == 0 || step.Restarts()) && !base.ledger.Marks.IsZero() && f.Seen.Trusted != f.Workload.MarksDigest()
	}
}

// mustWait reports whether pods are about to go, so that those that are there now
// prove nothing.
func (f *Facts) mustWait() bool {
	// Of a template that was changed before our eyes, such a status may not know yet.
	stale := f.Workload.Unobserved && f.Seen.Template != 0
	return (!f.Workload.RolledOut || stale) && !f.Waited
}

// otherKey reports whether the digests of a kind were made with a key that is gone,
// and cannot be compared with those of today.
func otherKey(kind source.Kind, base base, f *Facts) bool {
	return base.err == nil && base.ledger.UnderOtherKey(kind, f.Instance)
}

// compared is for content that differs from the ledger: a change, unless
// somebody else has rolled the workload since.
func (f *Facts) compared(c *Concern, base base) finding {
	if f.beforeAdoption(c) {
		return recorded
	}
	switch f.order(c) {
	case fresh:
		return recorded
	case stale:
		return changed
	}
	// The API server records no time for an update that only removes keys. Data that differ from
	// the ledger, and claim to be no newer than it, were changed in that way, at an unknown time.
	unseen := c.Seen.Content == 0 || f.Workload.Runs != nil
	if unseen && c.Source.DataTime.Unix() <= base.ledger.DataTime && !c.Source.Key.Kind.Reported() {
		c.Seen.Timeless = true
	}
	return f.asked(c)
}

// beforeUs reports whether a content was there before the installation: that pods do
// not have it was nobody's to act upon.
func (f *Facts) beforeUs(c *Concern) bool {
	return c.Seen.Content == 0 && c.Source.DataTime.Before(f.Installed)
}

// beforeAll reports whether a content was there before all workloads were opted in, for
// one that was not opted in otherwise, and that we have never rolled.
func (f *Facts) beforeAll(c *Concern, base base) bool {
	return c.Verdict.Rule == policy.RuleAutoAll && base.ledger.Counter == 0 && c.Seen.Content == 0 && c.Source.DataTime.Before(f.Coverage.AllSince)
}

// mayHaveChanged is for a source of which the ledger knows no more than that
// one of its kind is another one, is new, or is gone. SameCount tells that none
// can be new or gone alone.
func (f *Facts) mayHaveChanged(c *Concern, base base, sameCount bool) finding {
	switch {
	case f.Seen.Compared && !c.wasAway():
		return recorded // we would have seen it change
	case f.Seen.Compared:
		return f.compared(c, base)
	case !edited(c), c.Source.DataTime.Unix() <= f.dataTime(base.ledger) && !sameCount:
		return recorded
	default:
		return f.compared(c, base)
	}
}

// underOtherKey is for Secrets whose digest in the ledger says nothing any more.
func (f *Facts) underOtherKey(c *Concern, base base) finding {
	switch f.order(c) {
	case fresh:
		return recorded
	case stale:
		return changed
	}
	switch {
	case c.Seen.Content != 0:
		return f.asked(c)
	case c.Source.EditedAt <= f.dataTime(base.ledger):
		return undecided // mostly, the client that wrote the ledger has compared this data; keys that were removed since show nothing
	default:
		return f.asked(c.asEdited())
	}
}

// unrecorded is for a source that the ledger does not name, or for all if there
// is no ledger. Nothing is known of what the pods have; mostly the present
// content, because it is new to them together with the reference to it.
func (f *Facts) unrecorded(c *Concern, base base) finding {
	if errors.Is(base.err, ledger.ErrNone) {
		if mark, ok := f.latestMark(c); ok {
			return f.marked(c, mark)
		}
	}
	if f.OnCreate && !c.Source.Key.Kind.Reported() && f.madeLater(c) {
		if found := f.appeared(c, base); found != recorded {
			return found
		}
	}
	if c.Seen.Created > c.Seen.Content && f.Seen.Compared && !c.wasAway() {
		return recorded // it was recreated as it was when the workload was compared, which has done without it since
	}
	content := c.Seen.latest()
	covered := f.coveredIn(c)
	if !f.Seen.Returned {
		covered = max(covered, f.rollouts().Template)
	}
	if covered > content && content != 0 {
		return recorded // it came to concern the workload after the content was there
	}
	if !edited(c) {
		return recorded // it appeared; what refers to it could not start without it
	}
	switch f.order(c) {
	case fresh:
		return recorded
	case stale:
		return changed
	}
	if c.Seen.Content == 0 {
		return f.unseenEdit(c)
	}
	return f.asked(c)
}

func (f *Facts) asked(c *Concern) finding {
	pods := f.podsOf(c)
	switch {
	case f.Seen.Returned && f.Seen.Template > c.Seen.latest() && f.mustWait():
		return waiting
	case !f.Seen.Returned && f.rolledByReloader(c):
		return recorded
	case pods == nil:
		return asking
	}
	if f.unlisted(pods) {
		return changed
	}
	if at, ok := f.restartedByReloader(c); ok && pods.left(c, at) == 0 || pods.older(c, f.rollouts()) == 0 {
		return recorded
	}
	return changed
}

func (f *Facts) currentVariable(c *Concern) (string, bool) {
	container, ok := workload.MarkContainer(c.Uses, f.Workload.Containers, c.Verdict.Rule == policy.RuleNamed)
	if !ok {
		return "", false
	}
	variable := workload.EnvVarName(c.Source.Key)
	mark, ok := f.mark(container, variable)
	return mark, ok && !f.shares(c.Source.Key, variable)
}

// marked is for a workload that another controller rolled before us. Its mark shows which data the
// Pods have. A mark that does not fit is a change that was missed, if older Pods are still there.
func (f *Facts) marked(c *Concern, mark string) finding {
	if f.fits(c, mark) {
		return recorded
	}
	switch f.order(c) {
	case fresh:
		return recorded
	case stale:
		return changed
	}
	switch pods := f.podsOf(c); {
	case pods == nil:
		return asking
	case pods.older(c, f.Seen) > 0, f.unlisted(pods):
		return changed
	default:
		return recorded
	}
}
