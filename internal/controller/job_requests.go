package controller

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/workload"
)

// jobPage bounds the Jobs of one response.
const jobPage = 500

func jobKey(namespace, name string) workload.Key {
	return workload.Key{Kind: kinds.Jobs().Name, Namespace: namespace, Name: name}
}

// jobNamed reads the current version of a Job; nil if there is none. It sends a LIST, so that no
// permission to get Jobs is needed.
func (c *Controller) jobNamed(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	var found *batchv1.Job
	err := c.eachJob(ctx, namespace, fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(), func(job *batchv1.Job) { found = job })
	if err != nil {
		return nil, fmt.Errorf("read Job %s/%s: %w", namespace, name, err)
	}
	return found, nil
}

// jobsOf lists the Jobs that a workload created, or that were created from it.
func (c *Controller) jobsOf(ctx context.Context, w *workload.Workload) ([]*batchv1.Job, error) {
	var own []*batchv1.Job
	err := c.eachJob(ctx, w.Key.Namespace, "", func(job *batchv1.Job) {
		if madeBy(job, w) {
			own = append(own, job)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list the Jobs of %s: %w", w.Key, err)
	}
	return own, nil
}

func madeBy(job *batchv1.Job, w *workload.Workload) bool {
	owner := metav1.GetControllerOfNoCopy(job)
	return owner != nil && owner.UID == w.UID
}

func (c *Controller) eachJob(ctx context.Context, namespace, fieldSelector string, do func(*batchv1.Job)) error {
	from := c.api.Open(kubeapi.Watched{Resource: kinds.Jobs().Resource, Namespace: namespace, FieldSelector: fieldSelector, NewList: kinds.Jobs().NewList})
	opts := metav1.ListOptions{Limit: jobPage}
	for {
		list, err := from.List(ctx, opts)
		if err != nil {
			return err
		}
		jobs, ok := list.(*batchv1.JobList)
		if !ok {
			return fmt.Errorf("got a %T", list)
		}
		for i := range jobs.Items {
			do(&jobs.Items[i])
		}
		if opts.Continue = jobs.Continue; opts.Continue == "" {
			return nil
		}
	}
}

// createHeld creates a Job that is held. An admission controller such as Kueue may suspend each new
// Job, with or without a label that shows that. A dry run asks for that first. Otherwise Reroll
// would unsuspend the Job, and start Pods for which a queue has no capacity. A refusal decides
// nothing, because it may last: for example, a webhook does not support dry runs.
func (c *Controller) createHeld(ctx context.Context, namespace string, job *batchv1.Job) (runtime.Object, error) {
	if user := kinds.Unsuspended(job); user != nil {
		key := jobKey(namespace, job.Name)
		obj, err := c.api.TryCreate(ctx, kinds.Jobs(), namespace, user)
		tried, ok := obj.(*batchv1.Job)
		switch {
		case err == nil && ok:
			kinds.StaySuspended(job, tried)
		case isRefusal(err) && !apierrors.IsTooManyRequests(err):
			c.log.Info("could not find out whether an admission controller suspends a Job", "job", key.String(), "error", err)
		default:
			return nil, fmt.Errorf("find out whether an admission controller suspends %s: %w", key, err)
		}
		if !c.leads() { // a webhook may have taken long
			return nil, retryAfter(leadAgain)
		}
	}
	return c.api.Create(ctx, kinds.Jobs(), namespace, job)
}

func (c *Controller) patchJob(ctx context.Context, key workload.Key, by func() (kinds.Patch, error)) error {
	patch, err := by()
	if err != nil {
		return err
	}
	obj, err := c.api.Patch(ctx, kinds.Jobs(), key, patch)
	if err != nil {
		return fmt.Errorf("patch %s: %w", key, err)
	}
	if job, ok := obj.(*batchv1.Job); ok {
		// A snapshot from before the write may not show yet that the Pods of the Job have started.
		c.state.Answered(key, job.UID, job.ResourceVersion)
	}
	return nil
}

// deleteJob deletes this version of a Job. A request that arrives late must not delete a later one: another
// controller may need it by then.
func (c *Controller) deleteJob(ctx context.Context, job *batchv1.Job, policy metav1.DeletionPropagation) error {
	key := jobKey(job.Namespace, job.Name)
	opts := metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion}}
	if err := c.api.Delete(ctx, kinds.Jobs(), key, opts); err != nil {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	return nil
}
