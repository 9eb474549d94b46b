package controller

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// These histories draw ClusterTrustBundles that are created, edited, relabeled and deleted, and
// workloads in two namespaces whose volumes project them by name, or by signer and labels. Meanwhile
// the controller restarts, the watch of the bundles is cut and begins with a snapshot, and the API
// server stops serving the kind for a while. The oracle knows what users wrote and what each Pod
// started with, and neither ledgers nor unions:
//
//  1. No change is lost. At rest, each Pod has the present certificates of each source that changed
//     since the last rest.
//  2. Nothing rolls without a change: of what a workload projects, something changed after the previous
//     rollout, or a Pod lacks it. Only after a gap in what the controller has seen, a rollout may be
//     one in doubt. Those are counted.
//  3. Once. If users made one change since the last rest, which the controller saw, each workload that
//     it concerns is rolled once.

// certificatesOf are, by source, those that Pods that start now would get. Absent ones are missing.
type certificatesOf map[simapi.Source]string

// trusting is what the oracle knows of a workload.
type trusting struct {
	key workload.Key
	use bundleUse
	// adopted are the sources that it had at a rest since it projects them: its ledger has these.
	adopted map[simapi.Source]bool
	// left are the certificates in its ledger of those that it no longer projects: nothing was written to
	// it since.
	left certificatesOf
	// kept are those that left, and that its ledger has nevertheless: nothing was written to it since the
	// controller saw that.
	kept map[simapi.Source]bool
	// ledger are the certificates that its ledger has since the latest write. A controller whose watch is
	// cut writes those that it has seen before.
	ledger certificatesOf
	// renewed are those that returned with other ones. Pods that started without them lack these, even
	// without --reload-on-create.
	renewed map[simapi.Source]bool
	// owed are the sources that changed since the last rest, or since all Pods waited for another one.
	owed map[simapi.Source]bool
	// recorded are the certificates in its ledger; nil if it is unknown what the controller had seen.
	recorded certificatesOf
	// pardoned are certificates that the ledger has, and a Pod does not, with an excuse.
	pardoned map[pardon]string
	// edited is when a source changed last, rolled when the template did, and rejected when a reload was,
	// if no write has been accepted since. Accepted is the version of the last accepted write, and refused
	// reports whether a record was rejected since.
	edited, rolled, rejected, accepted uint64
	refused                            bool
	// forgotten reports whether a gap came right after a source ceased to exist, or before a record was accepted
	// since: the ledger did not get its last certificates.
	forgotten map[simapi.Source]bool
	// doubt reports whether something was written that the controller may not have seen, and chosenAt
	// is when it projected something else.
	doubt    bool
	chosenAt time.Time
	// mayBeBack reports whether a template since the last reload or rest may have Pods from before a change.
	mayBeBack bool
	// chosenIn is the version of that template, if it began to project a union; otherwise 0.
	chosenIn uint64
	// unfinished reports whether no rollout of it has completed since the controller started.
	unfinished bool
	// reloads counts those since the last rest, and waited reports whether Pods waited then.
	reloads int
	waited  bool
}

func (w *trusting) name() types.NamespacedName {
	return nameOf(w.key)
}

type bundleHistory struct {
	*smallHistory
	onCreate, onDelete bool
	workloads          []*trusting
	feed               *intake.Feed
	bundles            *handler
	// served reports whether the API server serves bundles, and cut whether events of them are lost.
	served, cut bool
	// listed reports whether the controller has had a snapshot of bundles.
	listed bool
	// last are the certificates with which sources existed last, and past those since the last rest.
	last certificatesOf
	past map[simapi.Source]map[string]bool
	// unseen are the sources that existed at a time that the controller may not have seen.
	unseen map[simapi.Source]bool
	// editedIn is, by source, the version of its latest change, and shown the version up to which the
	// controller has seen all bundles.
	editedIn map[simapi.Source]uint64
	shown    uint64
	// held are the certificates of each source over time.
	held map[simapi.Source][]held
	// edits are the times of the latest changes, and gapAt the end of the latest gap.
	edits map[simapi.Source]time.Time
	gapAt time.Time
	// steps counts what users did since the last rest, and gaps whether the controller missed something.
	steps int
	gaps  bool
	// certificates counts the new ones.
	certificates int
}

