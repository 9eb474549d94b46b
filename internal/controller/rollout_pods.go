package controller

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// rolloutWorkers is how many workloads have their Pods listed at the same time to track a rollout.
// Nothing waits for the responses, so a fan-out to a thousand workloads does not cause a storm of
// LISTs.
const rolloutWorkers = 4

// trackRollout finds the outcome of a reload, and lists the Pods if nothing else can decide.
func (c *Controller) trackRollout(ctx context.Context, key workload.Key) workqueue.Result {
	defer c.updateFleets(key)
	f := c.recordOf(key).tracking
	w, there := c.state.Workload(key)
	switch {
	case f == nil && there && c.asksAvailable(key):
		return c.listAvailable(ctx, &w)
	case f == nil:
		return workqueue.Finished()
	case there && c.isStale(&w):
		return workqueue.WaitFor(watchAgain)
	case !there, !f.MarksInPlace(&w), c.leavesOut(&w):
		c.stopTracking(key, f)
		return workqueue.Finished()
	case !c.leads():
		return workqueue.WaitFor(leadAgain)
	}
	c.reportOnPurpose(&w, f)
	if c.needsPods(&w, f) {
		ctx, cancel := context.WithTimeout(ctx, requestsTake)
		defer cancel()
		if err := c.listPods(ctx, &w, f); err != nil {
			c.mu.Lock()
			f.unlisted++
			c.mu.Unlock()
			return workqueue.FailedWith(func(retryIn time.Duration, again bool) {
				c.report.Failed(&w, reload.Decision{Action: reload.ListPods}, err, retryIn, again)
			})
		}
	}
	c.trackStatus(key) // for the next deadline, and for changes in the meantime
	return workqueue.Finished()
}

// reportOnPurpose reports Pods that are kept on purpose, which the spec shows at once. A
// pause-period is not reported.
func (c *Controller) reportOnPurpose(w *workload.Workload, f *tracked) {
	if o := f.StatusOutcome(w); o.Cause != "" && c.isNewCause(w.Key, f, o.Cause) && o.Cause != rollout.CausePausePeriod {
		c.report.NotRolled(w, o)
	}
}

// isNewCause records that a cause is reported for a reload, and returns false if it adds nothing to
// those that were reported before. For a rollout that this replica only resumed tracking, the
// previous leader has reported it.
func (c *Controller) isNewCause(key workload.Key, f *tracked, cause rollout.Cause) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.records[key]; r == nil || r.tracking != f || !cause.Adds(f.reported) {
		return false
	}
	f.reported[cause] = true
	return !f.resumed
}

func (c *Controller) needsPods(w *workload.Workload, f *tracked) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return f.resumed || f.needsPodsRolledOut(w) || f.needsPodsLate(w, c.clock.Now())
}

func (c *Controller) listPods(ctx context.Context, w *workload.Workload, f *tracked) error {
	var pods []rollout.Pod
	if !w.Progress.Empty() {
		var err error
		if pods, err = c.api.Running(ctx, w, c.opts.Names); err != nil {
			return err
		}
	}
	o := f.PodsOutcome(w, pods)
	ended := o.Converged(w) || f.resumed && o.Old == 0 && !o.NotFound
	c.mu.Lock()
	now := c.clock.Now()
	late, resumed := f.needsPodsLate(w, now), f.resumed
	if late || resumed && o.Exceeds(w, pods, now) {
		f.exceeded, f.cause = true, o.Cause
	}
	f.listedRolledOut, f.resumed, f.unlisted = w.RolledOut, false, 0
	if late {
		f.late, f.listed[rollout.Shows(&w.Progress)] = now.Sub(f.forward), true
	}
	took := now.Sub(f.since)
	o.AlreadyReported = len(f.reported) > 0
	c.mu.Unlock()
	if ended && c.fleets.some.Load() {
		c.noteAvailable(w, rollout.AvailableSince(w, pods))
	}
	switch {
	case ended:
		// The previous leader has reported rollouts that ended before this replica began.
		if c.stopTracking(w.Key, f) && !resumed {
			c.report.Rolled(w, o, took)
		}
	case late && o.Cause != "" && c.isNewCause(w.Key, f, o.Cause):
		c.report.NotRolled(w, o)
	}
	return nil
}

// stopTracking ends tracking a reload, and returns false if a later reload has taken its place.
func (c *Controller) stopTracking(key workload.Key, f *tracked) bool {
	ends := false
	c.with(key, func(r *record) {
		if ends = r.tracking == f; ends {
			r.tracking = nil
		}
	})
	return ends
}
