package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
)

// fieldManager owns what is written. Some tools remove fields of managers whose name starts like one of theirs.
const fieldManager = "reroll"

// look reads a workload from the state, decides, writes at most once, and reports.
func (c *Controller) look(ctx context.Context, key reload.WorkloadKey) {
	facts, ok := c.state.Facts(key)
	if !ok || facts.Workload.Deleting {
		c.queue.succeeded(key)
		return
	}
	facts.Instance = c.key.ID()
	w := &facts.Workload
	d := reload.Decide(facts)
	c.log.Debug("decided", "workload", key.String(), "action", d.Action.String(), "why", d.Why)

	switch {
	case d.Action == reload.Nothing:
		c.queue.succeeded(key)
		return
	case c.opts.DryRun:
		c.suppose(w, d)
		return
	case d.Action == reload.Record && !c.mayAdopt(key):
		return
	}
	began := c.clock.Now()
	err := c.write(ctx, w, d)
	switch {
	case err == nil:
		c.queue.succeeded(key)
		if d.Action == reload.Reload {
			c.report.Reloaded(w, d, c.clock.Since(began))
		}
	case apierrors.IsNotFound(err):
		// Deleted in the meantime: the watch brings that, or a new object of the same name.
		c.queue.succeeded(key)
	case apierrors.IsConflict(err):
		c.decideAgain(w)
	default:
		c.report.Failed(w, d, err, c.queue.retry(key))
	}
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

func (c *Controller) write(ctx context.Context, w *reload.Workload, d reload.Decision) error {
	kind := c.kinds[w.Key.Kind]
	patch, err := c.patch(kind, w, d)
	if err != nil {
		return err
	}
	obj, err := c.client.AppsV1().RESTClient().Patch(patch.Type).
		Namespace(w.Key.Namespace).Resource(kind.Resource.Resource).Name(w.Key.Name).
		VersionedParams(&metav1.PatchOptions{FieldManager: fieldManager}, scheme.ParameterCodec).
		Body(patch.Body).Do(ctx).Get()
	if err != nil {
		return fmt.Errorf("patch %s: %w", w.Key, err)
	}
	answer, err := kind.Read(obj, c.opts.Names)
	if err != nil {
		return err
	}
	// The watch will bring it too, later. Until then nobody must decide on what stood there before.
	c.state.PutWorkload(answer)
	return nil
}

func (c *Controller) patch(kind kinds.Kind, w *reload.Workload, d reload.Decision) (kinds.Patch, error) {
	if d.Action == reload.Record {
		return kind.LedgerPatch(w, d.Ledger.String())
	}
	return kind.EnvPatch(w, d.Ledger.String(), reload.EnvMarking(d, w, reload.SecretMarksKeyed, c.clock.Now()))
}

// decideAgain waits for the version that the API server has already, and the state not yet.
func (c *Controller) decideAgain(w *reload.Workload) {
	c.mu.Lock()
	c.conflicted[w.Key] = struct{}{}
	c.mu.Unlock()
	// It may have arrived between the decision and now.
	if facts, ok := c.state.Facts(w.Key); ok && facts.Workload.ResourceVersion != w.ResourceVersion {
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
	c.queue.succeeded(w.Key)
	if !known && d.Action == reload.Reload {
		c.report.Reloaded(w, d, 0)
	}
}
