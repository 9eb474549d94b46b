package controller

import (
	"maps"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/test/simapi"
)

// start runs a controller. If bundles are served, it begins when their snapshot is complete.
func (h *bundleHistory) start() {
	opts := smallOptions()
	opts.TrustBundles, opts.ReloadOnCreate, opts.ReloadOnDelete = true, h.onCreate, h.onDelete
	h.begin(h, opts)
	for _, w := range h.workloads {
		w.unfinished = true
	}
	for _, obj := range h.server.List("deployments") {
		h.noteCompleted(simapi.Event{Object: obj})
	}
	for _, k := range kubeapi.SourceKinds() {
		if k.Kind == source.ClusterTrustBundle {
			f := h.controller.trustBundleFeed(k)
			h.feed, h.bundles = f.Feed, f.Handler.(*handler)
		}
	}
	h.gapAt, h.cut, h.listed = h.server.Now(), !h.served, false
	if !h.served {
		h.answered(apierrors.NewNotFound(kubeapi.TrustBundleVersions()[0].GroupResource(), ""))
		return
	}
	h.snapshot(func() {})
}

func (h *bundleHistory) answered(err error) { h.feed.Open.(attended).answered(err) }

// snapshot delivers all bundles as a complete list.
func (h *bundleHistory) snapshot(between func()) {
	h.answered(nil)
	h.say("a snapshot")
	h.events = slices.DeleteFunc(h.events, isBundle)
	names := map[types.NamespacedName]struct{}{}
	for _, obj := range h.server.List(simapi.BundleResource) {
		h.bundles.isListed(obj)
		names[types.NamespacedName{Name: obj.GetName()}] = struct{}{}
		between()
	}
	h.bundles.SnapshotComplete(names, strconv.FormatUint(h.server.Version(), 10))
	h.cut, h.listed, h.gapAt, h.shown = false, true, h.server.Now(), h.server.Version()
	for _, w := range h.workloads {
		w.recorded = nil // the age of Pods may show that they have other certificates
	}
}

func isBundle(e simapi.Event) bool { return simapi.ResourceOf(e.Object) == simapi.BundleResource }

// gap begins a time in which the controller sees no bundles.
func (h *bundleHistory) gap(what string) {
	h.say("%s", what)
	for _, w := range h.workloads {
		w.doubt = w.doubt || slices.ContainsFunc(h.events, isBundle) || h.server.Now().Sub(h.editedAt(w.use.sources)) < 10*time.Second
		maps.DeleteFunc(w.owed, func(src simapi.Source, _ bool) bool {
			if !w.adopted[src] {
				h.excused(notInLedger)
			}
			return !w.adopted[src]
		})
	}
	now := h.present()
	for src, at := range h.edits { // the latest change of a source that does not exist is its deletion
		_, exists := now[src]
		for _, w := range h.workloads {
			w.forgotten[src] = w.forgotten[src] || !exists && (h.server.Now().Sub(at) < 5*time.Second || w.refused && h.editedIn[src] > w.accepted)
		}
	}
	h.excuseBack(false)
	h.noteUnseen()
	h.gaps = true
}

// noteUnseen is for the begin of a gap. What changed again before its event arrived is never seen, and
// neither is a deletion: the snapshot after the gap does not show it.
func (h *bundleHistory) noteUnseen() {
	for src, all := range h.held {
		last := all[len(all)-1]
		h.unseen[src] = h.unseen[src] || !last.exists && last.since > h.shown ||
			slices.ContainsFunc(all[:len(all)-1], func(of held) bool { return of.exists && of.since > h.shown })
	}
}

func (h *bundleHistory) inGap() bool { return !h.up || h.cut }

// lose drops the events of bundles that come while the watch is cut.
func (h *bundleHistory) lose() {
	if h.cut {
		h.events = slices.DeleteFunc(h.events, isBundle)
	}
}
