package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// The pod template of a Job is immutable, so Reroll recreates the Job: it creates a suspended copy,
// notes in the copy that it is about to delete the Job, deletes the Job, creates it again from the
// copy, suspended, records that in its ledger, deletes the copy, and unsuspends the Job. After a
// crash between two of these steps, the copy and the Job show which step is next (kinds.Next).

// stepsAtOnce bounds the steps of one reconciliation, because other clients may write at the same
// time.
const stepsAtOnce = 16

// stepsAgain is the delay after that.
const stepsAgain = time.Second

// queueRecreation records that a Job is being recreated, and queues it.
func (c *Controller) queueRecreation(key workload.Key, copies ...string) {
	c.jobs.recreate(key, c.clock.Now(), copies...)
	c.queue.Add(key, 0, 0)
}

// continueRecreating takes the next steps to recreate a Job. It returns false if none is left, so
// that the Job is decided on.
func (c *Controller) continueRecreating(ctx context.Context, key workload.Key) (workqueue.Result, bool) {
	r := c.jobs.recreating(key)
	switch {
	case r == nil, c.opts.DryRun:
		return workqueue.Pending(), false
	case c.state.Terminating(key.Namespace):
		c.jobs.done(key)
		return workqueue.Pending(), false
	}
	began := c.clock.Now()
	ctx, cancel := context.WithTimeout(ctx, requestsTake)
	defer cancel()
	w, err := c.steps(ctx, key, r)
	var res workqueue.Result
	after, early := errors.AsType[retryAfter](err)
	switch {
	case err == nil, c.state.Terminating(key.Namespace):
		c.jobs.done(key)
		c.queue.Add(key, 0, 0) // decide on this version when the watch has brought it
		res = workqueue.Finished()
	case early:
		res = workqueue.WaitFor(time.Duration(after))
	case errors.Is(err, errLater):
	default:
		res = workqueue.FailedWith(func(retryIn time.Duration, again bool) {
			c.report.Failed(w, reload.Decision{Action: reload.Reload, Changes: r.changes}, err, retryIn, again)
		})
	}
	c.countReconciliation(key, began, Reconciliation{Result: resultIn(res)})
	return res, true
}

// permitted returns the step to take instead of one that leads to the deletion of a Job. Settings
// and annotations may have changed since the copy was created. A Job that is already deleted is
// recreated in any case.
func (c *Controller) permitted(step kinds.RecreateStep, job *batchv1.Job) kinds.RecreateStep {
	if step != kinds.NoteDelete && step != kinds.DeleteJob {
		return step
	}
	if !c.selectsNamespace(job.Namespace) {
		return kinds.AwaitEnd // until the namespace is selected
	}
	kind, watched := c.kinds[kinds.Jobs().Name]
	w, err := c.opts.Read(kind, job)
	w = c.state.Complete(w) // the namespace may opt it in
	if !watched || err != nil || !w.Policy.OptedIn(c.opts.AutoReloadAll) {
		return kinds.DropCopy
	}
	return step
}

// steps takes one step after the other, each from the current Job and copy.
func (c *Controller) steps(ctx context.Context, key workload.Key, r *recreation) (*workload.Workload, error) {
	w := &workload.Workload{Key: key, APIVersion: batchv1.SchemeGroupVersion.String()}
	var held types.UID
	for range stepsAtOnce {
		if !c.leads() {
			return w, retryAfter(leadAgain)
		}
		job, err := c.jobNamed(ctx, key.Namespace, key.Name)
		if err != nil {
			return w, err
		}
		of, err := c.copyOf(ctx, key, r)
		if err != nil {
			return w, err
		}
		switch {
		case job != nil:
			w.UID, w.ResourceVersion = job.UID, job.ResourceVersion
		case of != nil:
			w.UID = of.UID
		}
		step := c.permitted(kinds.Next(of, job, c.installation.Key), job)
		c.log.Debug("recreating a Job", "workload", key.String(), "step", int(step))
		switch {
		case step == kinds.AwaitEnd:
			return w, errLater // the watch reports it
		case !c.leads(): // reading may have taken long
			return w, retryAfter(leadAgain)
		case step != kinds.Finished:
			err = c.step(ctx, step, of, job)
		case job == nil || !kinds.Waits(job):
			return w, nil
		case held != job.UID:
			held = job.UID // read before the copy, which may have been deleted since because of this write
		default:
			c.reportHeld(key, job)
			return w, nil
		}
		switch {
		case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsAlreadyExists(err) && step == kinds.CreateJob:
			continue // another client was faster
		case err != nil:
			return w, err
		}
		if step == kinds.Unsuspend && len(r.changes) > 0 {
			c.reloaded(w, reload.Decision{Action: reload.Reload, Changes: r.changes}, c.clock.Since(r.since))
			r.changes = nil
		}
	}
	return w, retryAfter(stepsAgain)
}

