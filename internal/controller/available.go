package controller

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// available is since when the Pods of a workload have been available, as they showed when they were
// listed. The status of some kinds has no time, and a soak time must not start again with each
// controller.
type available struct {
	// revision is the pod template of these Pods.
	revision digest.Digest
	// since is zero if some were not available.
	since time.Time
	// failed is how often in a row they could not be listed.
	failed int
}

// of returns since when a workload has been available, and whether its Pods have to be listed for
// that.
func (a *available) of(w *workload.Workload) (since time.Time, lists bool) {
	if a.revision != w.Revision() {
		return time.Time{}, true
	}
	return a.since, false
}

// asksAvailable reports whether the Pods of a workload show what a source waits for.
func (c *Controller) asksAvailable(key workload.Key) bool {
	if !c.fleets.some.Load() {
		return false
	}
	c.fleets.mu.Lock()
	defer c.fleets.mu.Unlock()
	for f := range c.fleets.in(key.Namespace) {
		if m, _ := f.Member(key); m.Asks {
			return true
		}
	}
	return false
}

// listAvailable lists the Pods of a workload that soaks. If that fails again and again, its soak time
// counts from now.
func (c *Controller) listAvailable(ctx context.Context, w *workload.Workload) workqueue.Result {
	if !c.leads() {
		return workqueue.WaitFor(leadAgain)
	}
	ctx, cancel := context.WithTimeout(ctx, requestsTake)
	defer cancel()
	pods, err := c.api.Running(ctx, w, c.opts.Names)
	if err == nil {
		c.noteAvailable(w, rollout.AvailableSince(w, pods))
		return workqueue.Finished()
	}
	failed := 0
	c.with(w.Key, func(r *record) {
		r.available.failed++
		failed = r.available.failed
	})
	if failed >= unlistedOften {
		c.noteAvailable(w, time.Time{})
		return workqueue.Finished()
	}
	return workqueue.FailedWith(func(retryIn time.Duration, again bool) {
		c.report.Failed(w, reload.Decision{Action: reload.ListPods}, err, retryIn, again)
	})
}

func (c *Controller) noteAvailable(w *workload.Workload, since time.Time) {
	if w.Progress.CompletedAt.IsZero() { // otherwise its status has the time
		c.with(w.Key, func(r *record) { r.available = available{revision: w.Revision(), since: since} })
	}
}
