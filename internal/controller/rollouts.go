package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// tracked is a reload whose rollout is in progress. A successful write does not mean that the
// rollout succeeds: the rollout has succeeded when no older Pod remains. The status of the workload
// shows when a LIST of the Pods is worthwhile; the Pods prove the outcome.
type tracked struct {
	rollout.Reload
	since time.Time
	// forward is when the rollout last made progress, or when a client last resumed it.
	forward time.Time
	best    rollout.Best
	// allKept reports whether all remaining older Pods were kept on purpose, and revision is the
	// template at that time.
	allKept  bool
	revision digest.Digest
	// listedRolledOut reports whether the Pods were listed since the status showed the end of the
	// rollout.
	listedRolledOut bool
	// late is how long the rollout had made no progress when the Pods were last listed for the
	// cause, 0 if they were not.
	late time.Duration
	// exceeded reports whether the rollout had exceeded its deadline when the Pods were last
	// listed, and cause is why, if they showed that.
	exceeded bool
	cause    rollout.Cause
	// resumed reports whether it is still unknown whether Pods from before the reload remain.
	resumed bool
	// unlisted is how often in a row the Pods could not be listed.
	unlisted int
	// reported are the reported causes, each once. Listed are the causes in the status for which
	// the Pods were listed, each once, too.
	reported, listed map[rollout.Cause]bool
}

// trackReload tracks the rollout of a reload, in place of an earlier one.
func (c *Controller) trackReload(w *workload.Workload, d reload.Decision) {
	p, ok := rollout.LatestReload(w)
	if !ok {
		return
	}
	for i := range d.Changes {
		p.Changed = append(p.Changed, d.Changes[i].Source.Key)
	}
	c.track(w.Key, p, false)
}

func (c *Controller) track(key workload.Key, p rollout.Reload, resumed bool) {
	now := c.clock.Now()
	f := &tracked{Reload: p, since: now, forward: now, resumed: resumed, reported: map[rollout.Cause]bool{}, listed: map[rollout.Cause]bool{}}
	c.with(key, func(r *record) { r.tracking = f })
	// The watch may have been faster than the response, which may even have been lost.
	c.trackStatus(key)
}

// trackAll tracks the rollouts that a previous leader may have tracked. Among the workloads whose
// latest mark is still in place, only those whose status shows a rollout in progress can have older
// Pods, so Reroll lists the Pods of those alone.
func (c *Controller) trackAll() {
	if c.opts.DryRun {
		return
	}
	for _, w := range c.state.UnderWay() {
		if p, ok := rollout.LatestReload(&w); ok && !c.leavesOut(&w) {
			c.track(w.Key, p, true)
		}
	}
}

// trackStatus evaluates the current version of a workload, which may be newer than the version from
// a stale watch. It queues a LIST of the Pods if that is worthwhile. If the marks are no longer in
// place, tracking ends: another reload follows, or a rollout by another client.
func (c *Controller) trackStatus(key workload.Key) {
	c.trackOthersRollout(key)
	c.mu.Lock()
	r, known := c.records[key]
	if !known || r.tracking == nil {
		c.mu.Unlock()
		return
	}
	f := r.tracking
	w, there := c.state.Workload(key)
	if there && c.isStaleLocked(&w) {
		c.mu.Unlock()
		c.rollouts.Later(key, watchAgain)
		return
	}
	if !there || !f.MarksInPlace(&w) {
		c.withLocked(key, func(r *record) { r.tracking = nil })
		c.mu.Unlock()
		c.rollouts.ResetRetries(key)
		return
	}
	now := c.clock.Now()
	if f.progresses(&w) {
		f.forward, f.late, f.exceeded = now, 0, false
	}
	if !w.RolledOut {
		f.listedRolledOut = false
	}
	due := f.due(&w, now)
	c.mu.Unlock()
	if due >= 0 {
		c.rollouts.Add(key, due, due)
	}
}

// progresses reports whether the deadline starts again: the rollout made progress, or was resumed,
// or the template changed, so that its Pods may become ready now.
func (f *tracked) progresses(w *workload.Workload) bool {
	allKept, revision := rollout.AllKeptOnPurpose(&w.Progress), w.Revision()
	released, another := f.allKept && !allKept, f.revision != revision
	f.allKept, f.revision = allKept, revision
	return f.best.Reach(&w.Progress) || released || another
}

// due is the time until the next LIST or report, and negative if only a change of the status leads
// to one.
func (f *tracked) due(w *workload.Workload, now time.Time) time.Duration {
	cause, _ := rollout.Purpose(&w.Progress)
	switch {
	case f.resumed, f.needsPodsRolledOut(w), f.needsPodsLate(w, now), cause != "" && !f.reported[cause]:
		return 0
	case rollout.AllKeptOnPurpose(&w.Progress):
		return -1
	default:
		return max(f.remaining(w, now), 0)
	}
}

// remaining is the time until the deadline. If the Pods show no cause at the deadline, they may
// show one later. So they are listed again, each time after twice as long: a dozen LISTs in a week.
func (f *tracked) remaining(w *workload.Workload, now time.Time) time.Duration {
	return f.forward.Add(max(w.Progress.ProgressDeadline(), 2*f.late)).Sub(now)
}

func (f *tracked) needsPodsRolledOut(w *workload.Workload) bool {
	return w.HasRolled() && !f.listedRolledOut
}

// needsPodsLate reports whether the Pods have to be listed because the deadline has passed, or
// because the status shows a new cause after it.
func (f *tracked) needsPodsLate(w *workload.Workload, now time.Time) bool {
	if rollout.AllKeptOnPurpose(&w.Progress) {
		return false
	}
	shows := rollout.Shows(&w.Progress)
	return f.remaining(w, now) <= 0 || f.late > 0 && shows != "" && !f.reported[shows] && !f.listed[shows]
}

// RolloutsInProgress is how many rollouts are in progress.
func (c *Controller) RolloutsInProgress() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, r := range c.records {
		if r.tracking != nil {
			n++
		}
	}
	return n
}
