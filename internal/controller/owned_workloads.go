package controller

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/workload"
)

// dropped forgets a workload that was deleted.
func (c *Controller) dropped(key workload.Key) {
	name := types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
	c.state.DeleteWorkload(key)
	c.dropWorkloadNotices(key.Kind, is(name))
	c.jobsGone(key.Kind, is(name))
	c.enqueueTemplateOwners(c.state.DropTemplateUser(key), true)
	c.forget(key)
	c.enqueueOrphans(key)
}

// enqueueOrphans queues the workloads whose owner was deleted, because no owner is rolled instead
// of them any more.
func (c *Controller) enqueueOrphans(key workload.Key) {
	for _, child := range c.state.Children(key) {
		c.enqueue(child, false)
	}
}

// withoutTemplate notifies, once for each kind, that its objects have no pod template at the
// configured path. Reroll ignores them, and forgets a workload that had a template before.
func (c *Controller) withoutTemplate(k kinds.Kind, obj runtime.Object, path string) {
	head, err := meta.Accessor(obj)
	if err != nil {
		return // it would be no object at all
	}
	key := workload.Key{Kind: k.Name, Namespace: head.GetNamespace(), Name: head.GetName()}
	c.dropped(key)
	if !c.selectsNamespace(key.Namespace) {
		return
	}
	c.pending.first(k.Name, func() {
		c.report.Notify(notice.WithoutTemplate(&workload.Workload{
			Key: key, APIVersion: k.Resource.GroupVersion().String(), UID: head.GetUID(), ResourceVersion: head.GetResourceVersion(),
		}, path, k.Use == kinds.Always))
	})
	if c.acting.Load() {
		c.pending.emit(subject{kind: k.Name})
	}
}
