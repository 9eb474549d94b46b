package controller

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

type pardon struct {
	pod types.UID
	src simapi.Source
}

// pardon records what Pods lack at rest, which an excuse explains. The ledger has it from then on.
func (h *bundleHistory) pardon(w *trusting, now certificatesOf) {
	w.pardoned = map[pardon]string{}
	for _, pod := range h.podsOf(w.key) {
		content, _ := h.pods.Content(pod)
		for src, has := range content {
			if present, exists := now[src]; exists && has != present && !w.owed[src] {
				w.pardoned[pardon{pod.UID, src}] = present
				h.excused(lacksPardoned)
			}
		}
	}
}

// backUnseen is for certificates that changed and changed back to those in the ledger, and the controller
// ended, or its watch did, before it saw that they were back. It had not seen the first change, either, or
// had not reloaded for it, because the settle period was not over, or the API server had rejected each
// reload: the watch of workloads lagged behind a rollout. Or the API server rejected those for the second
// change. Nothing shows the next controller, or snapshot, that Pods started in between.
const backUnseen excuse = "back, unseen"

// lastUnseen is for a source that returns with the certificates in the ledger, and whose last ones no
// controller has seen: users wrote and deleted them in a gap. Nothing shows that Pods started in between.
const lastUnseen excuse = "last ones unseen"

// templateMayBeBack is for a new template that may have Pods from before the latest change of what it
// projects, as far as the controller knows.
const templateMayBeBack excuse = "template may be back"

const (
	// notInLedger: a source that no ledger has was deleted, or changed in a gap.
	notInLedger excuse = "not adopted"
	// backInGap: certificates changed in a gap, and are those of before.
	backInGap excuse = "back"
	// lacksPardoned: a Pod lacks at rest what an excuse explains. The ledger has it from then on.
	lacksPardoned excuse = "pardoned"
	// stillWaits: Pods wait for a source at rest, so nothing is judged.
	stillWaits excuse = "waited"
)

// bundleBounds limit the uses of each excuse in a thousand histories of bundles.
func bundleBounds() map[excuse]float64 {
	return map[excuse]float64{
		inDoubt:           440,
		notInLedger:       3120,
		backInGap:         1455,
		lacksPardoned:     1475,
		stillWaits:        7230,
		backUnseen:        4,
		lastUnseen:        1,
		templateMayBeBack: 0.1,
	}
}

// concern records a change for a workload. A change of a source that its ledger does not have, and
// one to certificates that were there before, leave no trace if the controller does not see them.
func (h *bundleHistory) concern(w *trusting, src simapi.Source, counts, back, existed, exists bool) {
	w.doubt = w.doubt || h.inGap() || h.pending("deployments", w.key.Name) || h.server.Now().Sub(w.chosenAt) < 10*time.Second
	adopted := w.adopted[src]
	delete(w.owed, src)
	if !exists {
		delete(w.renewed, src)
	}
	if !exists && h.onDelete {
		w.leaves(src)
	}
	if !counts {
		return
	}
	w.edited = h.server.Version()
	switch {
	case (!exists || h.inGap() || h.unseen[src] || w.forgotten[src]) && !adopted: // the deletion of a source that no ledger has is no change
		h.excused(notInLedger)
	case !h.gaps && !existed && h.unseen[src] && w.ledger[src] == h.present()[src] && h.differs(w, src, w.ledger[src]):
		h.excused(lastUnseen)
	case h.gaps && back:
		h.excused(backInGap)
	default:
		w.owed[src] = true
	}
}

// noteRecorded records the certificates in the ledger of a rollout of ours.
func (h *bundleHistory) noteRecorded(w *trusting) {
	w.recorded = nil
	if h.inGap() {
		return
	}
	w.recorded = certificatesOf{}
	for _, src := range bundleSources() {
		if seen := h.saw(src); seen.exists {
			w.recorded[src] = seen.content
		}
	}
}

// leaves is for a source whose deletion is a change. Its Pods are rolled without it, and the ledger has
// it until then.
func (w *trusting) leaves(src simapi.Source) {
	if w.adopted[src] {
		w.kept[src] = true
	}
	delete(w.adopted, src)
}

// returns is for a source that exists again. It is not new for a ledger that still has it, even if Pods
// started without it meanwhile: the documentation says so.
//
// If users edit a source and delete it before a rollout for the edit, the ledger has earlier certificates
// than its last ones. So these are other ones for it when they return.
func (w *trusting) returns(src simapi.Source, is string, existed bool) {
	if w.kept[src] {
		w.adopted[src] = true
	}
	delete(w.kept, src)
	recorded, known := w.ledger[src]
	if !existed && known && recorded != is {
		w.doubt, w.renewed[src] = true, w.adopted[src]
	}
}

func (h *bundleHistory) note(src simapi.Source, content string, exists bool) {
	if exists {
		if h.past[src] == nil {
			h.past[src] = map[string]bool{}
		}
		h.past[src][content] = true
	}
}

