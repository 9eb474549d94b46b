package controller

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/workload"
)

// While another replica leads, nothing that waits here is reconciled. So what waits for an object that is gone is dropped with it, and
// not when it is reconciled.

// dropQueued drops what waits for a workload that is gone, unless it is a Job of which a copy is left.
func (c *Controller) dropQueued(key workload.Key) {
	if c.acting.Load() || c.jobs.recreating(key) != nil {
		return
	}
	c.queue.Drop(key)
	c.pauses.Drop(key)
}

// jobsGone forgets the Jobs that were being recreated and of which neither the Job nor a copy is left. The leader finds that
// out with the next step; a dry run has no next step.
func (c *Controller) jobsGone(kind string, gone func(types.NamespacedName) bool) {
	if kind != kinds.Jobs().Name || c.acting.Load() && !c.opts.DryRun {
		return
	}
	without := c.jobs.dropCopies(func(namespace, name string) bool {
		return gone(types.NamespacedName{Namespace: namespace, Name: name})
	})
	for _, key := range without {
		if _, there := c.state.Workload(key); !there {
			c.jobs.done(key)
			c.dropQueued(key)
		}
	}
}
