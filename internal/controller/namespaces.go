package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/state"
)

// namespaceFeeds report which namespaces are being deleted and which are selected, if all of them are watched. If only
// some are watched, Reroll has no permission to read them; then only a needless write depends on it.
func (c *Controller) namespaceFeeds() []feed {
	if len(c.opts.Namespaces) > 0 {
		return nil
	}
	s := &sink{}
	s.put = func(obj runtime.Object, live bool) {
		if ns, ok := obj.(*corev1.Namespace); ok {
			c.state.PutNamespace(ns.Name, ns.DeletionTimestamp != nil)
			c.selectNamespace(&ns.ObjectMeta, s.isNews(live))
		}
	}
	s.del = func(name types.NamespacedName, _ string) {
		c.state.PutNamespace(name.Name, false)
		c.state.DeselectNamespace(name.Name)
	}
	s.keep = func(named map[types.NamespacedName]struct{}) {
		c.state.KeepNamespaces(func(name string) bool {
			_, ok := named[types.NamespacedName{Name: name}]
			return ok
		})
	}
	f := c.feed(kubeapi.Watched{
		Resource: corev1.SchemeGroupVersion.WithResource("namespaces"),
		NewList:  func() runtime.Object { return &corev1.NamespaceList{} },
	}, s)
	// A role that another tool maintains may lack this permission. That is not a reason to roll nothing, unless the
	// labels alone select the namespaces.
	failed := f.Failed
	f.Failed = func(err error) {
		failed(err)
		if apierrors.IsForbidden(err) && c.opts.NamespaceSelector == nil {
			f.enough()
		}
	}
	return []feed{f}
}

// selectNamespace queues the workloads of a namespace that is selected from now on.
func (c *Controller) selectNamespace(ns *metav1.ObjectMeta, news bool) {
	if c.opts.NamespaceSelector == nil {
		return
	}
	if !c.opts.NamespaceSelector.Matches(labels.Set(ns.Labels)) {
		c.state.DeselectNamespace(ns.Name)
		return
	}
	var version uint64
	if news {
		version = state.VersionOf(ns.ResourceVersion)
	}
	for _, key := range c.state.SelectNamespace(ns.Name, version, labelled(ns)) {
		c.enqueue(key, false)
	}
}

// labelled is the newest time of a manager of the labels of a namespace, which it has not written later.
func labelled(ns *metav1.ObjectMeta) time.Time {
	if at := source.LastWrite(ns, "labels"); at.After(ns.CreationTimestamp.Time) {
		return at
	}
	return ns.CreationTimestamp.Time
}
