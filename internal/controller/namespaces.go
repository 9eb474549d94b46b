package controller

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/state"
	"github.com/reroll-dev/reroll/internal/workload"
)

// namespaceFeeds report which namespaces are being deleted and which are selected, if all of them
// are watched. If only some are watched, Reroll has no permission to read them; then only a
// needless write depends on it.
func (c *Controller) namespaceFeeds() []feed {
	withoutDefaults := sync.OnceFunc(func() {
		c.log.Warn("annotations of namespaces have no effect, because the controller may not watch namespaces")
	})
	if !c.opts.WatchesNamespaces() {
		c.log.Info("annotations of namespaces have no effect, because the controller watches only some namespaces")
		return nil
	}
	h := &handler{}
	h.put = func(obj runtime.Object, live bool) {
		if ns, ok := obj.(*corev1.Namespace); ok {
			c.putNamespace(ns, h.isChange(live))
		}
	}
	h.del = func(name types.NamespacedName, _ string) {
		c.state.PutNamespace(name.Name, false)
		c.state.ChangeDefaults(name.Name, state.Defaults{}, 0)
		c.state.DeselectNamespace(name.Name)
	}
	h.keep = func(named map[types.NamespacedName]struct{}) {
		c.state.KeepNamespaces(func(name string) bool {
			_, ok := named[types.NamespacedName{Name: name}]
			return ok
		})
	}
	f := c.feed(kubeapi.Watched{
		Resource: corev1.SchemeGroupVersion.WithResource("namespaces"),
		NewList:  func() runtime.Object { return &corev1.NamespaceList{} },
	}, h)
	// A role that another tool maintains may lack this permission. That is not a reason to roll
	// nothing, unless the labels alone select the namespaces.
	failed := f.Failed
	f.Failed = func(err error) {
		failed(err)
		if apierrors.IsForbidden(err) {
			withoutDefaults()
		}
		if apierrors.IsForbidden(err) && c.opts.NamespaceSelector == nil {
			f.enough()
		}
	}
	return []feed{f}
}

// putNamespace stores a namespace.
func (c *Controller) putNamespace(ns *corev1.Namespace, changed bool) {
	known := c.opts.ReadNamespace(&ns.ObjectMeta)
	c.state.PutNamespace(ns.Name, known.Terminating)
	before := c.putDefaults(ns, &known, changed)
	if changed && c.opts.LeavesOut(ns.Name, &known) == rules.NotLeftOut {
		c.notifyMistakes(subject{namespace: ns.Name}, ns.UID, known.Mistakes, before.Mistakes, func(mistakes []annotations.Mistake) { c.report.Notify(notice.MistakesOfNamespace(ns, mistakes)) })
	}
	c.selectNamespace(&ns.ObjectMeta, changed)
}

// putDefaults stores what the annotations of a namespace set for its workloads, and returns what they
// set before. Reloads that wait may start now. No workload is rolled because it is opted in: its
// sources are recorded.
func (c *Controller) putDefaults(ns *corev1.Namespace, known *rules.Namespace, changed bool) (before state.Defaults) {
	now := state.Defaults{Policy: known.Defaults, Mistakes: known.Mistakes, OptsInSince: known.OptsInSince}
	if !changed && !c.Ready() {
		c.state.PutDefaults(ns.Name, now)
		return state.Defaults{}
	}
	before, differs, inherited := c.state.ChangeDefaults(ns.Name, now, state.VersionOf(ns.ResourceVersion))
	for i := range inherited {
		key := inherited[i].Key
		if w, ok := c.state.Workload(key); ok && changed {
			c.noteOptedIn(&inherited[i].Before, &w)
		}
		c.updateFleets(key)
		c.enqueue(key, false)
	}
	if differs {
		c.checkGates(ns.Name)
	}
	return before
}

// selectNamespace queues the workloads of a namespace that is selected from now on.
func (c *Controller) selectNamespace(ns *metav1.ObjectMeta, notify bool) {
	if c.opts.NamespaceSelector == nil {
		return
	}
	if known := c.opts.ReadNamespace(ns); !c.opts.SelectsNamespace(&known) {
		c.state.DeselectNamespace(ns.Name)
		return
	}
	var version uint64
	if notify {
		version = state.VersionOf(ns.ResourceVersion)
	}
	for _, key := range c.state.SelectNamespace(ns.Name, version, labelled(ns)) {
		c.enqueue(key, false)
	}
}

// labelled is the newest time of a field manager that owns labels of a namespace. The labels were
// not written later, unless a client has removed the managed fields.
func labelled(ns *metav1.ObjectMeta) time.Time {
	if at := source.LastWrite(ns, "labels"); at.After(ns.CreationTimestamp.Time) {
		return at
	}
	return ns.CreationTimestamp.Time
}

// selectsNamespace reports whether workloads of a namespace are reconciled. The state contains the
// workloads and sources of all namespaces, so that changes are known when a namespace is selected
// later.
func (c *Controller) selectsNamespace(namespace string) bool {
	return c.opts.NamespaceSelector == nil || c.state.Selected(namespace)
}

// leavesOut reports whether a workload is ignored, because it or its namespace is being deleted or
// is not selected.
func (c *Controller) leavesOut(w *workload.Workload) bool {
	return w.Deleting || c.state.Terminating(w.Key.Namespace) || !c.selectsNamespace(w.Key.Namespace)
}
