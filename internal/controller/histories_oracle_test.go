package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/simapi"
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
	h   *history
	err error

	sources   map[simapi.Source]*sourceTruth
	workloads map[types.UID]*workloadTruth

	// known and live go into each look: what the running controller has been shown.
	known map[simapi.Source]uint64
	live  map[string]uint64
	gone  map[simapi.Source]uint64
	// goneAt is when the running controller was shown a deletion.
	goneAt map[simapi.Source]time.Time

	installedAt uint64
	lastGap     uint64
	startedAt   uint64
	// keyLostAt is when the digest key was last lost, 0 for never, and keyless is true until the next rest.
	keyLostAt uint64
	keyless   bool

	// since is the version of the last rest, and steps are what users have done since then.
	since uint64
	steps int
}

func newOracle(h *history) *oracle {
	return &oracle{
		h:         h,
		sources:   map[simapi.Source]*sourceTruth{},
		workloads: map[types.UID]*workloadTruth{},
		known:     map[simapi.Source]uint64{},
		live:      map[string]uint64{},
		gone:      map[simapi.Source]uint64{},
		goneAt:    map[simapi.Source]time.Time{},
	}
}

func (o *oracle) fail(format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf(format, args...)
		o.h.say("FAILED: %v", o.err)
	}
}

func (o *oracle) stepped() { o.steps++ }

func (o *oracle) installed() { o.installedAt = o.h.server.Version() }

