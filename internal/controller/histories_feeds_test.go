package controller

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/test/simapi"
)

// simFeed replaces intake.Feed. It calls the same handler in the same order, when the history decides
// so.
type simFeed struct {
	feed
	resource string
	// snapshot has the objects that are still to be delivered, and version is the version of the
	// snapshot.
	snapshot []simapi.Object
	taking   bool
	names    map[types.NamespacedName]struct{}
	version  uint64
	watcher  *simapi.Watcher
	// last is the newest delivered version, since the first complete snapshot. A later snapshot of the same
	// feed is not older.
	last uint64
	// paused is the number of times without a delivery while the watch is reopened.
	paused int
	whole  bool
}

// watch opens feeds in the order of their resources, independent of the order of the controller.
func (h *history) watch(feeds []feed) {
	for _, f := range feeds {
		h.feeds = append(h.feeds, &simFeed{feed: f, resource: resourceOf(f)})
	}
	slices.SortFunc(h.feeds, func(a, b *simFeed) int { return cmp.Compare(a.resource, b.resource) })
	for _, f := range h.feeds {
		if f.watcher == nil && !f.taking {
			h.takeSnapshot(f)
		}
	}
}

// takeSnapshot requests a snapshot. The first one of a feed is as new as the request. A later one
// may be as old as the last delivery of the feed. Its objects arrive one by one while other events
// happen.
func (h *history) takeSnapshot(f *simFeed) {
	f.version = h.server.Version()
	if f.last > 0 && h.rand.IntN(2) == 0 {
		f.version -= min(uint64(h.rand.IntN(12)), f.version-f.last)
		if w, err := h.server.Watch(f.resource, f.version); err != nil || w.Pending() > 0 {
			h.count(snapshotOld)
		}
	}
	f.snapshot, f.taking = h.server.SnapshotAt(f.resource, f.version), true
	f.names = map[types.NamespacedName]struct{}{}
	f.watcher = nil
	h.say("snapshot of %s at %d, now is %d", f.resource, f.version, h.server.Version())
	h.oracle.gap()
	h.oracle.classes.cut(f.resource, h.life)
}

// deliver delivers the next event of a feed, and returns false if there is none.
func (h *history) deliver(f *simFeed) bool {
	switch {
	case f.paused > 0:
		f.paused--
		return true
	case f.taking:
		h.deliverSnapshot(f)
		return true
	}
	e, ok := f.watcher.Next()
	if !ok {
		return false
	}
	h.say("%s: %s %s at %d arrives", f.resource, e.Type, e.Object.GetName(), e.Version)
	h.oracle.delivered(f.resource, e.Object.GetName(), e.Version, e.Type == watch.Deleted)
	h.oracle.watched[simapi.Source{Resource: f.resource, Name: e.Object.GetName()}] = e.Version
	h.oracle.classDelivered(e.Version, true)
	f.last = max(f.last, e.Version)
	if e.Type == watch.Deleted {
		f.Handler.Delete(e.Object)
	} else {
		f.Handler.Put(e.Type, e.Object, true)
	}
	return true
}

func (h *history) deliverSnapshot(f *simFeed) {
	h.killHere(killedInSnapshot, 120)
	if h.fault(snapshotCut, 60) {
		h.takeSnapshot(f)
		return
	}
	if len(f.snapshot) > 0 {
		obj := f.snapshot[0]
		f.snapshot = f.snapshot[1:]
		f.names[types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}] = struct{}{}
		h.say("%s: %s at %s is in the snapshot", f.resource, obj.GetName(), obj.GetResourceVersion())
		h.oracle.delivered(f.resource, obj.GetName(), versionOf(obj), false)
		h.oracle.classDelivered(versionOf(obj), false)
		if f.last > 0 {
			f.last = max(f.last, versionOf(obj)) // should this snapshot be cut, as in intake.Feed
		}
		f.Handler.Put(watch.Added, obj, false)
		return
	}
	h.say("%s: the snapshot is whole", f.resource)
	f.Handler.SnapshotComplete(f.names, strconv.FormatUint(f.version, 10))
	f.taking, f.whole = false, true
	h.oracle.whole(f.resource, f.version, f.names)
	h.oracle.classesWhole(f.resource, f.version)
	f.last = max(f.last, f.version)
	watcher, err := h.server.Watch(f.resource, f.version)
	if err != nil {
		h.takeSnapshot(f) // its version has been compacted meanwhile
		return
	}
	f.watcher = watcher
	h.proceed()
}

// proceed does the work of Run between the snapshots.
func (h *history) proceed() {
	for _, f := range h.feeds {
		if !f.whole {
			return
		}
	}
	switch {
	case h.c.installation.Installed.IsZero():
		h.c.installation.Key, h.c.installation.Installed, _ = h.c.opts.LoadKey(context.Background()) // never fails here
		h.c.installation.Key = h.c.installation.Key.Showing(h.c.opts.SecretMarks)
		h.c.installation.Coverage, _ = h.c.opts.LoadCoverage(context.Background()) // never fails here either
		h.watch(append(h.c.sourceFeeds(), h.c.classFeeds()...))
	case !h.resumed:
		h.resumed = true
		h.oracle.sees()
		h.c.trackAll()
	}
}

// synced reports whether every feed had a complete snapshot once. Before that, the controller
// decides nothing.
func (h *history) synced() bool {
	if h.c == nil || h.c.installation.Installed.IsZero() {
		return false
	}
	return !slices.ContainsFunc(h.feeds, func(f *simFeed) bool { return !f.whole })
}

func (h *history) disturb(f *simFeed) {
	if f.taking || f.watcher == nil {
		return
	}
	if h.fault(watchExpired, 3) {
		h.takeSnapshot(f)
	} else if h.fault(watchEnded, 2) {
		f.paused = 1 + h.rand.IntN(8)
	}
}
