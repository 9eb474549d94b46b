package controller

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

func jobAsWorkload(key workload.Key, job *batchv1.Job) workload.Workload {
	return workload.Workload{Key: key, APIVersion: batchv1.SchemeGroupVersion.String(), UID: job.UID, ResourceVersion: job.ResourceVersion}
}

// unreadable records that a copy cannot be read or is not signed, and queues it, so that its user
// is notified.
func (c *Controller) unreadable(job *batchv1.Job, why error) {
	if c.jobs.unreadable(job, why) {
		c.queue.Add(jobKey(job.Namespace, job.Name), 0, 0)
	}
}

// reconcileJob continues the recreation of a Job, leaves a Job that waits for its user, and
// otherwise reconciles the Job as any other workload.
func (c *Controller) reconcileJob(ctx context.Context, key workload.Key) workqueue.Result {
	if r, done := c.continueRecreating(ctx, key); done {
		return r
	}
	if r, done := c.leaveStuck(key); done {
		return r
	}
	return c.reconcile(ctx, key)
}

// leaveStuck notifies the user of a copy that cannot be used. It returns false for Jobs that can be
// decided on.
func (c *Controller) leaveStuck(key workload.Key) (workqueue.Result, bool) {
	began := c.clock.Now()
	job, ok := c.jobs.stuckJob(key)
	if !ok {
		return workqueue.Pending(), false
	}
	switch {
	case job.reported:
	case !c.leads():
		c.countReconciliation(key, began, Reconciliation{Result: Requeued})
		return workqueue.WaitFor(leadAgain), true
	default:
		c.jobs.reported(key)
		if errors.Is(job.unreadable, kinds.ErrNotSigned) {
			c.report.Notify(notice.UnsignedCopy(&job.w))
		} else {
			c.report.Notify(notice.Unreadable(&job.w, job.unreadable))
		}
	}
	c.countReconciliation(key, began, Reconciliation{Result: Succeeded, Skipped: SkippedGone})
	return workqueue.Pending(), true
}

// reportHeld notifies the user of a Job that stays suspended although Reroll has no step left.
func (c *Controller) reportHeld(key workload.Key, job *batchv1.Job) {
	if !c.jobs.staysHeld(job) {
		return
	}
	w := jobAsWorkload(key, job)
	if kinds.HeldSigned(job, c.installation.Key) {
		c.report.Notify(notice.MayHaveRun(&w))
	} else {
		c.report.Notify(notice.UnsignedHeld(&w))
	}
}

// notStuck queues a Job that may have been stuck before.
func (c *Controller) notStuck(key workload.Key) {
	if c.jobs.notStuck(key) {
		c.queue.Add(key, 0, 0)
	}
}
