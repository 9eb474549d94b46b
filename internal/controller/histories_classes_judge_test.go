package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/test/simapi"
)

// why finds a reason for a rollout of ours.
func (o *oracle) why(w *workloadTruth, l *look) (string, bool) {
	if o.h.driver != nil && o.forClass(w, l) {
		w.forClasses++
		return "", true
	}
	why, ok := o.reason(w, l)
	if ok || o.h.driver == nil {
		return why, ok
	}
	if o.mayBeForClass(w, l) {
		w.forClasses++
		w.forPast++
		return why, true
	}
	return strings.TrimPrefix(why+o.whyNotForClass(w, l), "; "), false
}

// whyNotForClass describes the knowledge about the classes that the workload covers.
func (o *oracle) whyNotForClass(w *workloadTruth, l *look) string {
	var b strings.Builder
	for _, name := range classNames() {
		if c := o.classes.covers[w.uid][name]; c != nil {
			r := latestRotation(l.shown[name])
			fmt.Fprintf(&b, "; the last rotation of %s that was shown is to turn %d at %d, carried %d, covered %t since %d, pods stale %t, not reported %t, newest %d, brought %d, over %t, late %d, live since %d, clocks apart %t",
				name, r.turn, r.version, c.carried, c.covered, c.since, l.stale[name], l.untold[name], l.newest[name], c.brought, l.standsOver(name), l.late[name], l.liveAt, o.h.skewed)
		}
	}
	return b.String()
}

// forClass reports whether the rollout is for a rotation.
func (o *oracle) forClass(w *workloadTruth, l *look) bool {
	for name, c := range o.classes.covers[w.uid] {
		r := latestRotation(l.shown[name])
		if c.covered && l.stale[name] && r.turn > c.carried && r.version > max(w.lastRolled(), c.since, o.installedAt) {
			return true
		}
	}
	return false
}

// mayBeForClass reports whether the rollout may be for a rotation of one class. A late status excuses few
// rollouts, and not one that another class has a reason for: so that class is asked first.
func (o *oracle) mayBeForClass(w *workloadTruth, l *look) bool {
	names := slices.SortedStableFunc(slices.Values(classNames()), func(a, b string) int { return cmp.Compare(l.late[a], l.late[b]) })
	return slices.ContainsFunc(names, func(name string) bool {
		c, r := o.classes.covers[w.uid][name], latestRotation(l.shown[name])
		switch {
		case c == nil:
			return false
		case !c.covered:
			return o.endedUnseen(c, l, name) && o.excused(sentBefore)
		case c.knewLate(l.late[name], w.waits):
			return o.excused(writtenLate)
		case !slices.Contains(classesOf(w.name), name):
			return o.mayBeForNamed(w, l, name, c, r)
		case l.overEarlier[name], l.standsOver(name) && (l.untold[name] || l.behind[name] && l.newest[name] > c.brought):
			return o.excused(overEarlier)
		case l.standsOver(name) && l.stale[name] && r.turn == c.carried && w.lastReload() <= l.liveAt:
			return o.excused(overEarlier) // it seems to be rotated again, while the reload for it replaces Pods
		case l.back[name] && (r.turn > c.carried || w.undone() && o.mayHaveReturned(w)):
			return o.excused(startedBack)
		case l.lacks[name] && r.turn > c.carried && r.version > max(w.lastRolled(), c.since, o.installedAt):
			return o.excused(mayBeAdded)
		case r.turn < 0 && l.untold[name] && l.replaced[name] > 0 && w.undone() && o.mayHaveReturned(w):
			return o.excused(overEarlier) // the status that seems to show a rotation is deleted since
		case r.turn < 0 && l.untold[name] && c.tampered < w.tampered:
			return o.excused(ledgerGone) // the one before has another turn, and only the age of a Pod decides
		case r.turn < 0:
			return l.untold[name] && l.newest[name] > c.brought && o.excused(notReported)
		default:
			return o.mayBeForRotation(w, l, name, c, r)
		}
	})
}

