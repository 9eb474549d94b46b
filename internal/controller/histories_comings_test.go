package controller

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/test/simapi"
)

// The knowledge of the oracle about created and deleted sources, if the controller has
// --reload-on-create or --reload-on-delete.
//
// A deletion is a change once, for a workload that covered the source and was written while the
// source existed. A creation is a change for a workload that is older, or whose Pods all ran
// before. The controller has to know the latter only if the status of the workload has counted a
// Pod that is Ready before: otherwise the two belong together. An exception is a workload that the
// controller wrote to while the source existed before, and that it has not rolled since for the
// missing source, unless a reload for the source waited when it was deleted.

// latestOf returns the last of these versions that is not later than another one, or 0.
func latestOf(versions []uint64, most uint64) uint64 {
	for _, v := range slices.Backward(versions) {
		if v <= most {
			return v
		}
	}
	return 0
}

// wentAway reports whether a rollout of ours may be for the deletion of a source.
func (o *oracle) wentAway(w *workloadTruth, src simapi.Source, l *look) bool {
	if _, known := l.known[src]; known || !o.h.onDelete {
		return false
	}
	deleted := latestOf(o.sources[src].goings, l.gone[src])
	if deleted <= o.installedAt || deleted <= w.missed[src] && !w.forgotten[src] {
		return false
	}
	if o.h.server.Now().Before(l.departedAt[src].Add(shortestSettle)) {
		return false // the source may be recreated soon
	}
	return o.later(w, src, l, deleted)
}

// mayHaveMatched reports whether a source without effect on a workload would have had one if it had
// the match annotation when it was deleted, which the running controller did not see.
func (o *oracle) mayHaveMatched(src simapi.Source, l *look) bool {
	return o.wentUnseen(src, l) && o.wouldAsk(l, src, func(s *sourceTruth) { s.matches = true })
}

// wentUnseen reports whether a source was deleted, which may count, and the running controller did not see
// that.
func (o *oracle) wentUnseen(src simapi.Source, l *look) bool {
	_, known := l.known[src]
	deleted := o.sources[src].deleted
	return !known && o.h.onDelete && deleted > 0 && deleted <= l.live[src.Resource]
}

// wouldAsk reports whether a workload would ask for a source with other annotations.
func (o *oracle) wouldAsk(l *look, src simapi.Source, with func(*sourceTruth)) bool {
	obj, err := o.h.server.Get(plural(l.key.Kind), inShop(l.key.Name))
	if err != nil {
		return false
	}
	s := o.sources[src]
	said := *s
	defer func() { *s = said }()
	with(s)
	return o.asksFor(obj, src, o.all)
}

// cameUp reports whether a rollout of ours may be for the creation of a source.
func (o *oracle) cameUp(w *workloadTruth, src simapi.Source, l *look) bool {
	version, known := l.known[src]
	if !known || !o.h.onCreate || w.named[src] && !w.forgotten[src] && !w.owed[src] && !w.goneNoted[src] {
		return false
	}
	made := latestOf(o.sources[src].comings, version)
	if made <= o.installedAt || made <= w.carried[src] && !w.forgotten[src] || o.sources[src].created.Before(w.made.Add(shortestSettle)) && !o.sources[src].withoutIt[w.uid] {
		return false
	}
	return o.later(w, src, l, made) && (!w.mayName[src] || o.excused(leftEarly))
}

// madeAgain reports whether the age of the Pods may mislead: a source that was recreated with the
// same data shows no earlier time, so that Pods of a restored template seem to be older than its
// data. Or a reload waited for its deletion, so that no ledger shows the data of the Pods any more.
func (o *oracle) madeAgain(w *workloadTruth, src simapi.Source, l *look) bool {
	_, known := l.known[src]
	return known && w.owedGone[src] || known && len(o.sources[src].comings) > 1 && o.mayHaveReturned(w) && l.older(o.sources[src].created)
}

// later reports whether a version may be taken for later than an action of another client on a
// workload.
func (o *oracle) later(w *workloadTruth, src simapi.Source, l *look, version uint64) bool {
	horizon := max(w.foreign, w.first[src])
	switch {
	case version > horizon:
		return true
	case version <= l.live[src.Resource], horizon <= l.live[plural(l.key.Kind)]:
		return o.excused(cameOrWentUnordered)
	default:
		return o.mayHaveReturned(w) && o.excused(templateReturned)
	}
}

// miss records, at our rollout of a workload, which sources its new Pods lack.
func (w *workloadTruth) miss(l *look) {
	for src, since := range w.covered {
		if _, known := l.known[src]; known {
			continue
		}
		w.missed[src] = l.gone[src]
		if l.gone[src] > since && l.onDelete {
			w.unname(src)
			delete(w.adopted, src)
		}
	}
}

