package controller

import (
	"errors"
	"maps"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// oddJob is a Job with which only its user can go on. That is told once, and nothing is written on it: a ledger would be taken
// for the word that lets it go.
type oddJob struct {
	w workload.Workload
	// unreadable is why it is a copy that cannot be read or is not ours; nil of one that is held and that nothing lets go.
	unreadable error
	told       bool
}

func odd(key workload.Key, job *batchv1.Job) oddJob {
	return oddJob{w: workload.Workload{
		Key: key, APIVersion: batchv1.SchemeGroupVersion.String(), UID: job.UID, ResourceVersion: job.ResourceVersion,
	}}
}

// unreadable keeps that a copy cannot be read, or is not signed, and asks for a look, which tells it.
func (c *Controller) unreadable(job *batchv1.Job, why error) {
	key := jobKey(job.Namespace, job.Name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.oddJobs[key].w.UID == job.UID && c.oddJobs[key].unreadable != nil {
		return
	}
	o := odd(key, job)
	o.unreadable = why
	c.oddJobs[key] = o
	c.queue.Add(key, 0, 0)
}

// leaveOdd tells of a copy with which nothing is done. It returns false for Jobs that are to be decided on.
func (c *Controller) leaveOdd(key workload.Key) (workqueue.Result, bool) {
	began := c.clock.Now()
	c.mu.Lock()
	o, ok := c.oddJobs[key]
	c.mu.Unlock()
	if !ok {
		return workqueue.Pending(), false
	}
	switch {
	case o.told:
	case !c.leads():
		c.looked(key, began, Look{Result: Requeued})
		return workqueue.WaitFor(leadAgain), true
	default:
		c.mu.Lock()
		c.oddJobs[key] = oddJob{o.w, o.unreadable, true}
		c.mu.Unlock()
		if errors.Is(o.unreadable, kinds.ErrNotSigned) {
			c.report.Notify(notice.UnsignedCopy(&o.w))
		} else {
			c.report.Notify(notice.Unreadable(&o.w, o.unreadable))
		}
	}
	c.looked(key, began, Look{Result: Succeeded, Skipped: SkippedGone})
	return workqueue.Pending(), true
}

// tellHeld tells of a Job that is held although nothing of ours is missing.
func (c *Controller) tellHeld(key workload.Key, job *batchv1.Job) {
	o := odd(key, job)
	o.told = true
	c.mu.Lock()
	known := c.oddJobs[key].w.UID == job.UID
	c.oddJobs[key] = o
	c.mu.Unlock()
	switch {
	case known:
	case kinds.HeldSigned(job, c.key):
		c.report.Notify(notice.MayHaveRun(&o.w))
	default:
		c.report.Notify(notice.UnsignedHeld(&o.w))
	}
}

// plain has a Job decided on that may have been odd before.
func (c *Controller) plain(key workload.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.oddJobs[key]; ok {
		delete(c.oddJobs, key)
		c.queue.Add(key, 0, 0)
	}
}

// dropOdd forgets Jobs that are gone.
func (c *Controller) dropOdd(gone func(workload.Key) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.oddJobs, func(key workload.Key, _ oddJob) bool { return gone(key) })
}
