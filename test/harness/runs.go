package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Jobs and CronJobs have no revisions: what counts is how many pods were made for them. All Jobs of
// one name are one.

// seeJob keeps whose pods are those of a Job.
func (o *Observer) seeJob(c change) error {
	job := c.object.(*batchv1.Job)
	o.owners[job.UID] = Ref{Kind: "job", Name: job.Name}
	if owner := metav1.GetControllerOf(job); owner != nil {
		o.owners[job.UID] = Ref{Kind: strings.ToLower(owner.Kind), Name: owner.Name}
	}
	return nil
}

func runsAndEnds(workload Ref) bool { return workload.Kind == "job" || workload.Kind == "cronjob" }

// jobsOf returns the Jobs of a CronJob, or the Job itself.
func (n *Namespace) jobsOf(ctx context.Context, workload Ref) ([]batchv1.Job, error) {
	jobs, err := n.clients.typed.BatchV1().Jobs(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(jobs.Items, func(job batchv1.Job) bool {
		owner := metav1.GetControllerOf(&job)
		if owner == nil {
			return workload != Ref{Kind: "job", Name: job.Name}
		}
		return workload != Ref{Kind: strings.ToLower(owner.Kind), Name: owner.Name}
	}), nil
}

// begun returns when the pods are made of every Job that is to run.
func (n *Namespace) begun(ctx context.Context, workload Ref) error {
	return Await(ctx, "Kubernetes to begin the Jobs of "+workload.String(), func(ctx context.Context) error {
		jobs, err := n.jobsOf(ctx, workload)
		if err != nil {
			return err
		}
		for i := range jobs {
			job := &jobs[i]
			suspended := job.Spec.Suspend != nil && *job.Spec.Suspend
			if pods := job.Status.Active + job.Status.Succeeded + job.Status.Failed; !suspended && job.DeletionTimestamp == nil && pods == 0 && !ended(job) {
				return fmt.Errorf("job %s has no pod yet", job.Name)
			}
			if err := n.Observer.hasSeen(job); err != nil {
				return err
			}
		}
		return nil
	})
}

// AwaitMade returns when so many pods were made for a workload.
func (n *Namespace) AwaitMade(ctx context.Context, workload Ref, wanted int) error {
	return Await(ctx, fmt.Sprintf("%d pods to have been made for %s", wanted, workload), func(context.Context) error {
		made, err := n.Observer.Made(workload)
		switch {
		case err != nil:
			return final{err}
		case made > wanted:
			return final{fmt.Errorf("it is %d already", made)}
		case made < wanted:
			return fmt.Errorf("it is %d yet", made)
		default:
			return nil
		}
	})
}

// Finish ends the pods of all Jobs of a workload that run, as kubelets do when their containers
// have ended well, and returns when these Jobs have ended. At least one has to run. The end of one
// may begin the next, which is left to run.
func (n *Namespace) Finish(ctx context.Context, workload Ref) error {
	var ending map[types.UID]bool
	return Await(ctx, "the Jobs of "+workload.String()+" to end", func(ctx context.Context) error {
		jobs, err := n.jobsOf(ctx, workload)
		if err != nil {
			return err
		}
		jobs = slices.DeleteFunc(jobs, func(job batchv1.Job) bool {
			return ended(&job) || job.Spec.Suspend != nil && *job.Spec.Suspend || ending != nil && !ending[job.UID]
		})
		if ending == nil {
			if len(jobs) == 0 {
				return errors.New("none of them runs")
			}
			ending = map[types.UID]bool{}
			for i := range jobs {
				ending[jobs[i].UID] = true
			}
		}
		for i := range jobs {
			err = errors.Join(err, n.finishPods(ctx, &jobs[i]), fmt.Errorf("job %s has not ended", jobs[i].Name))
		}
		return err
	})
}

func (n *Namespace) finishPods(ctx context.Context, job *batchv1.Job) error {
	pods, err := n.clients.typed.CoreV1().Pods(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if !metav1.IsControlledBy(pod, job) || pod.Status.Phase == corev1.PodSucceeded {
			continue
		}
		_, err := n.clients.typed.CoreV1().Pods(n.Name).Patch(ctx, pod.Name, types.MergePatchType,
			[]byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{FieldManager: "kubelet"}, "status")
		if err != nil {
			return err
		}
	}
	return nil
}

func ended(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}
