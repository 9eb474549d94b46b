package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

// atRest judges the Pods.
func (o *oracle) atRest() {
	switch o.h.kind {
	case "", classKind:
	case cronJobKind:
		o.cronJobsAtRest()
		return
	default:
		o.jobsAtRest()
		return
	}
	for _, obj := range o.h.workloads() {
		w := o.workloads[obj.GetUID()]
		o.judgeSingle(w, obj)
		o.judgeComings(w)
		o.judgeMoves(w)
		o.judgePause(w, obj)
		waits := false
		for src, needed := range simapi.Needs(obj) {
			waits = waits || needed && !o.sources[src].exists
		}
		waits = waits || o.waitsForClass(obj)
		if waits {
			o.excused(podWaits)
			w.waited = true
			continue
		}
		for _, src := range sources() {
			if _, covered := w.covered[src]; covered {
				o.judgePods(w, obj, src)
			}
		}
		o.judgeClasses(w, obj)
		w.waited = false
	}
	o.adoptClasses()
	for _, obj := range o.h.workloads() {
		w := o.workloads[obj.GetUID()]
		w.forClasses, w.forPast = 0, 0
		for src := range w.covered {
			// A ledger that is removed twice stays in memory for a while, and is lost with it.
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
		had, refers := content[src]
		switch {
		case !started || !o.h.pods.Current(obj, pod):
			o.fail("the rollout of %s has not ended, pod %s is left", w.name, pod.Name)
		case !refers || had == s.content && s.exists:
		case !s.exists:
			o.excused(sourceGone) // see judgeComings
		case had == simapi.Absent && (len(s.changes) == 0 || s.changes[len(s.changes)-1].version <= s.made):
			o.excused(startedWithout) // see judgeComings
		case had == simapi.Absent && s.cameAfter(o.podMade[pod.UID]) == s.content:
			o.excused(startedWithout) // it has again the data that it had when it was created, which was not a change then
		case !o.undetectable(w, src, pod.UID):
			o.fail("at rest, pod %s of %s, created %s, has %s of %s, which is %s now", pod.Name, w.name,
				clockTime(pod.CreationTimestamp.Time), had, src, s.content)
		}
	}
}

// undetectable reports whether the data has an excuse: no workload was opted in for it at that
// time, the change left no trace, or no form of mark is left.
//
// The ledger has the excused data from then on, so that it is excused again if it changes and
// changes back while the Pod runs.
func (o *oracle) undetectable(w *workloadTruth, src simapi.Source, pod types.UID) bool {
	content := o.sources[src].content
	if o.leavesNoTrace(w, src, pod) {
		o.pardonedOf(pod)[src] = content
		return true
	}
	return o.pardoned[pod][src] == content && o.excused(backBeforeSeen)
}

func (o *oracle) leavesNoTrace(w *workloadTruth, src simapi.Source, pod types.UID) bool {
	s := o.sources[src]
	if w.undone() && (o.h.annotations || w.lower && w.annotated) {
		return o.excused(nothingToTry) // no form of mark follows the annotation, and a tool may have reverted that
	}
	away, back := s.away()
	// A controller that started after a ledger was restored cannot know what our rollout had.
	restored := w.forgotten[src] && w.tamperedIn <= o.startedAt || back > 0 && back <= w.anew[src]
	rolledWithout := away <= w.carried[src] && w.carried[src] < back && !restored
	if away > 0 && (away <= o.startedAt || back <= o.firstShown[src]) && !rolledWithout {
		return o.excused(backBeforeSeen) // it changed back before a controller that saw the change had compared it, or was notified
	}
	if o.awayInGap(src, pod) {
		return o.excused(backBeforeSeen)
	}
	return slices.ContainsFunc(s.changes, func(c change) bool {
		switch {
		case c.content != s.content, o.podMade[pod] > c.version:
			return false // it started after that change, and the data has gone and come back since
		case c.version <= o.installedAt:
			return o.excused(beforeInstalled)
		case c.version <= w.covered[src]:
			return o.excused(beforeCover)
		case c.date.IsZero() && w.carried[src] < c.version && w.returned && c.version < min(w.foreign, o.lastGap):
			return o.excused(rolloutUndone) // of another client, which had brought it: its source shows no time for that
		default:
			return o.hidden(w, src, c)
		}
	})
}

// hidden reports whether a change happened while no controller watched, before any controller had
// recorded the data of the workload, and the API shows nothing of it. Examples are removed keys, a
// recreated source, several writes within one second, or a time that may be that of a label.
func (o *oracle) hidden(w *workloadTruth, src simapi.Source, c change) bool {
	s := o.sources[src]
	adopted := w.adopted[src] > 0 && w.adopted[src] <= c.version
	shows := !c.date.IsZero() && s.made < c.version && !c.instant && !c.date.After(o.newestShown[src])
	lost := o.keyLostAt >= c.version || o.keyless // until the next rest, ledgers may still have digests of the lost key
	recorded := s.datedAt(w.wrote[src])
	hides := recorded.version > 0 && (!recorded.proven || recorded.untracked) // when a ledger recorded it
	switch {
	case c.deleted > 0 && c.deleted <= w.covered[src]:
		return o.excused(deletedUnasked)
	case c.deleted > 0 && c.deleted <= o.lastGap && !adopted:
		return o.excused(deletedUnseen)
	case c.version > o.lastGap:
		return false
	case c.date.IsZero() && c.version <= w.waitsFor[src] && slices.ContainsFunc(s.changes, func(b change) bool {
		return b.version < c.version && b.date.Unix() > w.waitsOver
	}):
		return o.excused(overwrittenUnseen) // of the time of that change, as far as the ledger of then shows
	case c.date.IsZero() && c.version <= w.waitsFor[src] && w.labeled[src] >= c.version && s.dateAt(w.waitsFor[src]).Unix() > w.waitsOver:
		return o.excused(labeledUnseen) // the ledger of then did not show that the change has no time
	case c.version <= w.waitsFor[src] && (!lost || src.Resource != "secrets"):
		return false // the ledger has shown that its reload waits
	case w.overwritten[src] == c.version:
		return o.excused(overwrittenUnseen)
	case c.date.IsZero() && slices.ContainsFunc(s.changes, func(b change) bool {
		return b.version < c.version && b.version > o.since && !b.date.IsZero()
	}):
		w.overwritten[src] = c.version
		return o.excused(overwrittenUnseen)
	case lost && src.Resource == "secrets":
		return (!shows || !c.date.After(w.noted) || !c.proven || hides) && o.excused(keyLostUnseen)
	case c.date.IsZero() && w.labeled[src] >= c.version:
		return o.excused(labeledUnseen)
	case adopted:
		return false
	case !shows:
		return o.excused(notAdopted)
	case c.date.Before(w.askedShown[src]):
		return o.excused(shownBefore)
	default:
		return (!c.proven || !s.datedAt(never).proven || hides) && o.excused(notProven)
	}
}

// judgeSingle applies if users did one thing only since the last rest, and it was one change of
// data. A source that is swapped for a moment changes twice.
func (o *oracle) judgeSingle(w *workloadTruth, obj simapi.Object) {
	if o.steps != 1 || o.keyless {
		return
	}
	for src := range w.covered {
		changes := o.sources[src].changes
		since := slices.IndexFunc(changes, func(c change) bool { return c.version > o.since })
		if since != len(changes)-1 || since < 0 || w.adopted[src] == 0 || len(o.h.pods.Of(obj)) == 0 {
			continue
		}
		reloads := 0
		for _, version := range w.reloads {
			if version > o.since {
				reloads++
			}
		}
		o.h.count("single")
		last := changes[len(changes)-1]
		if w.foreign < o.since && (reloads == 0 || reloads-w.forClasses > 1) && (reloads > 0 || !o.hidden(w, src, last)) {
			o.fail("%s was rolled %d times for the only change, that of %s at %d", w.name, reloads, src, last.version)
		}
	}
}

// bringsNews reports whether a rollout of ours brings other data than the controller knew at the earlier
// ones.
func (o *oracle) bringsNews(w *workloadTruth, l *look) bool {
	for src := range w.covered {
		if s := o.sources[src]; w.carried[src] < l.known[src] && s.contentAt(w.carried[src]) != s.contentAt(l.known[src]) {
			return true
		}
	}
	return false
}

func (o *oracle) pardonedOf(pod types.UID) map[simapi.Source]string {
	if o.pardoned[pod] == nil {
		o.pardoned[pod] = map[simapi.Source]string{}
	}
	return o.pardoned[pod]
}
