package controller

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A standby reconciles nothing. So entries for a deleted object are dropped when the object is
// deleted, and not when they are reconciled.

// dropQueued drops the entries of a deleted workload, unless it is a Job with a copy, and the
// question about its reload.
func (c *Controller) dropQueued(key workload.Key) {
	c.gateURLQuestions.forget(key)
	if c.acting.Load() || c.jobs.recreating(key) != nil {
		return
	}
	c.queue.Drop(key)
	c.pauses.Drop(key)
}

// jobsGone forgets the Jobs that were being recreated and of which neither the Job nor a copy
// exists. The leader finds that with the next step, but a dry run takes no steps.
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
