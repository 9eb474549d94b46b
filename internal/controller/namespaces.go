package controller

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// namespaceFeeds tell which namespaces are being deleted and which are selected, where all of them are watched. Where only
// some are, there is no right to look at them; nothing depends on it then but that a write is spared.
func (c *Controller) namespaceFeeds() []feed {
	if len(c.opts.Namespaces) > 0 {
		return nil
	}
	f := c.feed(Watched{
		Resource: corev1.SchemeGroupVersion.WithResource("namespaces"),
		NewList:  func() runtime.Object { return &corev1.NamespaceList{} },
	}, &sink{
		put: func(obj runtime.Object, _ bool) {
			if ns, ok := obj.(*corev1.Namespace); ok {
				c.state.PutNamespace(ns.Name, ns.DeletionTimestamp != nil)
				c.selectNamespace(ns.Name, ns.Labels)
			}
		},
		del: func(name types.NamespacedName, _ string) {
			c.state.PutNamespace(name.Name, false)
			c.state.SelectNamespace(name.Name, false)
		},
		keep: func(named map[types.NamespacedName]struct{}) {
			c.state.KeepNamespaces(func(name string) bool {
				_, ok := named[types.NamespacedName{Name: name}]
				return ok
			})
		},
	})
	// Rights that somebody else has granted may lack this one. That is no reason to roll nothing, unless nothing else
	// tells which namespaces are meant.
	failed := f.Failed
	f.Failed = func(err error) {
		failed(err)
		if apierrors.IsForbidden(err) && c.opts.NamespaceSelector == nil {
			f.enough()
		}
	}
	return []feed{f}
}

// selectNamespace asks for a look at the workloads of a namespace that is selected from now on.
func (c *Controller) selectNamespace(name string, l map[string]string) {
	if c.opts.NamespaceSelector == nil {
		return
	}
	for _, key := range c.state.SelectNamespace(name, c.opts.NamespaceSelector.Matches(labels.Set(l))) {
		c.enqueue(key, false)
	}
}
