package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// reconcile compares one workload with its sources: collect the facts, decide, write at most once,
// record, report.
func (c *Controller) reconcile(ctx context.Context, key workload.Key) workqueue.Result {
	defer c.leaveGates(key)
	if key.Kind == kinds.Jobs().Name {
		if r, done := c.continueRecreating(ctx, key); done {
			return r
		}
		if r, done := c.leaveStuck(key); done {
			return r
		}
	}
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
	case (apierrors.IsConflict(err) || apierrors.IsNotFound(err) || errors.Is(err, errOtherVersion)) && c.queue.TriesOf(w.Key) < toleratedConflicts:
		c.decideAgain(w)
		return workqueue.Conflicted() // not every conflict means that a newer version will come
	default:
		return workqueue.FailedWith(func(retryIn time.Duration, again bool) { c.report.Failed(w, d, err, retryIn, again) })
	}
}

// toleratedConflicts is how many conflicts or NotFound answers in a row are tolerated before they
// count as a failure. Mostly the watch is only slow, but an admission webhook may reject with the
// same code.
const toleratedConflicts = 5

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

// leadAgain is how soon a workload is retried after the lease could not be renewed.
const leadAgain = time.Second

func (c *Controller) act(ctx context.Context, facts *reload.Facts, d reload.Decision) error {
	w := &facts.Workload
	if !starts(&d) {
		c.passedGates(w.Key)
	}
	if d.Action == reload.AwaitRollout || d.Behind {
		return retryAfter(c.awaitRollout(w.Key))
	}
	if d.Action == reload.AwaitRun {
		return errLater // the watch reports the end of the run
	}
	if !starts(&d) {
		c.stopAwaitingRollout(w.Key) // a reload that a gate holds has awaited its rollout when the gate opens
		c.forgetBegun(w.Key)
	}
	c.notifyBesideInstallation(facts)
	if d.Reverted != nil && d.Reverted.Final && d.Restores && !c.mayRestore(w) {
		d.Action = reload.Nothing // reported nevertheless
	}
	switch {
	case d.Action == reload.Nothing:
		c.leaveAsItIs(facts, d)
		return nil
	case c.opts.DryRun:
		c.dryRunReload(w, d)
		c.state.Compared(facts)
		return nil
	case !c.leads():
		return retryAfter(leadAgain)
	case d.Action == reload.Reload && c.opts.NotifyOnly:
		c.queueForReceiver(w.Key)
		return errLater
	case d.Action == reload.Record && d.Restores && !c.mayRestore(w):
		return nil
	case d.Action == reload.Record && !c.mayAdopt(w.Key):
		return errLater
	}
	if starts(&d) {
		if err := c.passGates(ctx, facts, &d); err != nil {
			return err
		}
		c.passedGates(w.Key)
		c.stopAwaitingRollout(w.Key)
	}
	began := c.clock.Now()
	if err := c.write(ctx, facts, d); err != nil {
		return err
	}
	c.wrote(w, d, c.clock.Since(began))
	return nil
}

// wrote remembers and reports what was written.
func (c *Controller) wrote(w *workload.Workload, d reload.Decision, took time.Duration) {
	if d.Restores {
		c.with(w.Key, func(r *record) { r.restored = restored{at: c.clock.Now()} })
	}
	if d.Found {
		c.queue.Add(w.Key, 0, 0)
	}
	if d.Action == reload.Reload {
		c.reloaded(w, d, took)
		c.logPause(w)
		c.notifyMayNotStay(w, d)
	}
	if d.Reverted != nil {
		c.report.Reverted(w, d)
	}
	if d.Undecided > 0 {
		c.report.Undecided(w, d.Undecided)
	}
	if len(d.Unproven) > 0 {
		c.report.Notify(notice.Unproven(w, d.Unproven))
	}
	c.notifyBesideReloader(w, d)
	c.reportOthersRollout(w, d)
}

