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
		w.waits = len(shown) > 0
		return
	}
	var begins, exists bool
	for key := range shown {
		// An undone rollout may have brought back the ledger of an earlier reload that waited.
		src := simapi.Source{Resource: key.Kind.Resource(), Name: key.Name}
		_, known := l.known[src]
		w.owed[src] = w.owed[src] || known
		begins, exists = begins || known || !before[key], exists || known
	}
	if !begins || w.waits {
		w.waits = w.waits && len(shown) > 0
		return
	}
	why, ok := o.why(w, l)
	if exists && !ok { // no data of a missing source is recorded like that, too
		o.fail("a reload of %s waits at version %d without a change since its last rollout: %s", w.name, e.Version, why)
	}
	w.waits = ok
}

// pendingEntries are the sources of a ledger with an entry that equals no data: those of a reload
// that waits, and some that do not exist.
func pendingEntries(obj simapi.Object) map[source.LocalKey]bool {
	pending := map[source.LocalKey]bool{}
	if obj == nil {
		return pending
	}
	l, err := ledger.Parse(obj.GetAnnotations()[annotations.Ledger])
	if err != nil {
		return pending
	}
	for key, entry := range l.Entries {
		if entry.IsZero() {
			pending[key] = true
		}
	}
	return pending
}
