package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/permissions"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/state"
	"github.com/reroll-dev/reroll/internal/workload"
)

// SourcePermissions are the permissions to watch sources, except for ignored kinds.
func SourcePermissions(settings *rules.Settings) []permissions.Permission {
	var all []permissions.Permission
	for _, k := range kubeapi.SourceKinds() {
		if settings.ReadsSource(k.Kind) && !k.Kind.ClusterScoped() {
			all = append(all, permissions.To(k.Resource.Resource.Group, k.Resource.Resource.Resource, "list", "watch")...)
		}
	}
	return all
}

func (c *Controller) sourceFeeds() []feed {
	var feeds []feed
	for _, ns := range c.opts.Watched() {
		for _, k := range kubeapi.SourceKinds() {
			if !c.opts.ReadsSource(k.Kind) || k.Kind.ClusterScoped() {
				continue
			}
			watched := k.In(ns)
			watched.FieldSelector = c.opts.FieldSelector(watched.FieldSelector)
			feeds = append(feeds, c.feed(watched, c.sources(k, ns)))
		}
	}
	return slices.Concat(feeds, c.trustBundleFeeds(), c.grantFeeds())
}

func (c *Controller) sources(k kubeapi.SourceKind, namespace string) *handler {
	h := &handler{
		del: func(name types.NamespacedName, resourceVersion string) {
			key := source.Key{Kind: k.Kind, Namespace: name.Namespace, Name: name.Name}
			c.forgetSources(k.Kind, is(name))
			c.enqueueAll(c.state.DeleteSource(key, reload.Departure{Version: state.VersionOf(resourceVersion), Time: c.clock.Now()}), true)
		},
	}
	h.keep = func(named map[types.NamespacedName]struct{}) {
		c.forgetSources(k.Kind, absentFrom(namespace, named))
		c.enqueueAll(c.state.KeepSources(k.Kind, namespace, named, state.VersionOf(h.version)), false)
	}
	h.put = func(obj runtime.Object, live bool) {
		if cm, ok := obj.(*corev1.ConfigMap); ok && cm.Name == metainfo.Name {
			c.noteInstallation(cm)
			c.noteFreeze(cm)
		}
		src, ok := k.Read(obj, c.installation.Key, c.opts.Names)
		if !ok {
			return
		}
		if labelled, ok := obj.(metav1.Object); ok {
			src = c.opts.Select(src, labelled.GetLabels())
		}
		if h.isChange(live) {
			c.notifyOfSource(&src)
		}
		concerned, spared := c.state.ReceiveSource(src, live)
		c.counter.Spared(spared)
		c.enqueueAll(concerned, live)
	}
	return h
}

// forgetSources forgets what is kept beside the state of sources that no longer exist.
func (c *Controller) forgetSources(kind source.Kind, gone func(types.NamespacedName) bool) {
	c.dropSourceNotices(kind, gone)
	if kind == source.ConfigMap {
		c.others.remove(gone)
		c.forgetFreeze(gone)
	}
}

// enqueueAll queues workloads after one of their sources changed or was deleted.
func (c *Controller) enqueueAll(concerned []workload.Key, live bool) {
	for _, key := range concerned {
		c.enqueue(key, live)
	}
}
