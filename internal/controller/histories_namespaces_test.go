package controller

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/test/simapi"
)

// In these histories, controllers watch the namespace only while it has a label. At other times,
// changes in it do not count.

// shop is the namespace, as the oracle knows what the controller was shown of it.
var shop = simapi.Source{Resource: "namespaces", Name: namespace}

func (u *users) createNamespace() {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if u.h.rand.IntN(4) > 0 {
		u.label(ns, selectLabel, selectValue)
	}
	_, _ = u.h.server.Create(ns, u.manager()) // no such namespace
}

// selectNamespace adds or removes the label.
func (u *users) selectNamespace() bool {
	_, err := u.h.server.Edit(shop.Resource, types.NamespacedName{Name: namespace}, u.manager(), func(obj simapi.Object) {
		value := selectValue
		if obj.GetLabels()[selectLabel] == selectValue {
			value = ""
		}
		u.label(obj, selectLabel, value)
	})
	return err == nil
}

func (o *oracle) namespace(e simapi.Event) {
	unselected := e.Object.GetLabels()[selectLabel] != selectValue
	if unselected && !o.unselected {
		o.unselectedAt = e.Version
	}
	o.unselected = unselected
	o.h.say("user: %s is selected at %d: %t", e.Object.GetName(), e.Version, !o.unselected)
	o.coverAll(turn{e.Version, byNamespace}, e.Version)
}

// selectionShown returns since when the namespace is selected according to the API, if that may be the
// time of another clock; otherwise zero.
func (o *oracle) selectionShown() (since time.Time) {
	if !o.h.skewed {
		return since
	}
	ns, err := o.h.server.Get(shop.Resource, types.NamespacedName{Name: namespace})
	if err != nil {
		return since
	}
	for _, m := range ns.GetManagedFields() {
		if m.Time != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:`+selectLabel+`"`) {
			since = m.Time.Time // only one manager owns the label
		}
	}
	return since
}

// noteEarly records sources that were written to a ledger before the workload covers them. The controller
// had not seen yet that the namespace is no longer selected, or that the source no longer concerns the
// workload. For the controller, that is a cover with a lapse.
func (o *oracle) noteEarly(w *workloadTruth, l *look, obj simapi.Object) {
	current, err := ledger.Parse(obj.GetAnnotations()[annotations.Ledger])
	if err != nil {
		return
	}
	namespaceUnseen := o.unselected && l.known[shop] < o.unselectedAt
	for _, src := range sources() {
		sum := current.Entries[source.LocalKey{Kind: kindOf(src), Name: src.Name}]
		_, first := w.first[src]
		if !first && sum.IsZero() {
			delete(w.early, src)
		}
		known, unseen := l.known[src], namespaceUnseen || l.known[src] < o.sources[src].said
		if !first && !sum.IsZero() && known > 0 && unseen {
			w.early[src] = known
		}
	}
}

// movedUnselected reports whether a source came up, changed, or got the labels, while its namespace is no
// longer selected, and the controller had not been shown that.
func (o *oracle) movedUnselected(w *workloadTruth, src simapi.Source, l *look) bool {
	if !o.unselected || l.known[shop] >= o.unselectedAt {
		return false
	}
	o.unselected = false
	defer func() { o.unselected = true }()
	changed := slices.ContainsFunc(o.sources[src].changes, func(c change) bool {
		return c.version > max(o.unselectedAt, w.lastRolled()) && c.version <= l.known[src]
	})
	return o.wouldAsk(l, src, func(*sourceTruth) {}) && (changed || o.cameUp(w, src, l))
}

// changedSinceEarly reports whether data changed since such a ledger and since the last rollout by
// another client.
func (w *workloadTruth) changedSinceEarly(src simapi.Source, c change) bool {
	early, noted := w.early[src]
	return noted && c.version > max(early, w.foreign)
}