func newBundleHistory(t *testing.T, seed uint64) *bundleHistory {
	h := &bundleHistory{smallHistory: newSmallHistory(t, seed), served: true, last: certificatesOf{}, past: map[simapi.Source]map[string]bool{}, unseen: map[simapi.Source]bool{}, editedIn: map[simapi.Source]uint64{}, edits: map[simapi.Source]time.Time{}, held: map[simapi.Source][]held{}}
	h.onCreate, h.onDelete = h.rand.IntN(3) == 0, h.rand.IntN(3) == 0
	h.server.Observe(h.noteCompleted)
	h.arrives = func(e simapi.Event) {
		at := types.NamespacedName{Name: e.Object.GetName()}
		h.noteAhead(e)
		h.shown = e.Version
		if e.Type == watch.Deleted {
			h.bundles.departs(at, e.Object.GetResourceVersion())
			return
		}
		h.bundles.arrives(e.Object)
	}
	return h
}

// Patch implements API.
func (h *bundleHistory) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	at := slices.IndexFunc(h.workloads, func(w *trusting) bool { return w.key == key })
	w := h.workloads[at]
	lacking := h.lacks(w)
	obj, err := h.memory.Patch(ctx, kind, key, patch)
	reloads := bytes.Contains(patch.Body, []byte(`"template"`))
	if err != nil {
		if reloads {
			w.rejected = h.server.Version()
		}
		w.refused = w.refused || !reloads
		return obj, err
	}
	w.refused, w.accepted = false, h.server.Version()
	if w.rejected = 0; reloads {
		h.judgeReload(w, lacking)
	}
	h.noteLedger(w)
	return obj, nil
}

func (h *bundleHistory) present() certificatesOf {
	present := certificatesOf{}
	for _, src := range bundleSources() {
		if content, exists := h.server.Content("", src); exists {
			present[src] = content
		}
	}
	return present
}

// lacks returns a source that is owed, if a Pod does not have its present certificates.
func (h *bundleHistory) lacks(w *trusting) string {
	now := h.present()
	for _, pod := range h.podsOf(w.key) {
		content, started := h.pods.Content(pod)
		for src := range simapi.InOrder(w.owed) {
			has, projects := content[src]
			present, exists := now[src]
			switch {
			case !started || !projects, exists && w.pardoned[pardon{pod.UID, src}] == present:
			case !exists && h.onDelete && w.use.optional && has != simapi.Absent:
				return src.Name
			case exists && has != present && (has != simapi.Absent || w.renewed[src] || h.onCreate && !w.adopted[src]):
				return src.Name
			}
		}
	}
	return ""
}

// waits reports whether Pods of a workload cannot start.
func (h *bundleHistory) waits(w *trusting) bool {
	now := h.present()
	return !w.use.optional && slices.ContainsFunc(w.use.sources, func(src simapi.Source) bool {
		_, exists := now[src]
		return !exists
	})
}

func (h *bundleHistory) judgeReload(w *trusting, lacking string) {
	h.counts["reloads"]++
	w.reloads++
	h.say("%s is reloaded for %q, owed %v, in doubt %t", w.key, lacking, w.owed, w.doubt)
	switch {
	case lacking != "", w.edited > w.rolled:
	case w.doubt, w.waited, h.server.Now().Sub(h.gapAt) < 30*time.Second, h.server.Now().Sub(w.chosenAt) < 10*time.Second:
		h.excused(inDoubt)
	case w.mayBeBack:
		h.excused(templateMayBeBack)
	default:
		h.fail("%s is rolled without a change", w.key)
	}
	// What it had not seen, it may take for later than its own rollout.
	w.mayBeBack, w.doubt, w.rolled = false, slices.ContainsFunc(h.events, isBundle), h.server.Version()
	h.noteRecorded(w)
}