// leaveAsItIs is for a workload with nothing to write.
func (c *Controller) leaveAsItIs(facts *reload.Facts, d reload.Decision) {
	w := &facts.Workload
	c.dryRunNothing(w.Key)
	c.forgetAdoption(w.Key)
	if w.LedgerText != "" && !d.Restores {
		c.state.Remember(w, w.LedgerText)
	}
	if d.LeftTo != "" {
		return // its Secrets were not compared
	}
	c.state.Compared(facts)
	if d.Reverted != nil {
		c.report.Reverted(w, d)
	}
	c.notifyTooNew(w, d)
	c.notifyBesideReloader(w, d)
}

func (c *Controller) write(ctx context.Context, facts *reload.Facts, d reload.Decision) error {
	w := &facts.Workload
	kind := c.kinds[w.Key.Kind]
	if d.Action == reload.Reload && w.Runs != nil && w.Runs.Once {
		return c.copyJob(ctx, kind, facts, &d)
	}
	if runner, ok := kind.Adapter.(kinds.Runner); ok && d.Action == reload.Reload && !d.Found {
		if err := c.createRun(ctx, kind, runner, facts, &d); err != nil {
			return err
		}
	}
	patch, text, err := c.patch(kind, facts, d)
	if err != nil {
		return err
	}
	refused := c.state.Sending(facts, text)
	if d.Action == reload.Reload {
		c.forgetEndedPause(w.Key)
	}
	obj, err := c.api.Patch(ctx, kind, w.Key, patch)
	if err != nil {
		if isRefusal(err) {
			refused()
		} else {
			c.responseLost(w.Key, text, d)
		}
		c.countRefusal(w.Key, err)
		if patch.Type == types.JSONPatchType && apierrors.IsInvalid(err) {
			return fmt.Errorf("patch %s: %w: %w", w.Key, errOtherVersion, err)
		}
		return fmt.Errorf("patch %s: %w", w.Key, err)
	}
	c.forgetAdoption(w.Key)
	answer, err := c.opts.Read(kind, obj)
	if err != nil {
		return err
	}
	if d.Action == reload.Reload && kind.Custom && answer.Revision() == w.Revision() && answer.Marks.RestartAt == w.Marks.RestartAt {
		c.report.Notify(notice.Dropped(w))
	}
	// The watch brings this version later. Until then, nothing may be decided from the version
	// before.
	c.state.PutAnswer(answer)
	c.state.Remember(&answer, text)
	if d.Action == reload.Reload {
		c.trackReload(&answer, d)
		c.queuePause(w.Key)
	}
	c.state.Compared(facts)
	return nil
}

func (c *Controller) patch(kind kinds.Kind, facts *reload.Facts, d reload.Decision) (patch kinds.Patch, ledger string, err error) {
	w := &facts.Workload
	var marking *workload.Marking
	if d.Action == reload.Reload && w.Runs == nil {
		m := d.Mark(w, facts.Seen, c.opts.SecretMarks, c.clock.Now())
		marking = &m
	}
	ledger = d.Ledger.String()
	patch, err = kind.Patch(w, ledger, marking, c.opts.Names)
	return patch, ledger, err
}

// mayAdopt spreads the first ledgers of a large cluster over time. A workload that has to wait goes
// back to the queue, so that it delays no other.
func (c *Controller) mayAdopt(key workload.Key) bool {
	now := c.clock.Now()
	var wait time.Duration
	c.with(key, func(r *record) {
		if r.adoptAt.IsZero() {
			r.adoptAt = now.Add(c.adopt.ReserveN(now, 1).DelayFrom(now))
		}
		wait = r.adoptAt.Sub(now)
	})
	if wait <= 0 {
		return true
	}
	c.queue.AddLow(key, wait)
	return false
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

// decideAgain waits until the watch has brought the version that the API server already has.
func (c *Controller) decideAgain(w *workload.Workload) {
	c.with(w.Key, func(r *record) { r.conflicted = true })
	// That version may have arrived between the decision and now.
	if now, ok := c.state.Workload(w.Key); ok && now.ResourceVersion != w.ResourceVersion {
		c.queue.Add(w.Key, 0, 0)
	}
}
