package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// tracked is a reload whose rollout is in progress. A successful write does not mean that the rollout succeeds: what
// counts is that no older Pod is left. The status of the workload, which the watch brings anyway, shows when a request
// is worthwhile; the Pods prove it.
type tracked struct {
	rollout.Reload
	since time.Time
	// forward is when the rollout has last come farther than ever, or was set going by somebody.
	forward time.Time
	best    rollout.Best
	// settled reports whether all that was left was so on purpose, and revision is the template of then.
	settled  bool
	revision digest.Digest
	// listedRolledOut reports whether the pods were asked since the status came to rest.
	listedRolledOut bool
	// late is for how long it had not come farther when the pods were last asked why, 0 if they were not.
	late time.Duration
	// resumed reports whether nobody knows yet whether pods from before the reload are left.
	resumed bool
	// told are the causes that were reported, each once. For each cause that the status shows, the Pods are listed once,
	// too.
	reported, listed map[rollout.Cause]bool
}

// trackReload waits for the end of the rollout that a reload has begun. It takes the place of an earlier one.
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
	// The watch may have been quicker than the answer, which may not even have come.
	c.trackStatus(key)
}

// trackAll tracks the rollouts that a previous leader may have tracked. Among the workloads whose latest mark is still in
// place, only those whose status shows a rollout in progress can have older Pods, so Reroll lists the Pods of those alone.
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

// trackStatus evaluates what is known of a workload now, which is newer than what a stale watch brings, and lists its Pods if
// that is worthwhile. If the marks are no longer in place, tracking ends: another reload follows, or a rollout by another
// client.
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
		c.ends.Later(key, watchAgain)
		return
	}
	if !there || !f.MarksInPlace(&w) {
		c.withLocked(key, func(r *record) { r.tracking = nil })
		c.mu.Unlock()
		c.ends.Succeeded(key)
		return
	}
	now := c.clock.Now()
	if f.progresses(&w) {
		f.forward, f.late = now, 0
	}
	if !w.RolledOut {
		f.listedRolledOut = false
	}
	due := f.due(&w, now)
	c.mu.Unlock()
	if due >= 0 {
		c.ends.Add(key, due, due)
	}
}

// moves reports whether its time begins again: the rollout has come farther, nobody holds it any more, or there is another
// template, with which the pods may come up that did not before.
func (f *tracked) progresses(w *workload.Workload) bool {
	settled, revision := rollout.Settled(&w.Progress), w.Revision()
	released, another := f.settled && !settled, f.revision != revision
	f.settled, f.revision = settled, revision
	return f.best.Reach(&w.Progress) || released || another
}

// due is after which time there is something to request or to report, and below 0 if nothing is before the status
// changes.
func (f *tracked) due(w *workload.Workload, now time.Time) time.Duration {
	cause, _ := rollout.Purpose(&w.Progress)
	switch {
	case f.resumed, f.needsPodsRolledOut(w), f.needsPodsLate(w, now), cause != "" && !f.reported[cause]:
		return 0
	case rollout.Settled(&w.Progress):
		return -1
	default:
		return max(f.remaining(w, now), 0)
	}
}

// left is how much of its time is left. Pods that show nothing at the deadline may show it later, so they are asked again,
// each time after twice as long: that is a dozen lists in a week.
func (f *tracked) remaining(w *workload.Workload, now time.Time) time.Duration {
	return f.forward.Add(max(w.Progress.Patience(), 2*f.late)).Sub(now)
}

func (f *tracked) needsPodsRolledOut(w *workload.Workload) bool {
	return w.HasRolled() && !f.listedRolledOut
}

// needsPodsLate reports whether the deadline has passed, and that the pods may show why, or that the status has come to show it since.
func (f *tracked) needsPodsLate(w *workload.Workload, now time.Time) bool {
	if rollout.Settled(&w.Progress) {
		return false
	}
	shows := rollout.Shows(&w.Progress)
	return f.remaining(w, now) <= 0 || f.late > 0 && shows != "" && !f.reported[shows] && !f.listed[shows]
}

// Following is how many reloads have not come to their end.
func (c *Controller) Following() int {
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