// mayBeForNamed reports whether it may be for a class that the workload names without mounting it.
// Then only the age of its Pods decides.
func (o *oracle) mayBeForNamed(w *workloadTruth, l *look, name string, c *classCover, r rotation) bool {
	older := l.stale[name] || l.untold[name]
	switch {
	case l.newest[name] > c.brought, (l.newest[name] > c.carried || c.other) && w.lastReload() <= l.liveAt:
		// The ledger need not have a turn that Pods have only started with, and a controller that
		// starts later cannot distinguish that turn from others.
		return o.excused(onlyNamed)
	case l.standsOver(name), l.replaced[name] > w.lastReload():
		return o.excused(overEarlier)
	case l.untold[name] && r.version <= l.liveAt && (c.lapsed || c.tampered < w.tampered):
		return o.excused(ledgerGone)
	case l.returned[name] > w.lastReload():
		return o.excused(reportedBack)
	case l.parts[name] > w.lastReload():
		return o.excused(givenInParts)
	case r.turn < c.carried && l.anew[name] > w.lastReload():
		// Before it forgot the class, the controller was shown only earlier turns than the ledger has.
		// Pods of the workload may have started with these, so the data seems to have come back.
		return o.excused(shownAgain)
	case r.turn < 0 && c.tampered < w.tampered && l.older(l.lastAdded(name)):
		return o.excused(ledgerGone) // the one before has an earlier turn
	case r.turn < 0 && (l.newest[name] < c.recorded || l.other[name]) && l.older(l.lastAdded(name)):
		// The ledger has a later turn, which no status reports any more, and no rotation is known.
		return o.excused(shownAgain)
	case older && w.undone() && o.mayHaveReturned(w):
		return o.excused(rolloutUndone)
	default:
		again := r.version > max(l.liveAt, w.lastRolled()) || r.turn < max(c.carried, c.recorded) && w.lastReload() <= l.liveAt
		return older && again && o.excused(shownAgain)
	}
}

// standsOver reports whether any status of the class replaced that of an earlier Pod, unseen.
func (l *classLook) standsOver(name string) bool {
	return slices.Contains(slices.Collect(maps.Values(l.over)), name)
}

// endedUnseen reports whether a cover had ended and the controller had not been shown that yet.
func (o *oracle) endedUnseen(c *classCover, l *look, name string) bool {
	src := simapi.Source{Resource: simapi.ClassResource, Name: name}
	switch {
	case c.ended.version > l.at:
		return true
	case c.ended.by == bySource:
		return max(l.known[src], l.gone[src]) < c.ended.version
	case c.ended.by == byNamespace:
		return l.known[shop] < c.ended.version
	case c.ended.by == byWorkload:
		return max(l.known[src], l.gone[src]) < o.sources[src].said && o.wouldAsk(l, src, func(s *sourceTruth) { s.matches, s.ignored = true, false })
	default:
		return c.ended.by == byStart && l.life != o.h.life
	}
}

// mayBeForRotation reports whether it may be for the latest rotation that the controller was shown.
func (o *oracle) mayBeForRotation(w *workloadTruth, l *look, name string, c *classCover, r rotation) bool {
	if o.mayBeByOneClock(w, l, name, c, r) {
		return true
	}
	// By their times, it was rotated after the installation or the beginning of the cover.
	return o.h.skewed && l.stale[name] && r.turn > c.carried && r.version <= max(o.installedAt, c.since) && o.excused(clocksApart)
}

