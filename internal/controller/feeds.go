package controller

import (
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/workload"
)

// feed lists and watches one resource, in one namespace or in all.
type feed struct {
	*intake.Feed
	synced <-chan struct{} // closed after the first complete snapshot
	// enough closes synced although there was no snapshot.
	enough func()
}

func (c *Controller) workloadFeeds() []feed {
	var feeds []feed
	served := map[string]*everywhere{}
	for _, k := range c.kinds {
		served[k.Name] = &everywhere{}
	}
	for _, ns := range c.opts.Watched() {
		if c.watchesRuns() {
			feeds = append(feeds, c.runFeed(ns))
		}
		for _, k := range c.kinds {
			watched := kubeapi.WatchedKind(k, ns)
			watched.FieldSelector = c.opts.FieldSelector("")
			switch {
			case k.Name == kinds.Jobs().Name:
				feeds = append(feeds, c.feed(watched, c.jobHandler(c.workloads(k, ns), ns)))
			case !k.Custom:
				feeds = append(feeds, c.feed(watched, c.workloads(k, ns)))
			default:
				feeds = append(feeds, c.customFeed(k, watched, served[k.Name]))
			}
		}
	}
	return feeds
}

func (c *Controller) feed(watched kubeapi.Watched, h *handler) feed {
	synced := make(chan struct{})
	h.resource = watched.String()
	h.counter = c.counter
	h.firstSynced = sync.OnceFunc(func() { close(synced) })
	return feed{synced: synced, enough: h.firstSynced, Feed: &intake.Feed{
		Open:    c.api.Open(watched),
		Handler: h,
		Clock:   c.clock,
		Failed: func(err error) {
			c.counter.WatchFailed()
			c.log.Warn("watch failed; retrying", "resource", watched.String(), "namespace", watched.Namespace, "error", err.Error())
		},
	}}
}

// handler receives the objects of one resource in one namespace, or in all.
type handler struct {
	resource    string
	counter     Counter
	put         func(obj runtime.Object, live bool)
	del         func(name types.NamespacedName, resourceVersion string)
	keep        func(map[types.NamespacedName]struct{})
	firstSynced func()
	// synced reports whether a complete snapshot has been put. Any difference after that was
	// written later.
	synced bool
	// version is the resource version of the latest snapshot.
	version string
}

// isChange reports whether an object changed while the controller ran: an event of the watch shows
// that, or a snapshot after a gap.
func (h *handler) isChange(live bool) bool { return live || h.synced }

// forget drops objects that count as deleted. After that, returning objects may be of any age.
func (h *handler) forget() {
	h.keep(nil)
	h.synced = false
}

// The events of an object, in the words of Reloader's metrics.
const (
	eventAdd    = "add"
	eventUpdate = "update"
	eventDelete = "delete"
)

// Put receives an object that is new or differs.
func (h *handler) Put(change watch.EventType, obj runtime.Object, live bool) {
	event := eventAdd
	if change == watch.Modified {
		event = eventUpdate
	}
	h.counter.Seen(event, h.resource)
	h.put(obj, live)
	h.counter.Processed(event, h.resource)
}

// Delete receives an object that was deleted.
func (h *handler) Delete(obj runtime.Object) {
	h.counter.Seen(eventDelete, h.resource)
	if m, ok := obj.(interface {
		GetNamespace() string
		GetName() string
		GetResourceVersion() string
	}); ok {
		h.del(types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}, m.GetResourceVersion())
	}
	h.counter.Processed(eventDelete, h.resource)
}

// SnapshotComplete receives the names of all objects that exist at a version.
func (h *handler) SnapshotComplete(named map[types.NamespacedName]struct{}, version string) {
	h.version = version
	h.keep(named)
	h.synced = true
	h.firstSynced()
}

