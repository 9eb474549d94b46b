package controller

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/permissions"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/state"
)

// A SecretProviderClass only specifies what to mount. The driver writes the result into one object
// for each Pod, and all these objects of a class together are the source.

func classGroup() schema.GroupVersion {
	return schema.FromAPIVersionAndKind(source.SecretProviderClass.APIVersion(), "").GroupVersion()
}

const (
	classResource  = "secretproviderclasses"
	reportResource = "secretproviderclasspodstatuses"
)

// ClassPermissions are the permissions to watch SecretProviderClasses.
func ClassPermissions() []permissions.Permission {
	group := classGroup().Group
	return append(permissions.To(group, classResource, "list", "watch"), permissions.To(group, reportResource, "list", "watch")...)
}

// classes are the SecretProviderClasses with an object or a report.
type classes struct {
	mu    sync.Mutex
	known map[source.Key]*source.Class
	// reports is the class of each status, by the name of the status.
	reports map[types.NamespacedName]source.Key
	// crowded are the classes with more mounted objects than Reroll stores, once that was logged.
	crowded map[source.Key]bool
}

func newClasses() *classes {
	return &classes{known: map[source.Key]*source.Class{}, reports: map[types.NamespacedName]source.Key{}, crowded: map[source.Key]bool{}}
}

func (cs *classes) of(key source.Key) *source.Class {
	class, ok := cs.known[key]
	if !ok {
		class = source.NewClass(key)
		cs.known[key] = class
	}
	return class
}

// classFeeds are empty unless the CSI integration is enabled. If the API server does not serve the
// kinds, the caches sync without them.
func (c *Controller) classFeeds() []feed {
	if !c.opts.Classes {
		return nil
	}
	var feeds []feed
	definitions, reports := &everywhere{}, &everywhere{}
	for _, ns := range c.opts.Watched() {
		feeds = append(feeds,
			c.classFeed("SecretProviderClass", classResource, ns, definitions, c.definitions(ns)),
			c.classFeed("SecretProviderClassPodStatus", reportResource, ns, reports, c.classReports(ns)))
	}
	return feeds
}

func (c *Controller) classFeed(kind, resource, namespace string, shared *everywhere, h *handler) feed {
	k := kinds.Kind{Title: kind + "es", Resource: classGroup().WithResource(resource)}
	f := c.feed(kubeapi.Watched{
		Resource: k.Resource, Namespace: namespace, Custom: true, Kind: kind, Required: true, FieldSelector: c.opts.FieldSelector(""),
		NewList: func() runtime.Object { return &unstructured.UnstructuredList{} },
	}, h)
	return c.watchWhereServed(f, h, &servedKind{
		kind: k, namespace: namespace, everywhere: shared, use: kinds.Always,
		verbs: "list, watch", without: "so rotations by the CSI driver roll nothing",
	})
}

// definitions receive the objects of the classes, whose annotations select the workloads that they
// concern.
func (c *Controller) definitions(namespace string) *handler {
	gone := func(key source.Key, version uint64, live bool) {
		if class, ok := c.classes.known[key]; ok && class.Undefine(version) {
			c.putClass(class, nil, live)
		}
		c.dropUnknown(key)
	}
	keyOf := func(name types.NamespacedName) source.Key {
		return source.Key{Kind: source.SecretProviderClass, Namespace: name.Namespace, Name: name.Name}
	}
	h := &handler{
		del: func(name types.NamespacedName, resourceVersion string) {
			c.classes.mu.Lock()
			defer c.classes.mu.Unlock()
			c.dropSourceNotices(source.SecretProviderClass, is(name))
			gone(keyOf(name), state.VersionOf(resourceVersion), true)
		},
		keep: func(named map[types.NamespacedName]struct{}) {
			c.classes.mu.Lock()
			defer c.classes.mu.Unlock()
			absent := absentFrom(namespace, named)
			c.dropSourceNotices(source.SecretProviderClass, absent)
			for key := range c.classes.known {
				if absent(types.NamespacedName{Namespace: key.Namespace, Name: key.Name}) {
					gone(key, 0, false)
				}
			}
		},
	}
	h.put = func(obj runtime.Object, live bool) {
		o, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return
		}
		meta := &metav1.ObjectMeta{
			Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
			ResourceVersion: o.GetResourceVersion(), Annotations: o.GetAnnotations(),
		}
		key := keyOf(types.NamespacedName{Namespace: meta.Namespace, Name: meta.Name})
		c.classes.mu.Lock()
		defer c.classes.mu.Unlock()
		class := c.classes.of(key)
		before := class.Definition()
		if class.Define(meta, state.VersionOf(meta.ResourceVersion), c.opts.Names) {
			if now := class.Definition(); h.isChange(live) {
				c.notifyOfClass(&before, &now)
			}
			c.putClass(class, nil, live)
		}
	}
	return h
}

// classReports receive what the driver reports about Pods.
func (c *Controller) classReports(namespace string) *handler {
	feed := &classReportFeed{c: c, namespace: namespace, restored: map[types.NamespacedName]source.ClassReport{}}
	return &handler{put: feed.put, del: feed.del, keep: feed.keep}
}

// classReportFeed puts the statuses of one namespace, or of all.
type classReportFeed struct {
	c         *Controller
	namespace string
	// restored are the reports of a snapshot, which has no order. The history of a class follows
	// from the order in which its reports were written.
	restored map[types.NamespacedName]source.ClassReport
}