// mayBeByOneClock is mayBeForRotation unless two clocks differ.
func (o *oracle) mayBeByOneClock(w *workloadTruth, l *look, name string, c *classCover, r rotation) bool {
	stale := l.stale[name]
	switch {
	case r.turn > c.carried && l.asked && l.pods.Count == 0:
		return o.excused(podsNotFound)
	case !stale && !l.untold[name]:
		return false
	case r.turn <= c.carried && (c.lapsed || c.tampered < w.tampered):
		return o.excused(ledgerGone)
	case r.turn < max(c.carried, c.recorded) && w.lastReload() <= l.liveAt, r.turn == c.carried && r.version > max(l.liveAt, w.lastRolled()):
		return o.excused(shownAgain)
	case r.turn == c.carried && c.other && w.lastReload() <= l.liveAt:
		return o.excused(startedBack)
	case max(c.recorded, c.told) < r.turn && r.turn <= c.carried && w.lastReload() <= l.liveAt:
		return o.excused(shownAgain) // when the last ledger was written, no status reported it any more
	case r.turn <= c.carried && l.returned[name] > w.lastReload():
		return o.excused(reportedBack)
	case r.turn <= c.carried && l.parts[name] > w.lastReload():
		return o.excused(givenInParts)
	case r.turn <= c.carried:
		return w.undone() && o.mayHaveReturned(w) && o.excused(rolloutUndone)
	case !stale:
		return o.excused(notReported)
	case r.version <= o.installedAt && !r.date.Before(o.installedIn):
		return o.excused(installedThen)
	case r.version <= o.installedAt:
		// The ledger has a later turn, which no status reports any more.
		return r.turn < c.recorded && o.excused(shownAgain)
	case r.version <= c.first:
		unseen := c.first <= max(l.live[simapi.ClassResource], l.live[plural(l.key.Kind)])
		return unseen && o.excused(optedInUnseen)
	case r.version <= c.since:
		return o.excused(changedInLapse)
	case o.mayHaveReturned(w):
		return o.excused(templateReturned)
	case l.returned[name] > w.lastRolled():
		return o.excused(reportedBack)
	default:
		unordered := r.version <= l.liveAt || w.lastRolled() <= l.live[plural(l.key.Kind)]
		return unordered && o.excused(podsOlder)
	}
}

// waitsForClass reports whether Pods of a workload may wait for a class that does not exist.
func (o *oracle) waitsForClass(obj simapi.Object) bool {
	return slices.ContainsFunc(mounted(obj), func(src simapi.Source) bool { return !o.sources[src].exists })
}

// judgeClasses judges the Pods of a workload at rest.
func (o *oracle) judgeClasses(w *workloadTruth, obj simapi.Object) {
	for _, name := range classNames() {
		c, last := o.classes.covers[w.uid][name], latestRotation(o.classes.rotations[name])
		if c == nil || !c.covered || last.turn < 0 {
			continue
		}
		o.judgeSingleRotation(w, obj, name)
		for _, pod := range o.h.pods.Of(obj) {
			given, _ := o.h.driver.Given(pod.UID, name)
			all := o.givenTo(pod, name)
			if last = latestRotation(all); !o.hasTurn(pod, name, last) && !o.neverAsked(w, c, pod, name, all) {
				o.fail("at rest, pod %s of %s has started with turn %d of %s, and the rotation at %d was to turn %d", pod.Name, w.name, given.Started, name, last.version, last.turn)
			}
		}
	}
}

// hasTurn reports whether a Pod has started with the turn of a rotation.
func (o *oracle) hasTurn(pod *corev1.Pod, name string, r rotation) bool {
	given, mounted := o.h.driver.Given(pod.UID, name)
	if !mounted {
		r = o.broughtIn(name)
		return o.podMade[pod.UID] > r.version || pod.CreationTimestamp.After(r.date.Add(startLag)) || startedAfter(pod, r.date.Add(time.Second))
	}
	has, turns := o.h.driver.Turn(name, given.Started), o.h.driver.Turns(name)
	return given.Started >= r.turn || maps.Equal(has, o.h.driver.Turn(name, r.turn)) || maps.Equal(has, turns[len(turns)-1])
}

// broughtIn returns the rotation that brought the latest version of the objects of a class. An
// object that the class loses, or has again with the same version, is no other data for Pods that
// do not mount it.
func (o *oracle) broughtIn(name string) rotation {
	all := o.classes.rotations[name]
	var brought rotation
	for id, version := range o.h.driver.Turn(name, latestRotation(all).turn) {
		var first rotation
		for _, r := range slices.Backward(all) {
			had := o.h.driver.Turn(name, r.turn)[id]
			switch {
			case had == "", had == o.h.driver.Turn(name, r.started)[id]:
				continue // it gave the Pod nothing of this object
			case had == version:
				first = r
				continue
			}
			break
		}
		if first.version > brought.version {
			brought = first
		}
	}
	return brought
}

