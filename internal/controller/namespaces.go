package controller

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// namespaceFeeds tell which namespaces are being deleted, where all of them are watched. Where only some are, there is no
// right to look at them; nothing depends on it but that a write is spared.
func (c *Controller) namespaceFeeds() []feed {
	if len(c.opts.Namespaces) > 0 {
		return nil
	}
	f := c.feed(Watched{
		Resource: "namespaces",
		NewList:  func() runtime.Object { return &corev1.NamespaceList{} },
	}, &sink{
		put: func(obj runtime.Object, _ bool) {
			if ns, ok := obj.(*corev1.Namespace); ok {
				c.state.PutNamespace(ns.Name, ns.DeletionTimestamp != nil)
			}
		},
		del: func(name types.NamespacedName) { c.state.PutNamespace(name.Name, false) },
		keep: func(named map[types.NamespacedName]struct{}) {
			c.state.KeepNamespaces(func(name string) bool {
				_, ok := named[types.NamespacedName{Name: name}]
				return ok
			})
		},
	})
	// Rights that somebody else has granted may lack this one. That is no reason to roll nothing.
	failed := f.Failed
	f.Failed = func(err error) {
		failed(err)
		if apierrors.IsForbidden(err) {
			f.enough()
		}
	}
	return []feed{f}
}
