package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// oracle judges a history by the writes to the API server and by the data that Pods started with.
// It does not use package reload or ledgers.
//
// Terms: a change is a write after which the data of a source differs, also across a deletion. A
// workload covers a source while it exists, references it and is opted in for it. A rollout is a
// write that changes a pod template, by any client. A gap is the start of a controller or a new
// snapshot: the order of earlier events is unknown then.
//
//  1. No change is lost. At rest, every Pod of a workload has the current data of every source that
//     it covers, except for changes from before the installation or the cover, see undetectable.
//  2. Nothing rolls without a change. Each of our rollouts has a change that the controller had been
//     shown, that none of our earlier ones had, and that is later than the last rollout by another
//     client and the beginning of the cover. Across a gap, the change may be earlier if a Pod at
//     that time was created no more than startLag after the time of the data in the API, or if the
//     API shows none. Only the age of Pods decides for Secrets with a lost digest key, and for a
//     ledger that a user removed while no controller ran. That is "in doubt, reload". With flags,
//     the creation or deletion of a source is a change: see histories_comings_test.go.
//  3. A single change is one rollout. If one change of data was the only step between two rests,
//     each workload that covers it rolled exactly once, through all faults and kills.
//  4. Nothing stays paused: see histories_pauses_test.go.
type oracle struct {
	h         *history
	err       error
	sources   map[simapi.Source]*sourceTruth
	workloads map[types.UID]*workloadTruth
	runsTruth

	// known and live go into each look: the versions that the running controller has been shown.
	known map[simapi.Source]uint64
	// watched has the latest version that a watch has shown, and not only a snapshot.
	watched map[simapi.Source]uint64
	live    map[string]uint64
	gone    map[simapi.Source]uint64
	// goneAt has the times when the running controller was shown a deletion.
	goneAt map[simapi.Source]time.Time
	// firstShown is the first version of a source that it was shown. newestShown is its newest
	// time.
	firstShown  map[simapi.Source]uint64
	newestShown map[simapi.Source]time.Time
	// skipped has the versions around data that it was not shown: see skip.
	skipped map[simapi.Source]span

	// installedAt is the version of the first digest key, and installedIn the second.
	installedAt uint64
	installedIn time.Time
	lastGap     uint64
	startedAt   uint64
	// keyLostAt is when the digest key was last lost, or 0. keyless is true until the next rest.
	keyLostAt uint64
	keyless   bool

	// unselected reports whether controllers ignore the namespace, and unselectedAt is since when they
	// last began to.
	unselected   bool
	unselectedAt uint64
	// all reports --auto-reload-all. allFrom is since when controllers start with it, or 0, and
	// mayFrom also counts one without it that ended before it recorded that in the cluster.
	all              bool
	allFrom, mayFrom uint64
	// podMade is the version in which a Pod was created.
	podMade map[types.UID]uint64
	// pardoned has, by Pod and source, data that the Pod lacks because no controller could know it.
	pardoned map[types.UID]map[simapi.Source]string

	// since is the version of the last rest, and steps counts the steps of users since then.
	since uint64
	steps int
}

func newOracle(h *history) *oracle {
	return &oracle{
		h:         h,
		sources:   map[simapi.Source]*sourceTruth{},
		workloads: map[types.UID]*workloadTruth{},
		runsTruth: newRunsTruth(),
		known:     map[simapi.Source]uint64{},
		watched:   map[simapi.Source]uint64{},
		live:      map[string]uint64{},
		gone:      map[simapi.Source]uint64{},
		goneAt:    map[simapi.Source]time.Time{},
		podMade:   map[types.UID]uint64{},
		pardoned:  map[types.UID]map[simapi.Source]string{},
	}
}

func (o *oracle) fail(format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf(format, args...)
		o.h.say("FAILED: %v", o.err)
	}
}

func (o *oracle) stepped() { o.steps++ }

// installed records that the first controller creates the digest key.
func (o *oracle) installed() { o.installedAt, o.installedIn = o.h.server.Version(), o.h.keyMade }

// keyLost makes the recorded digests of Secrets unreadable.
func (o *oracle) keyLost() {
	o.keyLostAt, o.keyless = o.h.server.Version(), true
	for _, w := range o.truths() {
		for _, src := range sources() {
			if src.Resource == "secrets" {
				delete(w.adopted, src)
				w.unreadable[src] = true
			}
		}
	}
}

// gap records that the order of earlier events is unknown.
func (o *oracle) gap() { o.lastGap = o.h.server.Version() }

