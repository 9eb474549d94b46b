package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// leadAgain is how soon a workload is retried after the lease could not be renewed.
const leadAgain = time.Second

// act carries a decision out: wait for others, pass the gates, write, remember and report.
func (c *Controller) act(ctx context.Context, facts *reload.Facts, d reload.Decision) error {
	w := &facts.Workload
	if err := c.awaitOthers(w.Key, &d); err != nil {
		return err
	}
	c.notifyBesideInstallation(facts)
	if d.Action == reload.Record && d.Restores && !c.mayRestore(w) {
		if d.Reverted == nil || !d.Reverted.Final {
			return nil
		}
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
	}
	if err := c.mayWrite(ctx, facts, &d); err != nil {
		return err
	}
	began := c.clock.Now()
	if err := c.write(ctx, facts, d); err != nil {
		return err
	}
	c.wrote(w, d, c.clock.Since(began))
	return nil
}

// awaitOthers returns an error if a decision waits for a rollout or a run that another client
// started. It ends the waits that the decision no longer needs.
func (c *Controller) awaitOthers(key workload.Key, d *reload.Decision) error {
	if !starts(d) {
		c.passedGates(key)
	}
	switch {
	case d.Action == reload.AwaitRollout || d.Behind:
		return retryAfter(c.awaitRollout(key))
	case d.Action == reload.AwaitRun:
		return errLater // the watch reports the end of the run
	case !starts(d): // a reload that a gate holds has awaited its rollout when the gate opens
		c.stopAwaitingRollout(key)
		c.forgetBegun(key)
	}
	return nil
}

// mayWrite returns an error that says when to try again if it is too early to write.
func (c *Controller) mayWrite(ctx context.Context, facts *reload.Facts, d *reload.Decision) error {
	key := facts.Workload.Key
	switch {
	case !c.leads():
		return retryAfter(leadAgain)
	case d.Action == reload.Reload && c.opts.NotifyOnly:
		c.queueForReceiver(key)
		return errLater
	case d.Action == reload.Record && !c.mayAdopt(key):
		return errLater
	case !starts(d):
		return nil
	}
	if err := c.passGates(ctx, facts, d); err != nil {
		return err
	}
	c.passedGates(key)
	c.stopAwaitingRollout(key)
	return nil
}

// wrote remembers and reports what was written.
func (c *Controller) wrote(w *workload.Workload, d reload.Decision, took time.Duration) {
	if d.Restores {
		c.restored(w.Key)
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
		c.reportUndecided(w, d.Undecided)
	}
	if len(d.Unproven) > 0 {
		c.report.Notify(notice.Unproven(w, d.Unproven))
	}
	c.notifyBesideReloader(w, d)
	c.reportOthersRollout(w, d)
}

// reportUndecided counts Secrets that cannot be compared. The log reports them once, because the
// lost key concerns all workloads.
func (c *Controller) reportUndecided(w *workload.Workload, secrets int) {
	c.counter.Undecided(secrets)
	c.undecided.Do(func() {
		c.log.Warn("the digest key was replaced: Reroll cannot compare Secrets with digests of the previous key, and records those that nothing else decides as unchanged",
			"workload", w.Key.String(), "secrets", secrets, "metric", "reloader_secrets_undecided_total")
	})
}

// leaveAsItIs is for a workload with nothing to write.
func (c *Controller) leaveAsItIs(facts *reload.Facts, d reload.Decision) {
	w := &facts.Workload
	c.withdraw(w.Key, dryRun)
	c.forgetAttempts(w.Key)
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
	marking := c.mark(facts, &d) // the ledger records the marks
	written, text := d.Ledger.BoundedText()
	patch, err := kind.Patch(w, text, marking, c.opts.Names)
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
	c.forgetAttempts(w.Key)
	answer, err := c.opts.Read(kind, obj)
	if err != nil {
		return err
	}
	if d.Action == reload.Reload && kind.Custom && answer.Revision() == w.Revision() && answer.Marks.RestartAt == w.Marks.RestartAt {
		c.report.Notify(notice.Dropped(w))
	}
	// The watch delivers this version later. Until then, nothing may be decided from an earlier
	// one.
	c.state.PutWritten(answer, &written, text)
	if d.Action == reload.Reload {
		c.trackReload(&answer, d)
		c.queuePause(w.Key)
	}
	c.state.Compared(facts)
	return nil
}

// mark returns what a reload writes into the pod template, and records it in the ledger of the
// decision. It returns nil if the template stays as it is.
func (c *Controller) mark(facts *reload.Facts, d *reload.Decision) *workload.Marking {
	w := &facts.Workload
	if d.Action != reload.Reload || w.Runs != nil {
		return nil
	}
	return new(d.Mark(w, facts.Seen, c.opts.SecretMarks, c.clock.Now()))
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