func (f *classReportFeed) put(obj runtime.Object, live bool) {
	o, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	classes := f.c.classes
	r, crowded := classReport(o)
	name := types.NamespacedName{Namespace: o.GetNamespace(), Name: r.Name}
	classes.mu.Lock()
	defer classes.mu.Unlock()
	if known := classes.known[r.Class]; crowded || known != nil && known.Crowded() {
		f.c.logCrowded(name, r.Class)
	}
	if known, ok := classes.reports[name]; ok && known != r.Class {
		f.drop(name)
	}
	if r.Class.Name == "" {
		return
	}
	classes.reports[name] = r.Class
	if !live {
		f.restored[name] = r
		return
	}
	class := classes.of(r.Class)
	f.c.putClass(class, class.Put(r), true)
}

func (f *classReportFeed) del(name types.NamespacedName, _ string) {
	f.c.classes.mu.Lock()
	defer f.c.classes.mu.Unlock()
	f.drop(name)
}

// drop removes a report. The lock is held.
func (f *classReportFeed) drop(name types.NamespacedName) {
	classes := f.c.classes
	delete(f.restored, name)
	key, ok := classes.reports[name]
	if !ok {
		return
	}
	delete(classes.reports, name)
	if class, ok := classes.known[key]; ok {
		class.Drop(name.Name)
		f.c.putClass(class, nil, true)
	}
	f.c.dropUnknown(key)
}

// keep completes a snapshot with the names of all statuses.
func (f *classReportFeed) keep(named map[types.NamespacedName]struct{}) {
	classes := f.c.classes
	classes.mu.Lock()
	defer classes.mu.Unlock()
	byClass := map[source.Key][]source.ClassReport{}
	for name, r := range f.restored {
		if _, ok := named[name]; ok {
			byClass[r.Class] = append(byClass[r.Class], r)
		}
	}
	clear(f.restored)
	for key, reports := range byClass {
		class := classes.of(key)
		f.c.putClass(class, class.Restore(reports), false)
	}
	absent := absentFrom(f.namespace, named)
	for name := range classes.reports {
		if absent(name) {
			f.drop(name)
		}
	}
}

// logCrowded logs once that not all objects of a class are stored separately. The caller holds
// c.classes.mu.
func (c *Controller) logCrowded(status types.NamespacedName, class source.Key) {
	if !c.classes.crowded[class] {
		c.classes.crowded[class] = true
		c.log.Warn("a SecretProviderClassPodStatus lists too many objects, or too long values; Reroll compares the excess objects as one",
			"namespace", status.Namespace, "name", status.Name, "class", class.Name)
	}
}

// putClass stores the new state of a class, or at least which Pods started with it.
func (c *Controller) putClass(class *source.Class, turns []source.Source, live bool) {
	if len(turns) == 0 {
		src, ok := class.Source()
		if !ok {
			return
		}
		turns = []source.Source{src}
	}
	for _, src := range turns {
		for _, key := range c.state.PutSource(src, live) {
			c.enqueue(key, live)
		}
	}
}

// dropUnknown forgets a class without any data. The ledgers contain its last digest, in case the
// class returns.
func (c *Controller) dropUnknown(key source.Key) {
	if class, ok := c.classes.known[key]; ok && class.Unknown() {
		delete(c.classes.known, key)
		delete(c.classes.crowded, key)
		c.state.DeleteSource(key, reload.Departure{})
	}
}

// classReport reads the needed fields of a status. A field of an unexpected type counts as absent.
func classReport(o *unstructured.Unstructured) (report source.ClassReport, crowded bool) {
	text := func(field string) string {
		value, _, _ := unstructured.NestedString(o.Object, "status", field)
		return value
	}
	r := source.ClassReport{
		Name: o.GetName(), Pod: text("podName"), Version: state.VersionOf(o.GetResourceVersion()),
		Class:   source.Key{Kind: source.SecretProviderClass, Namespace: o.GetNamespace(), Name: text("secretProviderClassName")},
		Created: o.GetCreationTimestamp().Time, Written: written(o), Again: o.GetGeneration() > 1, Objects: map[string]string{},
	}
	r.Touched = r.Version == 0 || touched(o, r.Written)
	for _, owner := range o.GetOwnerReferences() {
		if owner.Kind == "Pod" {
			r.Owner = owner.UID
		}
	}
	status, _ := o.Object["status"].(map[string]any)
	objects, _ := status["objects"].([]any)
	for _, item := range objects {
		object, _ := item.(map[string]any)
		id, _ := object["id"].(string)
		version, _ := object["version"].(string)
		if id != "" && version != "" {
			r.Objects[id] = version
		}
	}
	crowded = r.Bound()
	return r, crowded
}

// written is the last time at which the mounted versions of a Pod were written.
func written(o *unstructured.Unstructured) time.Time {
	newest := o.GetCreationTimestamp().Time
	for _, manager := range o.GetManagedFields() {
		if manager.Time != nil && manager.Time.After(newest) && source.OwnsReport(manager.FieldsV1) {
			newest = manager.Time.Time
		}
	}
	return newest
}

// touched reports whether another field manager may have written something else after the mounted
// versions. Managers that wrote well before them did not, whichever API server took their write.
func touched(o *unstructured.Unstructured, written time.Time) bool {
	owned := false
	for _, manager := range o.GetManagedFields() {
		switch {
		case manager.Time == nil:
			return true
		case source.OwnsReport(manager.FieldsV1):
			owned = true
		case !manager.Time.Add(source.StartLag).Before(written):
			return true
		}
	}
	return !owned
}