// delivered records an event that the controller is shown: a version of an object, or its deletion.
func (o *oracle) delivered(resource, name string, version uint64, gone bool) {
	src := simapi.Source{Resource: resource, Name: name}
	if gone {
		delete(o.known, src)
		o.gone[src], o.goneAt[src] = version, o.h.server.Now()
	} else {
		o.skip(src, o.known[src], version)
		o.known[src] = version
		o.shown(src, version)
	}
}

// whole records that a snapshot is complete, so that missing objects are deleted.
func (o *oracle) whole(resource string, version uint64, names map[types.NamespacedName]struct{}) {
	o.live[resource] = version
	if resource == shop.Resource {
		return // never deleted
	}
	for _, src := range sources() {
		if _, ok := names[inShop(src.Name)]; src.Resource == resource && !ok {
			o.gone[src] = version
			delete(o.goneAt, src)
		}
	}
	for src := range o.known {
		if _, ok := names[inShop(src.Name)]; src.Resource == resource && !ok {
			delete(o.known, src)
		}
	}
}

func (o *oracle) look(key workload.Key) *look {
	o.h.noteWholes()
	l := &look{life: o.h.life, keys: o.h.keys, keyLostAt: o.keyLostAt, key: key, at: o.h.server.Version(), known: maps.Clone(o.known), shownDates: maps.Clone(o.newestShown), live: maps.Clone(o.live), gone: maps.Clone(o.gone), departed: map[simapi.Source]uint64{}, departedAt: maps.Clone(o.goneAt), onDelete: o.h.onDelete}
	for src := range o.goneAt {
		l.departed[src] = o.gone[src]
	}
	for _, f := range o.h.feeds {
		if f.taking {
			l.live[f.resource] = never
		}
	}
	return l
}

// reason finds a change that explains a rollout of ours.
func (o *oracle) reason(w *workloadTruth, l *look) (string, bool) {
	var why []string
	for _, src := range sources() {
		if o.movedByLabel(w, src, l) {
			return "", true
		}
		if _, covered := w.covered[src]; !covered {
			if _, was := w.ended[src]; was && o.coverEndUnseen(w, src, l) || o.movedUnselected(w, src, l) {
				return "", o.excused(sentBefore)
			}
			if o.mayHaveMatched(src, l) || o.mayHaveBeenSelected(w, src, l) {
				return "", o.excused(saysNoMore)
			}
			continue
		}
		if o.wentAway(w, src, l) || o.cameUp(w, src, l) {
			return "", true
		}
		for _, c := range slices.Backward(o.sources[src].changes) {
			if c.version > l.known[src] {
				continue
			}
			text, ok := o.mayBeFor(w, l, src, c)
			if ok {
				return "", true
			}
			why = append(why, text)
			break
		}
	}
	for _, src := range sources() {
		if _, covered := w.covered[src]; !covered {
			continue
		}
		shown, edited := o.sources[src].datedAt(l.known[src]), o.lastEdit(l, src)
		switch {
		case w.unreadable[src] && (shown.proven && l.older(shown.date) || o.sources[src].made > l.keyLostAt):
			return "", o.excused(unreadable)
		case o.h.keysUnseen(w.name):
			return "", o.excused(keysUnseen)
		case o.madeAgain(w, src, l):
			return "", o.excused(madeAgain)
		case o.cameBackRelisted(w, src, l):
			return "", o.excused(keysOfGone)
		case o.seemsEdited(src, l):
			return "", o.excused(seemsEdited)
		case o.labeledLater(w, src, l):
			return "", o.excused(optedInUnseen)
		case o.mayHaveReturned(w) && !w.noted.IsZero() && o.seemsNewer(src, l):
			return "", o.excused(templateReturned) // a label has moved the time, and nothing shows when the data was edited
		case edited.IsZero(), !l.older(edited):
		case edited.Equal(o.installedIn):
			return "", o.excused(installedThen)
		case w.began[src].by == byStart && edited.Equal(o.h.coverage.AllSince):
			return "", o.excused(allThen)
		case o.h.skewed && o.aboutThen(edited):
			return "", o.excused(clocksApart)
		}
	}
	return strings.Join(why, "; "), false
}