func (c *Controller) workloads(k kinds.Kind, namespace string) *handler {
	h := &handler{
		del: func(name types.NamespacedName, _ string) {
			key := workload.Key{Kind: k.Name, Namespace: name.Namespace, Name: name.Name}
			c.dropped(key)
		},
		keep: func(named map[types.NamespacedName]struct{}) {
			c.enqueueTemplateOwners(c.state.KeepTemplateUsers(k.Name, namespace, named), false)
			departed := c.state.KeepWorkloads(k.Name, namespace, named)
			c.jobsGone(k.Name, absentFrom(namespace, named))
			c.dropWorkloadNotices(k.Name, absentFrom(namespace, named))
			for _, gone := range departed {
				c.forget(gone)
				c.enqueueOrphans(gone)
			}
		},
	}
	h.put = func(obj runtime.Object, live bool) {
		if w, known := c.storedVersion(k, obj); known && live {
			c.continueStored(&w, live, false)
			return
		}
		w, err := c.opts.Read(k, obj)
		if missing, ok := errors.AsType[kinds.NoTemplateError](err); ok {
			c.withoutTemplate(k, obj, missing.Path)
			return
		}
		if err != nil {
			c.log.Error("an object could not be decoded", "error", err.Error())
			return
		}
		notify := h.isChange(live) && c.jobs.recreating(w.Key) == nil
		if w.TemplateOwner != nil {
			c.putTemplateUser(w, live, notify)
			return
		}
		if k.Custom {
			c.enqueueTemplateOwners(c.state.DropTemplateUser(w.Key), false) // it may have had spec.workloadRef before
		}
		c.putWorkload(w, live, notify)
	}
	return h
}

// putWorkload stores a workload, and notifies its user of new mistakes.
func (c *Controller) putWorkload(w workload.Workload, live, notify bool) {
	if notify {
		before, known := c.state.Workload(w.Key)
		now := c.state.Complete(w)
		if known && before.UID == w.UID {
			c.notifyOfWorkload(&before, &now)
		} else {
			c.notifyOfWorkload(nil, &now)
		}
	}
	_, owned := c.state.RolledOwner(w.Key)
	differs := c.state.PutWorkload(w, live)
	if _, still := c.state.RolledOwner(w.Key); owned && !still {
		differs = true // its owner released it
	}
	w = c.state.Complete(w)
	c.continueStored(&w, live, differs)
}

// storedVersion returns the stored workload, and reports whether an object is the same version of
// it. The watch delivers the version that a response to our own write contained. Reading it again
// would cost as much as reading the response, and show nothing new.
func (c *Controller) storedVersion(k kinds.Kind, obj runtime.Object) (workload.Workload, bool) {
	m, ok := obj.(metav1.Object)
	if !ok {
		return workload.Workload{}, false
	}
	w, known := c.state.Workload(workload.Key{Kind: k.Name, Namespace: m.GetNamespace(), Name: m.GetName()})
	return w, known && w.UID == m.GetUID() && w.ResourceVersion == m.GetResourceVersion() && w.ResourceVersion != ""
}

// continueStored continues what waits for an event of a workload.
func (c *Controller) continueStored(w *workload.Workload, live, differs bool) {
	c.trackStatus(w.Key)
	c.updateFleets(w.Key)
	c.queuePause(w.Key)
	switch conflicted := c.endConflict(w.Key); {
	case conflicted:
		c.queue.Add(w.Key, 0, 0)
	case differs || w.RolledOut && c.awaitsRollout(w.Key) || c.rolledByUser(w):
		c.enqueue(w.Key, live)
	}
}

func in(watched, namespace string) bool { return watched == "" || watched == namespace }

// absentFrom returns whether a name is absent from a complete snapshot of a namespace, or of all
// namespaces.
func absentFrom(watched string, named map[types.NamespacedName]struct{}) func(types.NamespacedName) bool {
	return func(name types.NamespacedName) bool {
		_, there := named[name]
		return !there && in(watched, name.Namespace)
	}
}
