package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
)

// look reads a workload from the state, decides, writes at most once, and reports.
func (c *Controller) look(ctx context.Context, key reload.WorkloadKey) {
	facts, ok := c.state.Facts(key)
	if !ok || facts.Workload.Deleting || c.state.Terminating(key.Namespace) {
		c.forget(key)
		return
	}
	w := &facts.Workload
	// A write that is given up may land all the same: its version then keeps it from undoing anything.
	ctx, cancel := context.WithTimeout(ctx, requestsTake)
	defer cancel()
	d, err := c.decide(ctx, &facts)
	if err == nil {
		err = c.act(ctx, &facts, d)
	}
	switch {
	case err == nil:
		c.queue.succeeded(key)
		c.welcome(&facts)
	case errors.Is(err, errLater):
	case apierrors.IsNotFound(err):
		// Deleted in the meantime: the watch brings that, or a new object of the same name.
		c.queue.succeeded(key)
	case apierrors.IsConflict(err):
		c.decideAgain(w)
	default:
		retryIn, before := c.queue.failed(key)
		c.report.Failed(w, d, err, retryIn, before > 0)
	}
}

// requestsTake bounds the requests of one look, so that a connection that hangs holds up neither the workload nor the
// end of the process.
const requestsTake = 30 * time.Second

// decide asks the pods only when nothing else can tell.
func (c *Controller) decide(ctx context.Context, facts *reload.Facts) (reload.Decision, error) {
	facts.Instance, facts.Installed = c.key.ID(), c.installed
	facts.Waited = c.waited(facts.Workload.Key)
	d := reload.Decide(*facts)
	if d.Action == reload.AskPods {
		pods, err := c.api.Pods(ctx, &facts.Workload)
		if err != nil {
			return d, err
		}
		facts.Pods = &pods
		d = reload.Decide(*facts)
	}
	c.log.Debug("decided", "workload", facts.Workload.Key.String(), "action", d.Action.String(), "why", d.Why)
	return d, nil
}

// errLater means that the workload was put back into the queue.
const errLater = sentinel("it was put back into the queue")

type sentinel string

// Error returns the message.
func (e sentinel) Error() string { return string(e) }

// leadAgain is how soon is looked again at a workload that may not be written now, because the lease could not be renewed.
const leadAgain = time.Second

func (c *Controller) act(ctx context.Context, facts *reload.Facts, d reload.Decision) error {
	w := &facts.Workload
	if d.Action == reload.AwaitRest {
		c.awaitRest(w.Key)
		return errLater
	}
	c.rested(w.Key)
	switch {
	case d.Action == reload.Nothing:
		if w.LedgerText != "" && !d.Restores {
			c.state.Remember(w, w.LedgerText)
		}
		c.state.Compared(facts)
		if d.Reverted != nil {
			c.report.Reverted(w, d)
		}
		return nil
	case c.opts.DryRun:
		c.suppose(w, d)
		c.state.Compared(facts)
		return nil
	case !c.leads():
		c.queue.add(w.Key, leadAgain, leadAgain)
		return errLater
	case d.Action == reload.Record && d.Restores && !c.mayRestore(w):
		return nil
	case d.Action == reload.Record && !c.mayAdopt(w.Key):
		return errLater
	}
	began := c.clock.Now()
	if err := c.write(ctx, facts, d); err != nil {
		return err
	}
	if d.Restores {
		c.mu.Lock()
		c.restored[w.Key] = c.clock.Now()
		c.mu.Unlock()
	}
	if d.Action == reload.Reload {
		c.report.Reloaded(w, d, c.clock.Since(began))
	}
	if d.Reverted != nil {
		c.report.Reverted(w, d)
	}
	if d.Undecided > 0 {
		c.report.Undecided(w, d.Undecided)
	}
	return nil
}

func (c *Controller) write(ctx context.Context, facts *reload.Facts, d reload.Decision) error {
	w := &facts.Workload
	kind := c.kinds[w.Key.Kind]
	patch, text, err := c.patch(kind, facts, d)
	if err != nil {
		return err
	}
	obj, err := c.api.Patch(ctx, kind, w.Key, patch)
	if err != nil {
		return fmt.Errorf("patch %s: %w", w.Key, err)
	}
	answer, err := kind.Read(obj, c.opts.Names)
	if err != nil {
		return err
	}
	// The watch will bring it too, later. Until then nobody must decide on what stood there before.
	c.state.PutWorkload(answer, true)
	c.state.Remember(&answer, text)
	c.state.Compared(facts)
	return nil
}

func (c *Controller) patch(kind kinds.Kind, facts *reload.Facts, d reload.Decision) (patch kinds.Patch, ledger string, err error) {
	w := &facts.Workload
	if d.Action == reload.Record {
		ledger = d.Ledger.String()
		patch, err = kind.LedgerPatch(w, ledger)
		return patch, ledger, err
	}
	marking := d.Mark(w, facts.Seen, reload.SecretMarksKeyed, c.clock.Now())
	ledger = d.Ledger.String()
	patch, err = kind.MarkPatch(w, ledger, marking, c.opts.Names)
	return patch, ledger, err
}

// mayAdopt keeps the first ledgers of a large cluster from being written all at once. One that has to wait goes back to
// the queue, so that it delays nobody.
func (c *Controller) mayAdopt(key reload.WorkloadKey) bool {
	now := c.clock.Now()
	turn := c.adopt.ReserveN(now, 1)
	wait := turn.DelayFrom(now)
	if wait == 0 {
		return true
	}
	turn.CancelAt(now)
	c.queue.add(key, wait, wait)
	return false
}

// restoreEvery is how often a ledger that somebody keeps taking away is put back. In between ours is kept in memory, so
// that nobody is fought with.
const restoreEvery = time.Hour

func (c *Controller) mayRestore(w *reload.Workload) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	last, ok := c.restored[w.Key]
	if ok && now.Sub(last) < restoreEvery {
		c.log.Warn("the ledger of a workload was taken away or set back again; it is kept in memory until it may be written once more",
			"workload", w.Key.String(), "annotation", reload.LedgerAnnotation, "lastWritten", last.UTC().Format(time.RFC3339))
		return false
	}
	return true
}

// forget drops what is kept about a workload that is gone.
func (c *Controller) forget(key reload.WorkloadKey) {
	c.queue.succeeded(key)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conflicted, key)
	delete(c.supposed, key)
	delete(c.restored, key)
	delete(c.awaiting, key)
	delete(c.newcomers, key)
}

// decideAgain waits for the version that the API server has already, and the state not yet.
func (c *Controller) decideAgain(w *reload.Workload) {
	c.mu.Lock()
	c.conflicted[w.Key] = struct{}{}
	c.mu.Unlock()
	// Not every conflict is about a newer version, and then none will come.
	c.queue.retry(w.Key)
	// It may have arrived between the decision and now.
	if now, ok := c.state.Workload(w.Key); ok && now.ResourceVersion != w.ResourceVersion {
		c.queue.add(w.Key, 0, 0)
	}
}

// suppose reports what a dry run does not write, once.
func (c *Controller) suppose(w *reload.Workload, d reload.Decision) {
	text := d.Ledger.String()
	c.mu.Lock()
	known := c.supposed[w.Key] == text
	c.supposed[w.Key] = text
	c.mu.Unlock()
	if !known && d.Action == reload.Reload {
		c.report.Reloaded(w, d, 0)
	}
}