// keyLost makes what was noted of Secrets unreadable.
func (o *oracle) keyLost() {
	o.keyLostAt, o.keyless = o.h.server.Version(), true
	for _, w := range o.workloads {
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

// started forgets what the controller before was shown.
func (o *oracle) started() {
	clear(o.known)
	clear(o.live)
	clear(o.gone)
	clear(o.goneAt)
	o.startedAt = o.h.server.Version()
}

// delivered notes what the controller is shown: that an object is in a version, or that it is gone.
func (o *oracle) delivered(resource, name string, version uint64, gone bool) {
	src := simapi.Source{Resource: resource, Name: name}
	if gone {
		delete(o.known, src)
		o.gone[src], o.goneAt[src] = version, o.h.server.Now()
	} else {
		o.known[src] = version
	}
}

// whole notes that a snapshot is complete, and so what is gone.
func (o *oracle) whole(resource string, version uint64, names map[types.NamespacedName]struct{}) {
	o.live[resource] = version
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

func (o *oracle) look(key reload.WorkloadKey) *look {
	l := &look{life: o.h.life, key: key, known: maps.Clone(o.known), live: maps.Clone(o.live), gone: maps.Clone(o.gone), departed: map[simapi.Source]uint64{}, onDelete: o.h.onDelete}
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
func (o *oracle) reason(w *workloadTruth, e simapi.Event, l *look) (string, bool) {
	var why []string
	for _, src := range sources() {
		if _, covered := w.covered[src]; !covered {
			continue
		}
		if o.leftBehind(e.Old, src, l) || w.unreadable[src] && (l.older(o.sources[src].dateAt(l.known[src])) || o.sources[src].made > o.keyLostAt) {
			return "", true
		}
		if o.wentAway(w, src, l) || o.cameUp(w, src, l) || o.madeAgain(w, src, l) {
			return "", true
		}
		horizon := max(w.foreign, w.first[src], o.installedAt)
		for _, c := range slices.Backward(o.sources[src].changes) {
			switch {
			case c.version > l.known[src]:
				continue
			case c.version <= w.carried[src]:
				if w.forgotten[src] && o.doubtful(w, l, src, c, max(horizon, w.covered[src])) {
					return "", true
				}
				if w.undone() && o.mayHaveReturned(w) && (c.date.IsZero() || l.older(o.sources[src].dateAt(l.known[src]))) {
					return "", true // the rollout that carried it was taken back, and not all pods came from it
				}
				why = append(why, fmt.Sprintf("the change of %s at %d was rolled before", src, c.version))
			case c.version > horizon || o.doubtful(w, l, src, c, horizon):
				return "", true
			case c.version > o.installedAt && o.mayHaveReturned(w) && (c.version > w.first[src] || c.date.IsZero() || l.older(o.sources[src].dateAt(l.known[src]))):
				return "", true
			default:
				why = append(why, fmt.Sprintf("the change of %s at %d is not later than %d", src, c.version, horizon))
			}
			break
		}
	}
	return strings.Join(why, "; "), false
}

// mayHaveReturned tells whether the last rollout by somebody else brought a template back of which there are pods from
// before, or whether nobody can know because the rollouts before it were not all seen.
func (o *oracle) mayHaveReturned(w *workloadTruth) bool { return w.returned || o.lastGap > w.before }

// leftBehind tells whether a pod of the present template has another content than the controller had been shown. The
// rollout that is going on would never replace it.
func (o *oracle) leftBehind(obj simapi.Object, src simapi.Source, l *look) bool {
	i := slices.IndexFunc(o.sources[src].changes, func(c change) bool { return c.version > l.known[src] })
	if i >= 0 || !o.sources[src].exists {
		return false
	}
	return slices.ContainsFunc(o.h.pods.Of(obj), func(pod *corev1.Pod) bool {
		content, started := o.h.pods.Content(pod)
		had, refers := content[src]
		return started && refers && had != o.sources[src].content && o.h.pods.Current(obj, pod)
	})
}

// doubtful tells whether a change that is earlier than what pods were started after can rightly be taken for a later
// one.
func (o *oracle) doubtful(w *workloadTruth, l *look, src simapi.Source, c change, horizon uint64) bool {
	if c.version <= o.installedAt {
		return false
	}
	s := o.sources[src]
	if s.made > c.version && s.deleted <= l.live[src.Resource] {
		return true // it came back, and what it was before was not seen
	}
	inOrder := horizon > l.live[plural(l.key.Kind)] && (c.version > l.live[src.Resource] || l.known[src] < horizon)
	if inOrder {
		return false
	}
	if c.date.IsZero() || (c.version > w.created || w.wrote[src] > 0 && c.version > w.wrote[src]) && !c.date.After(w.noted) {
		return true // a content that the ledger does not have, and that claims to be older
	}
	date := s.dateAt(l.known[src])
	return l.older(date)
}

// older tells whether the controller was shown a pod that may have been started before a content was there.
func (l *look) older(date time.Time) bool {
	return l.asked && l.pods.Count > 0 && !l.pods.Oldest.After(date.Add(startLag))
}

// startLag is the age by which a pod must be younger than a content to have it for sure.
const startLag = 5 * time.Second

// atRest judges the pods.
func (o *oracle) atRest() {
	for _, obj := range o.h.workloads() {
		w := o.workloads[obj.GetUID()]
		o.judgeSingle(w, obj)
		o.judgeComings(w)
		o.judgePause(w, obj)
		waits := slices.ContainsFunc(simapi.Refers(obj), func(src simapi.Source) bool { return !o.sources[src].exists })
		for _, src := range sources() {
			if _, covered := w.covered[src]; !covered || waits {
				continue // without all of its sources no new pod can start
			}
			o.judgePods(w, obj, src)
		}
	}
	for _, obj := range o.h.workloads() {
		w := o.workloads[obj.GetUID()]
		for src := range w.covered {
			// A ledger that is taken away twice is kept in memory for a while, and lost with it.
			if w.adopted[src] == 0 && o.sources[src].exists && w.tampered < 2 {
				w.adopted[src] = o.h.server.Version() + 1
			}
		}
	}
	o.since, o.steps, o.keyless = o.h.server.Version(), 0, false
}

func (o *oracle) judgePods(w *workloadTruth, obj simapi.Object, src simapi.Source) {
	s := o.sources[src]
	for _, pod := range o.h.pods.Of(obj) {
		content, started := o.h.pods.Content(pod)
		_, refers := content[src]
		switch {
		case !started || !o.h.pods.Current(obj, pod):
			o.fail("the rollout of %s has not ended, pod %s is left", w.name, pod.Name)
		case refers && content[src] != s.content && !o.undetectable(w, src):
			o.fail("at rest, pod %s of %s, created %s, has %s of %s, which is %s now", pod.Name, w.name,
				clockTime(pod.CreationTimestamp.Time), content[src], src, s.content)
		}
	}
}

// undetectable is true for a content that nobody asked to act upon when it came to be, that left nothing to find, or for
// which nothing more is to be tried.
func (o *oracle) undetectable(w *workloadTruth, src simapi.Source) bool {
	s := o.sources[src]
	if w.undone() && (o.h.annotations || w.again) {
		return true // there is no other mark to try after the annotation, which somebody may have taken back
	}
	away, back := s.away()
	rolledWithout := away <= w.carried[src] && w.carried[src] < back
	if away > 0 && away <= o.startedAt && !rolledWithout {
		return true // it came back before anybody who saw it go had compared it, or was told
	}
	return slices.ContainsFunc(s.changes, func(c change) bool {
		return c.content == s.content && (c.version <= o.installedAt || c.version < w.covered[src] || o.hidden(w, src, c))
	})
}

// hidden is true for a change that happened while no controller watched, before one had ever noted the content that the
// workload had, and of which the API shows nothing: keys that were only taken away, a source that was made again, or
// everything within one second. What is older than the digest key counts as older than the installation then.
func (o *oracle) hidden(w *workloadTruth, src simapi.Source, c change) bool {
	s := o.sources[src]
	adopted := w.adopted[src] > 0 && w.adopted[src] <= c.version
	shows := !c.date.IsZero() && s.made < c.version && !c.instant
	lost := o.keyLostAt >= c.version || o.keyless // until the next rest, ledgers may still be those under the lost key
	switch {
	case c.deleted > 0 && c.deleted <= o.lastGap && !adopted:
		return true // what it was before was never seen
	case c.version > o.lastGap:
		return false
	case w.overwritten[src] == c.version:
		return true
	case c.date.IsZero() && slices.ContainsFunc(s.changes, func(b change) bool {
		return b.version < c.version && b.version > o.since && !b.date.IsZero()
	}):
		w.overwritten[src] = c.version
		return true // keys were written and then only taken away: the time that is shown is that of the writing
	case lost && src.Resource == "secrets":
		return !shows || !c.date.After(w.noted)
	default:
		return !adopted && (!shows || lost)
	}
}

// judgeSingle holds where users did one thing only since the last rest, and it was one change of content.
func (o *oracle) judgeSingle(w *workloadTruth, obj simapi.Object) {
	if o.steps != 1 || o.keyless {
		return
	}
	for src := range w.covered {
		changes := o.sources[src].changes
		if len(changes) == 0 || changes[len(changes)-1].version <= o.since || w.adopted[src] == 0 || len(o.h.pods.Of(obj)) == 0 {
			continue
		}
		reloads := 0
		for _, version := range w.reloads {
			if version > o.since {
				reloads++
			}
		}
		o.h.count("single")
		if w.foreign < o.since && reloads != 1 {
			o.fail("%s was rolled %d times for the only change, that of %s at %d", w.name, reloads, src, changes[len(changes)-1].version)
		}
	}
}