// noteLedger records which sources a ledger has that was just written, by what the controller had seen.
func (h *bundleHistory) noteLedger(w *trusting) {
	now := h.present()
	left := w.left
	w.left = certificatesOf{}
	for _, src := range w.use.sources {
		_, exists := now[src]
		is, had := left[src]
		switch seen := h.saw(src); {
		case !seen.exists && had && !h.onDelete:
			w.kept[src], w.ledger[src] = true, is
		case !seen.exists && h.onDelete:
			delete(w.adopted, src) // even if it is back: the controller has not seen that
			delete(w.kept, src)
			delete(w.ledger, src)
			delete(w.renewed, src) // it is new for this ledger
		case seen.exists && h.listed && h.served:
			w.ledger[src] = seen.content
			w.adopted[src] = w.adopted[src] || exists && !h.inGap()
		}
	}
}

// held are the certificates of a source since a version.
type held struct {
	since   uint64
	content string
	exists  bool
}

// saw is the latest of a source that the controller has seen.
func (h *bundleHistory) saw(src simapi.Source) (latest held) {
	for _, of := range h.held[src] {
		if of.since <= h.shown {
			latest = of
		}
	}
	return latest
}

// noteAhead is for an event of a bundle that arrives before the earlier one of a template which begins
// to project a union. Nothing shows the controller whether the union had other certificates before.
func (h *bundleHistory) noteAhead(bundle simapi.Event) {
	for _, w := range h.workloads {
		ahead := slices.ContainsFunc(h.events, func(e simapi.Event) bool { return e.Version == w.chosenIn }) && bundle.Version > w.chosenIn
		w.doubt = w.doubt || ahead && bundle.Object.GetName() != companyBundle.Name
	}
}

// noteCompleted is for a rollout that completes.
func (h *bundleHistory) noteCompleted(e simapi.Event) {
	d, ok := e.Object.(*appsv1.Deployment)
	if !ok || d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas != d.Status.Replicas {
		return
	}
	for _, w := range h.workloads {
		if w.name() == (types.NamespacedName{Namespace: d.Namespace, Name: d.Name}) {
			w.unfinished = false
		}
	}
}

// mayBeBack reports whether a new template may have Pods from before the latest change of what it
// projects, as far as the controller knows. Until a rollout completes, a template from before its start
// may be back with its Pods. New Pods show by their age that they are none of these, but not within 5s of
// the change: the clocks of two API servers may differ. Times are whole seconds. While new Pods cannot
// start, older ones stay, and their age does not show which template started them.
func (h *bundleHistory) mayBeBack(w *trusting) bool {
	edited := h.editedAt(w.use.sources)
	older := func(pod *corev1.Pod) bool { return !pod.CreationTimestamp.After(edited) }
	stay := h.waits(w) && slices.ContainsFunc(h.podsOf(w.key), older)
	return w.unfinished && (stay || h.server.Now().Sub(edited) <= 6*time.Second)
}

// editedAt is the time of the latest change of any of these sources.
func (h *bundleHistory) editedAt(of []simapi.Source) (latest time.Time) {
	for _, src := range of {
		if at := h.edits[src]; at.After(latest) {
			latest = at
		}
	}
	return latest
}

// stop ends the controller.
func (h *bundleHistory) stop() {
	if !h.up {
		return
	}
	h.up = false
	h.excuseBack(true)
}

// excuseBack is for the begin of a gap. A controller that ends forgets what it has not written, and the
// next one compares with the ledger, also with one that records what a new template projects.
func (h *bundleHistory) excuseBack(ends bool) {
	now := h.present()
	for _, w := range h.workloads {
		maps.DeleteFunc(w.owed, func(src simapi.Source, _ bool) bool {
			recorded, known := w.recorded[src]
			if ends {
				recorded, known = w.ledger[src]
			}
			present, exists := now[src]
			seen := h.saw(src)
			missed := h.editedIn[src] > h.shown && (ends || seen.exists && seen.content == recorded)
			missed = missed || ends && w.rejected >= h.editedIn[src]
			back := known && exists && recorded == present && missed && h.differs(w, src, present)
			if back {
				h.excused(backUnseen)
			}
			return back
		})
	}
}

// differs reports whether a Pod has started with other certificates than these. One that started without
// any lacks none without --reload-on-create, unless the latest change is an edit.
func (h *bundleHistory) differs(w *trusting, src simapi.Source, present string) bool {
	return slices.ContainsFunc(h.podsOf(w.key), func(pod *corev1.Pod) bool {
		content, started := h.pods.Content(pod)
		has, projects := content[src]
		return started && projects && has != present && (has != simapi.Absent || h.wasEdited(src))
	})
}

// wasEdited reports whether the latest change of a source is one of existing certificates.
func (h *bundleHistory) wasEdited(src simapi.Source) bool {
	of := h.held[src]
	return len(of) > 1 && of[len(of)-1].exists && of[len(of)-2].exists
}
