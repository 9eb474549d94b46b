package controller

import (
	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/test/simapi"
)

// waits receives a write of ours that rolls nothing. A ledger that shows that a reload waits for a
// gate needs the same reason as the reload, which may come long after.
func (o *oracle) waits(w *workloadTruth, e simapi.Event, l *look) {
	may, must := showsReload(e.Object, l)
	if may && !w.waits {
		why, ok := o.why(w, l)
		if must && !ok {
			o.fail("a reload of %s waits at version %d without a change since its last rollout: %s", w.name, e.Version, why)
		}
		may = ok
	}
	w.waits = may
}

// showsReload reports whether the ledger of an object shows that a reload waits: data that no
// source can have. The ledger may have that, too, for a source that does not exist.
func showsReload(obj simapi.Object, look *look) (may, must bool) {
	l, err := ledger.Parse(obj.GetAnnotations()[annotations.Ledger])
	if err != nil {
		return false, false
	}
	for key, entry := range l.Entries {
		if entry == (digest.Digest{}) {
			_, exists := look.known[simapi.Source{Resource: key.Kind.Resource(), Name: key.Name}]
			may, must = true, must || exists
		}
	}
	return may, must
}
