package controller

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/test/simapi"
)

// waits receives a write of ours that rolls nothing. A ledger that begins to show that a reload
// waits for a gate needs the same reason as the reload, which may come long after. Jobs and
// CronJobs have other reasons, and are judged when they run.
func (o *oracle) waits(w *workloadTruth, e simapi.Event, l *look) {
	before, shown := pendingEntries(e.Old), pendingEntries(e.Object)
	switch e.Object.(type) {
	case *batchv1.Job, *batchv1.CronJob:
		w.waits = false
		for key := range shown {
			_, known := l.known[simapi.Source{Resource: key.Kind.Resource(), Name: key.Name}]
			w.waits = w.waits || known // no data of a missing source is recorded like that, too
		}
		return
	}
	var begins, exists, stays bool
	for key := range shown {
		// An undone rollout may have brought back the ledger of an earlier reload that waited. A source
		// that is not selected any more keeps its entry, and no reload waits for it, even if the ledger
		// is written back. A source that does not exist keeps it, too.
		src := simapi.Source{Resource: key.Kind.Resource(), Name: key.Name}
		known := hasData(src, l)
		covers := o.covers(w, src) && !o.selectedUnseen(w, src, l)
		w.owed[src], w.waitsFor[src] = true, l.known[src]
		if !before[key] {
			w.waitsOver = ledgerOn(e.Old).DataTime
		}
		w.owedGone[src] = w.owedGone[src] || !known
		began := !before[key] && (covers || w.tampered == w.accepted)
		begins, exists, stays = begins || known && covers || began, exists || known, stays || known && covers
	}
	w.accepted = w.tampered
	if !exists && recordsData(e) {
		w.waits = false // beside data that Pods use, it records a source that is gone
		return
	}
	begins = begins && (exists || l.onDelete) // no reload waits for a deletion that is no change
	if !begins || w.waits {
		w.waits = w.waits && stays
		return
	}
	why, ok := o.why(w, l)
	if exists && !ok { // no data of a missing source is recorded like that, too
		o.fail("a reload of %s waits at version %d without a change since its last rollout: %s", w.name, e.Version, why)
	}
	w.waits = ok
}

// recordsData reports whether a write adds data to a ledger. A reload that waits adds none.
func recordsData(e simapi.Event) bool {
	before := ledgerOn(e.Old).Entries
	for key, sum := range ledgerOn(e.Object).Entries {
		if !sum.IsZero() && before[key] != sum {
			return true
		}
	}
	return false
}

// hasData reports whether the controller knew data of a source. That of a class comes from the statuses
// of its Pods, and stays when the object of the class is deleted.
func hasData(src simapi.Source, l *look) bool {
	if src.Resource == simapi.ClassResource {
		return reportsClass(l.reports, src.Name)
	}
	_, known := l.known[src]
	return known
}

// selectedUnseen reports whether a source covers a workload only since an event of the source that the
// controller had not been shown.
func (o *oracle) selectedUnseen(w *workloadTruth, src simapi.Source, l *look) bool {
	s, since := o.sources[src], w.covered[src]
	return s != nil && since > l.known[src] && s.datedAt(since).version == since
}

// noteRecorded records that a ledger of ours has the data of the sources that the controller had been
// shown. If a source was selected only while the write was sent, the ledger lacks its data, although
// the Pods of the rollout have it. A controller that starts later sees only the age of the Pods, and
// those that the rollout has yet to replace are older than the data.
func (o *oracle) noteRecorded(w *workloadTruth, l *look, written uint64) {
	for src := range w.covered {
		_, known := l.known[src]
		switch w.wrote[src] = l.known[src]; {
		case !known:
		case o.selectedUnseen(w, src, l):
			w.forgotten[src], w.tamperedIn = true, written
		default:
			if w.forgotten[src] && w.tamperedIn <= o.startedAt {
				w.anew[src] = l.known[src]
			}
			delete(w.forgotten, src)
			delete(w.putBack, src)
			w.unreadable[src] = w.unreadable[src] && l.keys < o.h.keys // a late write has digests of the lost key
			delete(w.owed, src)
			delete(w.owedGone, src)
			delete(o.h.relistedIn[w.name], src)
		}
	}
}

// notePutBack records which sources have other data in an earlier ledger that another client put back.
func (w *workloadTruth) notePutBack(e simapi.Event) {
	before, after := ledgerOn(e.Old), ledgerOn(e.Object)
	for _, src := range sources() {
		key := source.LocalKey{Kind: kindOf(src), Name: src.Name}
		if _, already := w.putBack[src]; already || before.Entries[key] != after.Entries[key] {
			w.putBack[src] = after.DataTime
		}
	}
}

// covers reports whether a workload covers a source.
func (o *oracle) covers(w *workloadTruth, src simapi.Source) bool {
	if src.Resource == simapi.ClassResource {
		c := o.classes.covers[w.uid][src.Name]
		return c != nil && c.covered
	}
	_, covered := w.covered[src]
	return covered
}

// pendingEntries are the sources of a ledger with an entry that equals no data: those of a reload
// that waits, and some that do not exist.
func pendingEntries(obj simapi.Object) map[source.LocalKey]bool {
	pending := map[source.LocalKey]bool{}
	for key, entry := range ledgerOn(obj).Entries {
		if entry.IsZero() {
			pending[key] = true
		}
	}
	return pending
}

// ledgerOn is the ledger on an object, empty without a valid one.
func ledgerOn(obj simapi.Object) ledger.Ledger {
	if obj == nil {
		return ledger.Ledger{}
	}
	l, err := ledger.Parse(obj.GetAnnotations()[annotations.Ledger])
	if err != nil {
		return ledger.Ledger{}
	}
	return l
}