// mayBeFor reports whether a rollout of ours may be for the latest change that it had been shown.
func (o *oracle) mayBeFor(w *workloadTruth, l *look, src simapi.Source, c change) (string, bool) {
	horizon := max(w.foreign, w.first[src])
	if o.beforeUs(c) {
		horizon = max(horizon, o.installedAt)
	}
	shown := o.latestShown(src, l)
	switch {
	case c.version <= w.carried[src]:
		if w.forgotten[src] && o.doubtful(w, l, src, c, max(horizon, w.mayCover(src))) {
			return "", o.excused(ledgerGone)
		}
		if (w.undone() || o.turnedUnrolled(w)) && o.mayHaveReturned(w) && (c.timeless(shown) || l.older(shown) || w.forgotten[src] && o.mayHideRemoval(w, l, src, c)) {
			return "", o.excused(rolloutUndone) // the rollout with the change may be reverted, and not all Pods came from it
		}
		return fmt.Sprintf("the change of %s at %d was rolled before", src, c.version), false
	case c.version > horizon && c.version > w.covered[src]:
		return "", c.version > o.installedAt || o.excused(installedThen)
	case c.version > horizon:
		if _, lapsed := w.ended[src]; lapsed {
			return "", o.excused(changedInLapse)
		}
		return "", o.excused(allSeenInParts)
	case o.doubtful(w, l, src, c, horizon):
		return "", true
	case !o.beforeUs(c) && o.mayHaveReturned(w) && (c.version > w.first[src] || !o.widenedAnew(w, l, src, c) && (c.timeless(shown) || l.older(shown))):
		return "", o.excused(templateReturned)
	case w.began[src].by == bySource && w.began[src].version == c.version:
		return "", o.excused(inOneWrite)
	case w.changedSinceEarly(src, c):
		return "", o.excused(changedInLapse)
	case 0 < w.wrote[src] && w.wrote[src] < c.version && (c.timeless(shown) || l.older(shown)):
		return "", o.excused(optedInUnseen) // its first ledger has earlier data, which the controller still was shown
	default:
		return fmt.Sprintf("the change of %s at %d is not later than %d", src, c.version, horizon), false
	}
}

// beforeUs reports whether a change was made before the installation, and the API shows that.
func (o *oracle) beforeUs(c change) bool {
	return c.version <= o.installedAt && c.date.Before(o.installedIn)
}

// widened reports whether a change was made before the workload first covered the source, and a
// controller can know that: it saw the opt-in, or --auto-reload-all began, or nothing proves an
// edit since the installation and it did not see the edit.
func (o *oracle) widened(w *workloadTruth, l *look, src simapi.Source, c change) bool {
	began := w.began[src]
	if c.version > began.version || c.version == began.version && began.by == bySource {
		return false // also if one write changes the data and the annotations
	}
	switch began.by {
	case byStart:
		if !o.asksItself(l, src) {
			return began.version > o.installedAt || o.beforeUs(c)
		} // nothing shows since when it opts in itself
	case bySource:
		if began.version > l.live[src.Resource] {
			return true
		}
	case byNamespace:
		if began.version > l.live[shop.Resource] {
			return true
		}
	case byWorkload:
		if began.version > l.live[plural(l.key.Kind)] && c.version > l.live[src.Resource] {
			return true
		}
	}
	return !o.provesEdit(l, src) && c.version <= l.live[src.Resource] && o.watched[src] < c.version
}

// widenedAnew reports whether a workload was widened by something other than a template that may
// have returned: that may have referenced the source before the controller saw any template. The same
// applies to a later template with the reference, if the rollout in which it came began unseen.
func (o *oracle) widenedAnew(w *workloadTruth, l *look, src simapi.Source, c change) bool {
	began := w.began[src]
	byTemplate := began.version == w.foreign || o.lastGap > w.before && slices.Contains(w.foreigns, began.version)
	return o.widened(w, l, src, c) && (began.by != byWorkload || !byTemplate)
}

// doubtful reports whether a change from before the Pods or the cover can seem to be later.
func (o *oracle) doubtful(w *workloadTruth, l *look, src simapi.Source, c change, horizon uint64) bool {
	if o.beforeUs(c) || o.widened(w, l, src, c) {
		return false
	}
	s := o.sources[src]
	if s.made > c.version && s.deleted <= l.live[src.Resource] {
		return o.excused(cameBackUnseen) // recreated, and the earlier data was not seen
	}
	inOrder := horizon > l.live[plural(l.key.Kind)] && (c.version > l.live[src.Resource] || l.known[src] < horizon)
	if inOrder {
		return false
	}
	shown := o.latestShown(src, l)
	if c.date.IsZero() || (c.version > w.created || w.wrote[src] > 0 && c.version > w.wrote[src]) && (!c.date.After(w.noted) || !shown.After(w.noted)) {
		return o.excused(showsNoTime) // data that the ledger does not have, with an older time
	}
	switch {
	case !l.older(shown):
		return false
	case !o.provesEdit(l, src) && (w.wrote[src] == 0 || w.forgotten[src]) && c.version <= l.live[src.Resource]:
		return false // without a ledger, unseen changes have only a time, which may be that of a label
	case l.pods.Count == 0:
		return o.excused(podsNotFound)
	case c.version <= w.first[src]:
		return o.excused(optedInUnseen)
	default:
		return o.excused(podsOlder)
	}
}
