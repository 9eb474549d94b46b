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

// oracle judges a history by what the API server was told and by what pods were started with. It calls nothing of
// package reload and reads no ledger.
//
// Words: a change is a write after which the content of a source differs, also across a deletion. A source is covered by
// a workload from when the workload exists, refers to it and asks for it. A rollout is a write that changes a pod
// template: ours or somebody else's. A gap is the start of a controller or a new snapshot: what came before it was not
// seen in order.
//
//  1. No change is lost. At rest, every pod of a workload has the present content of every source that it covers.
//     Excepted are changes that nobody asked to act upon: from before the installation, or from before the cover began.
//     And there are changes that leave nothing to find: see undetectable.
//  2. Nothing rolls without a change. Each rollout of ours has a change that the controller had been shown, that no
//     earlier rollout of ours was made with, and that is later than the last rollout by somebody else and than the
//     beginning of the cover. Only across a gap, when no order was seen, may the change be earlier than those: if a pod
//     that ran then was created no more than startLag after the time that the API shows for the content, or if it
//     shows none. The age of the pods is also all there is for Secrets whose digest key was lost, and for a ledger that
//     somebody took away while no controller ran. That is "in doubt, reload". Two rollouts of ours never have the same change, so this is also "at most
//     once each"; "at least once" follows from 1.
//     A source that is made, or deleted, is a change in the histories with these flags: see histories_comings_test.go.
//  3. A single change is one rollout. Where users did nothing from one rest to the next but change one content, each
//     workload that covers it was rolled exactly once, through every fault and kill.
//  4. Nothing is left paused: see histories_pauses_test.go.
type oracle struct {
	h         *history
	err       error
	sources   map[simapi.Source]*sourceTruth
	workloads map[types.UID]*workloadTruth
	runsTruth

	// known and live go into each look: what the running controller has been shown.
	known map[simapi.Source]uint64
	live  map[string]uint64
	gone  map[simapi.Source]uint64
	// goneAt is when the running controller was shown a deletion.
	goneAt map[simapi.Source]time.Time
	// firstShown is the first version of a source that it was shown, and newestShown the newest time for its content.
	firstShown  map[simapi.Source]uint64
	newestShown map[simapi.Source]time.Time

	// installedAt is when the digest key was first made, and installedIn the second in which.
	installedAt uint64
	installedIn time.Time
	lastGap     uint64
	startedAt   uint64
	// keyLostAt is when the digest key was last lost, 0 for never, and keyless is true until the next rest.
	keyLostAt uint64
	keyless   bool

	// unselected reports whether controllers do not look at the namespace.
	unselected bool
	// all reports whether everything is opted in, and allFrom since which version controllers start that are to opt everything in; 0 if the
	// last one was not.
	all     bool
	allFrom uint64
	// podMade is the version in which a pod was made.
	podMade map[types.UID]uint64
	// pardoned are, by pod and source, the contents that it does not have for want of anybody who could know.
	pardoned map[types.UID]map[simapi.Source]string

	// since is the version of the last rest, and steps are what users have done since then.
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

// installed is when the first controller makes the digest key.
func (o *oracle) installed() { o.installedAt, o.installedIn = o.h.server.Version(), o.h.keyMade }

// keyLost makes what was noted of Secrets unreadable.
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

// gap forgets that anything was seen in order.
func (o *oracle) gap() { o.lastGap = o.h.server.Version() }

// started forgets what the controller before was shown. A controller that opts less in ends covers, and one that opts
// everything in begins them: it must act upon what changes from when it has seen everything, and may from its start.
func (o *oracle) started(all bool) {
	clear(o.known)
	clear(o.live)
	clear(o.gone)
	clear(o.goneAt)
	o.firstShown, o.newestShown = map[simapi.Source]uint64{}, map[simapi.Source]time.Time{}
	o.startedAt = o.h.server.Version()
	if all == (o.allFrom > 0) {
		return
	}
	o.all, o.allFrom = false, 0
	if all {
		o.allFrom = o.startedAt
	}
	o.coverAll(turn{o.startedAt, byStart}, o.startedAt)
}

// sees notes that the controller that runs has seen everything once.
func (o *oracle) sees() {
	if o.allFrom > 0 && !o.all {
		o.all = true
		o.coverAll(turn{o.allFrom, byStart}, o.h.server.Version())
	}
}

// delivered notes what the controller is shown: that an object is in a version, or that it is gone.
func (o *oracle) delivered(resource, name string, version uint64, gone bool) {
	src := simapi.Source{Resource: resource, Name: name}
	if gone {
		delete(o.known, src)
		o.gone[src], o.goneAt[src] = version, o.h.server.Now()
	} else {
		o.known[src] = version
		o.shown(src, version)
	}
}

// whole notes that a snapshot is complete, and so what is gone.
func (o *oracle) whole(resource string, version uint64, names map[types.NamespacedName]struct{}) {
	o.live[resource] = version
	if resource == shop.Resource {
		return // it is never deleted
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
	l := &look{life: o.h.life, key: key, at: o.h.server.Version(), known: maps.Clone(o.known), live: maps.Clone(o.live), gone: maps.Clone(o.gone), departed: map[simapi.Source]uint64{}, onDelete: o.h.onDelete}
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

// reason finds a change that a rollout of ours may be for.
func (o *oracle) reason(w *workloadTruth, l *look) (string, bool) {
	var why []string
	for _, src := range sources() {
		if _, covered := w.covered[src]; !covered {
			if ended, was := w.ended[src]; was && (ended.by == bySource && l.known[src] < ended.version || ended.by == byNamespace && l.known[shop] < ended.version || ended.by == byStart && l.life != o.h.life) {
				return "", o.excused(sentBefore)
			}
			if o.mayHaveMatched(src, l) {
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
		shown := o.sources[src].datedAt(l.known[src])
		switch {
		case w.unreadable[src] && (shown.proven && l.older(shown.date) || o.sources[src].made > o.keyLostAt):
			return "", o.excused(unreadable)
		case o.madeAgain(w, src, l):
			return "", o.excused(madeAgain)
		case o.seemsEdited(src, l):
			return "", o.excused(seemsEdited)
		case o.mayHaveReturned(w) && !shown.proven && l.older(shown.date):
			return "", o.excused(templateReturned) // a label has moved the time, and nothing tells when the data were edited
		case shown.proven && l.older(shown.date) && shown.date.Equal(o.installedIn):
			return "", o.excused(installedThen)
		case w.began[src].by == byStart && shown.proven && l.older(shown.date) && shown.date.Equal(o.h.coverage.AllSince):
			return "", o.excused(allThen)
		case o.h.skewed && shown.proven && l.older(shown.date) && o.aboutThen(shown.date):
			return "", o.excused(clocksApart)
		}
	}
	return strings.Join(why, "; "), false
}

// seemsEdited reports whether the API shows an edit of the data which there never was, where there is nothing but the age of pods.
func (o *oracle) seemsEdited(src simapi.Source, l *look) bool {
	_, known := l.known[src]
	shown := o.sources[src].datedAt(l.known[src])
	return known && shown.misleads && !shown.date.Before(o.installedIn) && l.older(shown.date)
}

// mayBeFor reports whether a rollout of ours may be for the latest change of a source that the controller had been shown.
func (o *oracle) mayBeFor(w *workloadTruth, l *look, src simapi.Source, c change) (string, bool) {
	horizon := max(w.foreign, w.first[src])
	if o.beforeUs(c) {
		horizon = max(horizon, o.installedAt)
	}
	shown := o.sources[src].dateAt(l.known[src])
	switch {
	case c.version <= w.carried[src]:
		if w.forgotten[src] && o.doubtful(w, l, src, c, max(horizon, w.covered[src])) {
			return "", o.excused(ledgerGone)
		}
		if w.undone() && o.mayHaveReturned(w) && (c.date.IsZero() || l.older(shown)) {
			return "", o.excused(rolloutUndone) // the rollout that carried it was taken back, and not all pods came from it
		}
		return fmt.Sprintf("the change of %s at %d was rolled before", src, c.version), false
	case c.version > horizon && c.version > w.covered[src]:
		return "", c.version > o.installedAt || o.excused(installedThen)
	case c.version > horizon:
		if _, lapsed := w.ended[src]; lapsed {
			return "", o.excused(changedInLapse)
		}
		return "", true // between the start of a controller that opts everything in and when it had seen everything
	case o.doubtful(w, l, src, c, horizon):
		return "", true
	case !o.beforeUs(c) && o.mayHaveReturned(w) && (c.version > w.first[src] || !o.widened(w, l, src, c) && (c.date.IsZero() || l.older(shown))):
		return "", o.excused(templateReturned)
	case w.began[src].by == bySource && w.began[src].version == c.version:
		return "", o.excused(inOneWrite)
	default:
		return fmt.Sprintf("the change of %s at %d is not later than %d", src, c.version, horizon), false
	}
}

// beforeUs reports whether a change was made before the installation, and that the API shows that.
func (o *oracle) beforeUs(c change) bool {
	return c.version <= o.installedAt && c.date.Before(o.installedIn)
}

// widened reports whether a change was made before the workload first asked for the source, and that who looks can know that: it saw
// it happen, or it began by itself to ask for everything, or nothing proves that the data was edited since the installation, and
// it did not see the edit.
func (o *oracle) widened(w *workloadTruth, l *look, src simapi.Source, c change) bool {
	began := w.began[src]
	if c.version > began.version || c.version == began.version && began.by == bySource {
		return false // also where one write changes the data and says whom it concerns
	}
	switch began.by {
	case byStart:
		return began.version > o.installedAt || o.beforeUs(c)
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
	return !o.sources[src].datedAt(l.known[src]).proven && c.version <= l.live[src.Resource]
}

// mayHaveReturned reports whether the last rollout by somebody else brought a template back of which there are pods from
// before, or whether nobody can know because the rollouts before it were not all seen.
func (o *oracle) mayHaveReturned(w *workloadTruth) bool { return w.returned || o.lastGap > w.before }

// doubtful reports whether a change that is earlier than what pods were started after, or than the cover, can rightly be taken
// for a later one.
func (o *oracle) doubtful(w *workloadTruth, l *look, src simapi.Source, c change, horizon uint64) bool {
	if o.beforeUs(c) || o.widened(w, l, src, c) {
		return false
	}
	s := o.sources[src]
	if s.made > c.version && s.deleted <= l.live[src.Resource] {
		return o.excused(cameBackUnseen) // it came back, and what it was before was not seen
	}
	inOrder := horizon > l.live[plural(l.key.Kind)] && (c.version > l.live[src.Resource] || l.known[src] < horizon)
	if inOrder {
		return false
	}
	if c.date.IsZero() || (c.version > w.created || w.wrote[src] > 0 && c.version > w.wrote[src]) && !c.date.After(w.noted) {
		return o.excused(showsNoTime) // a content that the ledger does not have, and that claims to be older
	}
	switch {
	case !l.older(s.dateAt(l.known[src])):
		return false
	case !s.datedAt(l.known[src]).proven && (w.wrote[src] == 0 || w.forgotten[src]) && c.version <= l.live[src.Resource]:
		return false // without a ledger, of what nobody saw there is only the time, which may be that of a label
	case l.pods.Count == 0:
		return o.excused(podsNotFound)
	case c.version <= w.first[src]:
		return o.excused(optedInUnseen)
	default:
		return o.excused(podsOlder)
	}
}