// users write something, and the oracle records whom it concerns.
func (h *bundleHistory) write(what string, do func() error) {
	before, version := h.present(), h.server.Version()
	if err := do(); err != nil || h.server.Version() == version {
		return
	}
	now := h.present()
	h.steps++
	h.say("user: %s", what)
	h.lose()
	for _, src := range bundleSources() {
		was, existed := before[src]
		is, exists := now[src]
		if existed == exists && was == is {
			continue
		}
		h.edits[src], h.editedIn[src] = h.server.Now(), h.server.Version()
		h.held[src] = append(h.held[src], held{h.server.Version(), is, exists})
		known, ever := h.last[src]
		for _, w := range h.workloads {
			if slices.Contains(w.use.sources, src) {
				if exists {
					w.returns(src, is, existed)
				}
				// A source that returns with the data in the ledger is no change, also with --reload-on-create.
				counts := exists && (existed || h.onCreate && !w.adopted[src] || ever && known != is) || !exists && h.onDelete
				h.concern(w, src, counts, exists && (h.past[src][is] || !existed && ever && known == is), existed, exists)
				// Its last data was never seen, so that the ledger may have earlier data.
				w.doubt = w.doubt || exists && !existed && h.unseen[src]
			}
			delete(w.forgotten, src)
		}
		if existed {
			h.last[src] = was
		}
		h.unseen[src] = h.unseen[src] || h.gaps
		h.note(src, is, exists)
		h.say("  %s: %q → %q", src.Name, was, is)
	}
}

// rest ends when nothing is left to do, and judges what Pods have.
func (h *bundleHistory) rest() {
	if !h.served {
		h.served = true
	}
	if !h.up {
		h.start()
	}
	if h.cut {
		h.snapshot(h.work)
	}
	for range 12 {
		h.deliver(true)
		h.elapse(10 * time.Second)
	}
	now := h.present()
	for _, w := range h.workloads {
		waited := w.waited
		if w.waited = h.waits(w); w.waited {
			h.excused(stillWaits)
			continue
		}
		if src := h.lacks(w); src != "" {
			h.fail("%s lost a change of %s", w.key, src)
		}
		if h.steps == 1 && !h.gaps && !waited && w.reloads > 1 {
			h.fail("%s is rolled %d times for one change", w.key, w.reloads)
		}
		h.pardon(w, now)
		w.recorded = now
		w.owed, w.renewed, w.doubt, w.mayBeBack, w.reloads = map[simapi.Source]bool{}, map[simapi.Source]bool{}, false, false, 0
		for _, src := range w.use.sources {
			if is, exists := now[src]; exists {
				w.adopted[src], w.ledger[src] = true, is
			}
		}
	}
	maps.DeleteFunc(h.past, func(src simapi.Source, _ map[string]bool) bool {
		_, exists := now[src]
		return exists // of the others, ledgers keep any earlier entry
	})
	h.steps, h.gaps = 0, false
	for src, content := range h.last {
		h.note(src, content, true) // the ledgers keep it
	}
	for src, content := range now {
		h.note(src, content, true)
		delete(h.unseen, src)
	}
	h.say("at rest")
}

func (h *bundleHistory) run() {
	for _, name := range []string{"company", "a", "b", "c"} {
		if h.rand.IntN(4) > 0 {
			h.bundle(name)
		}
	}
	h.create("shop", "web")
	h.create("shop", "api")
	h.create("bank", "app")
	h.elapse(time.Minute)
	h.rest()
	for range 40 {
		h.step()
		if h.failed == "" && h.rand.IntN(6) == 0 {
			h.rest()
		}
		if h.failed != "" {
			return
		}
	}
	h.rest()
}

func TestHistoriesOfBundles(t *testing.T) {
	drawSmall(t, bundleBounds(), func(seed uint64) *smallHistory {
		h := newBundleHistory(t, seed)
		h.run()
		return h.smallHistory
	})
}