// neverAsked reports whether a Pod has another turn than the current one because no controller had
// to act on it, or could know of it.
func (o *oracle) neverAsked(w *workloadTruth, c *classCover, pod *corev1.Pod, name string, all []rotation) bool {
	last := o.firstOf(all, pod, name)
	src := simapi.Source{Resource: simapi.ClassResource, Name: name}
	content := o.h.driver.Turn(name, last.turn)
	cameBack := slices.ContainsFunc(o.h.driver.Turns(name)[:last.turn], func(versions map[string]string) bool { return maps.Equal(versions, content) })
	back := min(last.version, o.seemedBackIn(name, last))
	brought := min(back, o.seemedLateIn(name, last))
	adopted := c.adopted > 0 && c.adopted <= brought
	if !mounts(pod, name) {
		brought = min(brought, o.broughtIn(name).version) // a later turn may have no other data for it
	}
	switch {
	case w.undone() && (o.h.annotations || w.lower && w.annotated):
		return o.excused(nothingToTry)
	case !o.sources[src].exists && !o.reported(name):
		return o.excused(sourceGone)
	case brought <= o.installedAt:
		return o.excused(beforeInstalled)
	case brought <= c.since:
		return o.excused(beforeCover)
	case o.pardoned[pod.UID][src] == fmt.Sprint(content), (cameBack || o.hadAll(name, last)) && back <= o.lastGap:
		o.pardonedOf(pod.UID)[src] = fmt.Sprint(content)
		return o.excused(backBeforeSeen)
	case !adopted && brought <= o.lastGap:
		return o.excused(notAdopted)
	case (!mounts(pod, name) || !o.sources[src].exists) && last.version <= o.lastGap && latestRotation(o.classes.shown[name]).turn < last.turn:
		return o.excused(rotationGone)
	case o.givenUnseen(pod, name, last):
		return o.excused(startedLate)
	case o.rotatedByTakeover(name, last, c.since), !mounts(pod, name) && o.rotatedByTakeover(name, last, o.podMade[pod.UID]):
		return o.excused(overEarlier)
	case !mounts(pod, name) && (o.skippedBack(name, o.broughtIn(name)) || o.returnedBefore(name, last, o.podMade[pod.UID])):
		return o.excused(writtenLate)
	default:
		return false
	}
}

// judgeSingleRotation applies if users did one thing only since the last rest, and a class was
// rotated once. Whether a reload is missing, the Pods show.
func (o *oracle) judgeSingleRotation(w *workloadTruth, obj simapi.Object, name string) {
	all, c := o.classes.rotations[name], o.classes.covers[w.uid][name]
	since := slices.IndexFunc(all, func(r rotation) bool { return r.version > o.since })
	if !slices.Contains(classesOf(w.name), name) && o.broughtIn(name) != latestRotation(all) {
		return
	}
	if o.steps != 1 || since < 0 || since != len(all)-1 || c.adopted == 0 || c.adopted > all[since].version || o.classes.late[name] > o.since || w.foreign > o.since || len(o.h.pods.Of(obj)) == 0 {
		return
	}
	o.h.count("single rotations")
	if reloads := w.reloadsSince(o.since); reloads-w.forPast > 1 {
		o.fail("%s was rolled %d times for the only rotation, that of %s at %d", w.name, reloads, name, all[since].version)
	}
}

// lastReload returns the version of our last reload, or 0.
func (w *workloadTruth) lastReload() uint64 {
	if len(w.reloads) == 0 {
		return 0
	}
	return w.reloads[len(w.reloads)-1]
}

// reloadsSince returns the number of our reloads after a version.
func (w *workloadTruth) reloadsSince(version uint64) int {
	first := slices.IndexFunc(w.reloads, func(v uint64) bool { return v > version })
	if first < 0 {
		return 0
	}
	return len(w.reloads) - first
}

// reported reports whether any Pod has a status of a class.
func (o *oracle) reported(name string) bool {
	return slices.ContainsFunc(o.h.server.List(simapi.StatusResource), func(t simapi.Object) bool { return classOfStatus(t) == name })
}

// adoptClasses records, at rest, that the controller has had time to record what it was shown.
func (o *oracle) adoptClasses() {
	for uid, covers := range o.classes.covers {
		for name, c := range covers {
			if w := o.workloads[uid]; w != nil && c.covered && o.reported(name) && c.adopted == 0 && w.tampered < 2 {
				c.adopted = o.h.server.Version() + 1
			}
		}
	}
}
