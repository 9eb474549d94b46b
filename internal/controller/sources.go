package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rights"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/state"
	"github.com/reroll-dev/reroll/internal/workload"
)

// watchedSource is how sources of a kind come.
type watchedSource struct {
	kind     source.Kind
	resource schema.GroupVersionResource
	newList  func() runtime.Object
	// fieldSelector leaves out what is no source.
	fieldSelector string
	// read returns what is kept of an object.
	read func(obj runtime.Object, key digest.Key, names annotations.Names) (source.Source, bool)
}

// OrdinarySecrets leaves out what no pod can use as configuration: the history of Helm releases, by far the largest
// Secrets of most clusters, and the tokens that nodes join with. Every other type can be mounted.
const OrdinarySecrets = "type!=helm.sh/release.v1,type!=bootstrap.kubernetes.io/token"

// watchedSources is the table of the kinds that are watched.
func watchedSources() []watchedSource {
	return []watchedSource{
		{
			kind:     source.ConfigMap,
			resource: corev1.SchemeGroupVersion.WithResource("configmaps"),
			newList:  func() runtime.Object { return &corev1.ConfigMapList{} },
			read: func(obj runtime.Object, _ digest.Key, names annotations.Names) (source.Source, bool) {
				cm, ok := obj.(*corev1.ConfigMap)
				return source.FromConfigMap(cm, names), ok
			},
		},
		{
			kind:     source.Secret,
			resource: corev1.SchemeGroupVersion.WithResource("secrets"),
			newList:  func() runtime.Object { return &corev1.SecretList{} }, fieldSelector: OrdinarySecrets,
			read: func(obj runtime.Object, key digest.Key, names annotations.Names) (source.Source, bool) {
				secret, ok := obj.(*corev1.Secret)
				return source.FromSecret(secret, key, names), ok
			},
		},
	}
}

// SourceRights are what watching takes, but for the kinds that are ignored.
func SourceRights(ignored []source.Kind) []rights.Right {
	var all []rights.Right
	for _, watched := range watchedSources() {
		if !slices.Contains(ignored, watched.kind) {
			all = append(all, rights.To(watched.resource.Group, watched.resource.Resource, "list", "watch")...)
		}
	}
	return all
}

// reads reports whether sources of a kind are watched, so that it is known which of them exist.
func (c *Controller) reads(kind source.Kind) bool {
	if kind.Reported() {
		return false // before a pod has mounted it, nobody knows
	}
	known := slices.ContainsFunc(watchedSources(), func(w watchedSource) bool { return w.kind == kind })
	return known && !slices.Contains(c.opts.IgnoredSources, kind)
}

func (c *Controller) sourceFeeds() []feed {
	var feeds []feed
	for _, ns := range c.namespaces() {
		for _, w := range watchedSources() {
			if !c.reads(w.kind) {
				continue
			}
			feeds = append(feeds, c.feed(kubeapi.Watched{
				Resource: w.resource, Namespace: ns, FieldSelector: c.fieldSelector(w.fieldSelector), NewList: w.newList,
			}, c.sources(w, ns)))
		}
	}
	return feeds
}

func (c *Controller) sources(w watchedSource, namespace string) *sink {
	s := &sink{
		del: func(name types.NamespacedName, resourceVersion string) {
			key := source.Key{Kind: w.kind, Namespace: name.Namespace, Name: name.Name}
			c.dropSourceNotices(w.kind, is(name))
			c.enqueueAfterDelete(c.state.DeleteSource(key, reload.Departure{Version: state.VersionOf(resourceVersion), Time: c.clock.Now()}), true)
		},
		keep: func(named map[types.NamespacedName]struct{}) {
			c.dropSourceNotices(w.kind, absentFrom(namespace, named))
			c.enqueueAfterDelete(c.state.KeepSources(w.kind, namespace, named), false)
		},
	}
	s.put = func(obj runtime.Object, live bool) {
		src, ok := w.read(obj, c.key, c.opts.Names)
		if !ok {
			return
		}
		if labelled, ok := obj.(metav1.Object); ok {
			src = c.selected(src, labelled.GetLabels())
		}
		if s.isNews(live) {
			c.notifyOfSource(&src)
		}
		for _, key := range c.state.PutSource(src, live) {
			c.enqueue(key, live)
		}
	}
	return s
}

// enqueueAfterDelete queues workloads of which a source was deleted, where that matters.
func (c *Controller) enqueueAfterDelete(concerned []workload.Key, live bool) {
	if !c.opts.ReloadOnDelete {
		return
	}
	for _, key := range concerned {
		c.enqueue(key, live)
	}
}
