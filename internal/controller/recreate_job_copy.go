package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// copyJob creates the copy, which also shows whether such a Job is admitted. The next
// reconciliation takes the next step.
func (c *Controller) copyJob(ctx context.Context, kind kinds.Kind, facts *reload.Facts, d *reload.Decision) error {
	w := &facts.Workload
	job, err := c.jobNamed(ctx, w.Key.Namespace, w.Key.Name)
	if err != nil {
		return err
	}
	if job == nil || !c.decidedOn(kind, w, job) {
		return apierrors.NewConflict(kind.Resource.GroupResource(), w.Key.Name, errors.New("the object was modified meanwhile"))
	}
	m := d.Mark(w, facts.Seen, c.opts.SecretMarks, c.clock.Now())
	made, err := kinds.CopyJob(job, w, d, &m, c.opts.Names, c.installation.Key)
	if err != nil {
		return err
	}
	kept, err := c.api.Create(ctx, kind, w.Key.Namespace, made)
	if err == nil {
		err = c.signKept(ctx, kept)
	}
	if apierrors.IsAlreadyExists(err) {
		err = c.copiedBefore(ctx, w, made.Name, err)
	}
	if _, early := errors.AsType[retryAfter](err); early {
		return err
	}
	if err != nil {
		return fmt.Errorf("create Job %s, a copy of %s: %w", made.Name, w.Key, err)
	}
	c.queueRecreation(w.Key, made.Name)
	return errLater
}

// copiedBefore handles the case that the name of a copy is in use. That is not an error if it is
// this copy, whose response was lost.
func (c *Controller) copiedBefore(ctx context.Context, w *workload.Workload, name string, taken error) error {
	found, err := c.jobNamed(ctx, w.Key.Namespace, name)
	switch {
	case err != nil:
		return err
	case found == nil:
		return retryAfter(stepsAgain) // it was deleted in between
	case found.DeletionTimestamp != nil:
		return fmt.Errorf("an earlier Job of that name is being deleted, and waits for its finalizers: %s", strings.Join(found.Finalizers, ", "))
	}
	if before, ok := readCopy(found); !ok || before.Of != w.Key || before.UID != w.UID || !before.SignedBy(c.installation.Key) {
		return fmt.Errorf("%w, and it is not a copy with a valid signature of Reroll. Delete that Job: kubectl delete job %s --namespace %s", taken, name, found.Namespace)
	}
	return nil
}

// signKept signs a copy again if the cluster stored it otherwise than it was sent. Nothing is
// deleted before that.
func (c *Controller) signKept(ctx context.Context, made runtime.Object) error {
	kept, ok := made.(*batchv1.Job)
	if !ok {
		return fmt.Errorf("got a %T, want a Job", made)
	}
	of, err := kinds.ReadCopy(kept)
	if err != nil {
		return fmt.Errorf("an admission rule of the cluster changed its annotation %s: %w", annotations.Replaces, err)
	}
	if of.SignedBy(c.installation.Key) {
		return nil
	}
	return c.patchJob(ctx, jobKey(kept.Namespace, kept.Name), func() (kinds.Patch, error) { return of.Sign(c.installation.Key) })
}

// decidedOn reports whether a Job is the Job of the decision. Status writes of Kubernetes in
// between do not matter.
func (c *Controller) decidedOn(kind kinds.Kind, w *workload.Workload, job *batchv1.Job) bool {
	now, err := c.opts.Read(kind, job)
	now = c.state.Complete(now) // its policy is compared, and the defaults of the namespace are in it
	return err == nil && now.UID == w.UID && !now.Deleting && now.Generation == w.Generation && now.LedgerText == w.LedgerText && now.Policy.Equal(w.Policy)
}
