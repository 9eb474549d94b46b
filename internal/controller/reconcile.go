package controller

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// reconcileKey reconciles one workload in the way of its kind.
func (c *Controller) reconcileKey(ctx context.Context, key workload.Key) workqueue.Result {
	defer c.leaveGates(key)
	if of, ok := c.reconcilers[key.Kind]; ok {
		return of(ctx, key)
	}
	return c.reconcile(ctx, key)
}

// reconcile compares one workload with its sources: collect the facts, decide, write at most once,
// record, report.
func (c *Controller) reconcile(ctx context.Context, key workload.Key) workqueue.Result {
	began := c.clock.Now()
	// The conflict of an earlier write is visible now, or will occur again.
	c.with(key, func(r *record) { r.conflicted = false })
	facts, ok := c.state.Facts(key)
	if !ok || c.leavesOut(&facts.Workload) {
		c.forget(key)
		c.countReconciliation(key, began, Reconciliation{Result: Succeeded, Skipped: SkippedGone})
		return workqueue.Pending()
	}
	w := &facts.Workload
	if owner, owned := c.state.RolledOwner(key); owned {
		c.log.Debug("skipped: the workload that owns it is rolled instead", "workload", key.String(), "owner", owner.String())
		c.notifyLeftToOwner(w, owner)
		c.forget(key)
		c.countReconciliation(key, began, Reconciliation{Result: Succeeded, Skipped: SkippedLeft})
		return workqueue.Pending()
	}
	if c.isStale(w) {
		c.countReconciliation(key, began, Reconciliation{Result: Requeued})
		return workqueue.WaitFor(watchAgain)
	}
	c.reportLate(w)
	// A write whose request is canceled may still take effect. Its resourceVersion keeps it from
	// undoing a later write.
	ctx, cancel := context.WithTimeout(ctx, requestsTake)
	defer cancel()
	var d reload.Decision
	err := c.unsuspendRuns(ctx, w)
	if err == nil {
		d, err = c.decide(ctx, &facts)
	}
	if err == nil {
		err = c.act(ctx, &facts, d)
	}
	if err == nil {
		err = c.unsuspendRuns(ctx, w)
	}
	r := c.resultOf(&facts, d, err)
	c.countReconciliation(key, began, c.reconciliationOf(d, err, r))
	return r
}

// resultOf returns the result of a reconciliation.
func (c *Controller) resultOf(facts *reload.Facts, d reload.Decision, err error) workqueue.Result {
	w := &facts.Workload
	after, early := errors.AsType[retryAfter](err)
	switch _, there := c.state.Workload(w.Key); {
	case !there:
		c.forget(w.Key) // records that were made after it was deleted
		return workqueue.Finished()
	case err == nil:
		c.notifyOptedIn(facts, d)
		return workqueue.Finished()
	case early:
		return workqueue.WaitFor(time.Duration(after))
	case errors.Is(err, errLater):
		return workqueue.Pending()
	case apierrors.IsNotFound(err) && !c.exists(w):
		// The workload was deleted in the meantime.
		return workqueue.Finished()
	case (isConflict(err) || errors.Is(err, errOtherVersion)) && c.queue.TriesOf(w.Key) < toleratedConflicts:
		c.decideAgain(w)
		return workqueue.Conflicted() // not every conflict means that a newer version will come
	default:
		return workqueue.FailedWith(func(retryIn time.Duration, again bool) { c.report.Failed(w, d, err, retryIn, again) })
	}
}

// exists reports whether a workload still exists, as far as the watch shows.
func (c *Controller) exists(w *workload.Workload) bool {
	now, ok := c.state.Workload(w.Key)
	return ok && now.UID == w.UID
}

// requestsTake bounds the requests of one reconciliation, so that a connection that hangs blocks
// neither the workload nor the shutdown.
const requestsTake = 30 * time.Second

// decide lists the Pods only if nothing else can decide.
func (c *Controller) decide(ctx context.Context, facts *reload.Facts) (reload.Decision, error) {
	in := c.installation
	in.Others = c.others.known()
	c.opts.Complete(facts, in, c.clock.Now())
	c.withoutBundles(facts)
	facts.LeaveOut(c.leftOut)
	facts.Waited = c.rolloutTookTooLong(facts.Workload.Key)
	c.addRuns(&facts.Workload)
	d := reload.Decide(*facts)
	if d.Action == reload.ListPods {
		// A workload that waits to be adopted has its Pods listed once, and not at each try.
		if facts.Workload.LedgerText == "" && facts.Remembered == "" && !c.opts.DryRun && !c.mayAdopt(facts.Workload.Key) {
			return d, errLater
		}
		pods, err := c.api.Pods(ctx, &facts.Workload)
		if err != nil {
			return d, err
		}
		facts.Pods = &pods
		d = reload.Decide(*facts)
	}
	var err error
	if c.isHeld(facts, &d) { // whether a run began by itself matters only when the gate opens
		err = c.listHeld(ctx, facts, &d)
	} else {
		d, err = c.withBegin(ctx, facts, d)
	}
	if err != nil {
		return d, err
	}
	if wait := facts.DepartedFor(d, c.clock.Now()); wait > 0 {
		return d, retryAfter(wait) // it was reconciled early, for another reason
	}
	c.forgetAccepted(facts.Workload.Key, d)
	c.log.Debug("decided", "workload", facts.Workload.Key.String(), "action", d.Action.String(), "why", d.Why)
	return d, nil
}

// forget drops the record of a deleted workload.
func (c *Controller) forget(key workload.Key) {
	c.queue.ResetRetries(key)
	c.dropQueued(key)
	c.updateFleets(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.records, key)
}