// note records which sources existed when we wrote to a workload.
func (o *oracle) note(w *workloadTruth, l *look) {
	if len(w.wrote) == 0 && l.keys == o.h.keys {
		clear(w.unreadable) // its first ledger has no entry that was made with a lost key
	}
	for src := range w.ended {
		if _, covered := w.covered[src]; !covered && l.known[src] > 0 && o.coverEndUnseen(w, src, l) {
			w.noteEntry(src, l.known[src])
		}
	}
	for src := range w.covered {
		version, known := l.known[src]
		switch {
		case known:
			w.noteEntry(src, version)
		case l.onDelete && l.departed[src] == 0 && 0 < w.moved(src).doubtful && w.moved(src).doubtful <= l.gone[src]:
			w.unname(src) // nothing shows that it was selected when it was deleted unseen
			delete(w.adopted, src)
		case w.unreadable[src]:
			w.unname(src) // its entry was made with a lost key, and is dropped
		case w.lastRolled() >= l.gone[src] && l.onDelete:
			w.unname(src) // rolled since, by another client or for another source
			delete(w.adopted, src)
		case w.lastRolled() >= l.departed[src]:
		case l.departed[src] > w.covered[src]:
			// Its Pods may have it, so that only other data counts. If Pods start without it, they may not.
			// With --reload-on-delete, the ledger notes that it is gone, so that its return may count as a creation.
			w.named[src] = w.named[src] || !o.h.onCreate || !o.optional(src, l)
			w.goneNoted[src] = l.onDelete
		case w.named[src]:
			w.goneNoted[src] = l.onDelete // it was gone before the cover, and shown to be only after a ledger of ours
		case l.departed[src] > w.mayCover(src):
			w.mayName[src] = true // the same, if the controller covered it then
		}
	}
}

// optional reports whether Pods of a workload start without a source.
func (o *oracle) optional(src simapi.Source, l *look) bool {
	obj, err := o.h.server.Get(plural(l.key.Kind), inShop(l.key.Name))
	if err != nil {
		return false
	}
	needed, refers := simapi.Needs(obj)[src]
	return refers && !needed
}

// noteEntry records that a ledger that we wrote has an entry of a source. The version is the latest that
// the controller had seen of the source.
func (w *workloadTruth) noteEntry(src simapi.Source, version uint64) {
	delete(w.goneNoted, src)
	if !w.named[src] {
		w.unnamed[src] = version
	}
	w.named[src] = true
}

func (w *workloadTruth) unname(src simapi.Source) {
	w.named[src] = false
	delete(w.mayName, src)
}

// coverEndUnseen reports whether the controller had yet to be shown, when it decided, that a workload
// no longer covers a source. Its ledger has an entry of the source then.
func (o *oracle) coverEndUnseen(w *workloadTruth, src simapi.Source, l *look) bool {
	switch ended := w.ended[src]; ended.by {
	case bySource:
		return l.known[src] < ended.version
	case byNamespace:
		return l.known[shop] < ended.version || l.known[src] < o.sources[src].said
	case byStart:
		return l.life != o.h.life
	default:
		return false // each write of ours has the version of the workload
	}
}

// lastRolled returns the version in which any client last rolled the workload.
func (w *workloadTruth) lastRolled() uint64 {
	rolled := w.foreign
	if len(w.reloads) > 0 {
		rolled = max(rolled, w.reloads[len(w.reloads)-1])
	}
	return rolled
}

// judgeComings checks, at rest, that no deletion was lost, and no creation that the controller saw.
func (o *oracle) judgeComings(w *workloadTruth) {
	rolled := w.lastRolled()
	for src, covered := range simapi.InOrder(w.covered) {
		s := o.sources[src]
		switch {
		case o.h.onDelete && !s.exists && s.deleted > covered && w.adopted[src] > 0 && w.adopted[src] < s.deleted && rolled < s.deleted && !o.deletedUnselected(w, src):
			o.fail("%s was last rolled at %d, and not for the deletion of %s at %d", w.name, rolled, src, s.deleted)
		case o.h.onCreate && s.exists && (!w.named[src] || w.unnamed[src] >= s.made) && w.tampered == 0 && s.made > max(covered, o.lastGap, o.installedAt) &&
			(s.created.After(w.made.Add(longestSettle)) || s.withoutIt[w.uid] && 0 < w.ready && w.ready < s.made) && rolled < s.made && !o.allHave(w, src):
			if w.mayName[src] {
				o.excused(leftEarly)
				continue
			}
			o.fail("%s was last rolled at %d, and not for the creation of %s at %d", w.name, rolled, src, s.made)
		}
	}
}

// allHave reports whether a rollout for a creation could bring nothing to any Pod. Whatever a Pod reads
// of a source that its template does not refer to, it reads after its own start.
func (o *oracle) allHave(w *workloadTruth, src simapi.Source) bool {
	for _, obj := range o.h.workloads() {
		if obj.GetUID() != w.uid {
			continue
		}
		for _, pod := range o.h.pods.Of(obj) {
			content, _ := o.h.pods.Content(pod)
			had, refers := content[src]
			if later := pod.CreationTimestamp.After(o.sources[src].created); had != o.sources[src].content && (refers || !later) {
				return false
			}
		}
	}
	return o.excused(broughtAlready)
}

// shortestSettle is the settle period, and longestSettle that of workloads that a tool manages.
const (
	shortestSettle = time.Second
	longestSettle  = 5 * time.Second
)