// copyOf reads the copy of a Job; nil if there is none any more.
func (c *Controller) copyOf(ctx context.Context, key workload.Key, r *recreation) (*kinds.Copy, error) {
	for _, name := range c.jobs.copies(r) {
		found, err := c.jobNamed(ctx, key.Namespace, name)
		if err != nil {
			return nil, err
		}
		if of, ok := readCopy(found); ok && found.DeletionTimestamp == nil && of.Of == key {
			if of.SignedBy(c.installation.Key) {
				r.changes = of.Changes()
				return of, nil
			}
			c.unreadable(found, kinds.ErrNotSigned)
		}
		c.jobs.dropCopy(r, name)
	}
	return nil, nil //nolint:nilnil // that there is none is an answer
}

func readCopy(job *batchv1.Job) (*kinds.Copy, bool) {
	if job == nil {
		return nil, false
	}
	of, err := kinds.ReadCopy(job)
	return of, err == nil
}

// step takes one step.
func (c *Controller) step(ctx context.Context, step kinds.RecreateStep, of *kinds.Copy, job *batchv1.Job) error {
	var err error
	switch step {
	case kinds.CreateJob:
		if _, err = c.createHeld(ctx, of.Of.Namespace, of.Replacement(c.installation.Key)); err != nil {
			err = fmt.Errorf("recreate Job %s from its copy: %w", of.Name, err)
		}
	case kinds.NoteDelete:
		err = c.patchJob(ctx, jobKey(of.Of.Namespace, of.Job().Name), func() (kinds.Patch, error) { return of.NoteDelete(job, c.installation.Key) })
	case kinds.DeleteJob:
		err = c.deleteJob(ctx, job, metav1.DeletePropagationForeground)
	case kinds.DropCopy:
		err = c.deleteJob(ctx, of.Job(), metav1.DeletePropagationBackground)
	case kinds.NoteJob:
		err = c.patchJob(ctx, of.Of, func() (kinds.Patch, error) { return kinds.Note(job, c.installation.Key) })
	case kinds.Unsuspend:
		err = c.patchJob(ctx, jobKey(job.Namespace, job.Name), func() (kinds.Patch, error) { return kinds.UnsuspendPatch(job) })
	case kinds.Finished, kinds.AwaitEnd:
	}
	return err
}

// jobHandler receives the Jobs of the watch. Copies are not workloads: Reroll continues to recreate
// the Job of each copy that it finds. The Jobs that Reroll created for CronJobs arrive here, too.
func (c *Controller) jobHandler(h *handler, namespace string) *handler {
	put, del, keep := h.put, h.del, h.keep
	runs := c.runHandler(namespace)
	h.put = func(obj runtime.Object, live bool) {
		job, ok := obj.(*batchv1.Job)
		if !ok {
			return
		}
		if kinds.IsCopy(job) {
			c.putCopy(job)
			return
		}
		if kinds.IsHeld(job) {
			c.queueRecreation(jobKey(job.Namespace, job.Name))
		} else {
			c.notStuck(jobKey(job.Namespace, job.Name))
		}
		runs.put(obj, live)
		put(obj, live)
	}
	h.del = func(name types.NamespacedName, version string) {
		runs.del(name, version)
		del(name, version)
		c.jobs.dropStuck(func(key workload.Key) bool { return key == jobKey(name.Namespace, name.Name) })
		c.queueRecreated(func(key workload.Key) bool { return key.Namespace == name.Namespace && key.Name == name.Name })
	}
	h.keep = func(named map[types.NamespacedName]struct{}) {
		c.keepRuns(namespace, named, h.version)
		keep(named)
		absent := absentFrom(namespace, named)
		c.jobs.dropStuck(func(key workload.Key) bool {
			return absent(types.NamespacedName{Namespace: key.Namespace, Name: key.Name})
		})
		c.queueRecreated(func(key workload.Key) bool { return in(namespace, key.Namespace) })
	}
	return h
}

// putCopy stores a copy. A copy is never a workload, even if it cannot be read.
func (c *Controller) putCopy(job *batchv1.Job) {
	key := jobKey(job.Namespace, job.Name)
	if _, before := c.state.Workload(key); before {
		c.dropped(key)
	}
	of, err := kinds.ReadCopy(job)
	if err != nil {
		c.unreadable(job, err)
		return
	}
	c.queueRecreation(of.Of, job.Name)
}

// queueRecreated queues Jobs that are being recreated, because the Job or the copy may have been
// deleted now.
func (c *Controller) queueRecreated(which func(workload.Key) bool) {
	for _, key := range c.jobs.allRecreated() {
		if which(key) {
			c.queue.Add(key, 0, 0)
		}
	}
}
