package simapi

import (
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// generated are the labels by which Kubernetes finds the pods of a Job. The first one is in the
// selector.
func generated(job *batchv1.Job) (name, uid string, labels map[string]string) {
	uid = string(job.UID)
	return batchv1.ControllerUidLabel, uid, map[string]string{
		batchv1.ControllerUidLabel: uid, "controller-uid": uid, batchv1.JobNameLabel: job.Name, "job-name": job.Name,
	}
}

// setDefaults gives a new object what the API server does: how many pods a Job has, that it is not
// suspended, and how they are found. A namespace has a label with its name. So somebody owns fields
// of it, and managed fields show who labels it, and when.
func setDefaults(obj Object) {
	if ns, ok := obj.(*corev1.Namespace); ok {
		metav1.SetMetaDataLabel(&ns.ObjectMeta, corev1.LabelMetadataName, ns.Name)
	}
	if c, ok := obj.(*batchv1.CronJob); ok && c.Spec.Suspend == nil {
		c.Spec.Suspend = new(false)
	}
	job, ok := obj.(*batchv1.Job)
	if !ok {
		return
	}
	job.Status = batchv1.JobStatus{}
	if job.Spec.Parallelism == nil {
		job.Spec.Parallelism = new(int32(1))
	}
	if job.Spec.Completions == nil {
		job.Spec.Completions = new(int32(1))
	}
	if job.Spec.Suspend == nil {
		job.Spec.Suspend = new(false)
	}
	if job.Spec.Selector == nil {
		key, value, labels := generated(job)
		job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		if job.Spec.Template.Labels == nil {
			job.Spec.Template.Labels = map[string]string{}
		}
		maps.Copy(job.Spec.Template.Labels, labels)
	}
}

// immutable refuses another pod template of a Job.
func immutable(old, next Object) error {
	before, ok := old.(*batchv1.Job)
	if !ok || equality.Semantic.DeepEqual(before.Spec.Template, next.(*batchv1.Job).Spec.Template) {
		return nil
	}
	return apierrors.NewInvalid(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), old.GetName(), nil)
}

// Remove deletes an object on conditions. In the foreground it stays until its pods are gone.
func (s *Server) Remove(resource string, name types.NamespacedName, opts metav1.DeleteOptions) error {
	old, err := s.Get(resource, name)
	if err != nil {
		return err
	}
	if p := opts.Preconditions; p != nil && (p.UID != nil && *p.UID != old.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != old.GetResourceVersion()) {
		return apierrors.NewConflict(groupResource(resource), name.Name, fmt.Errorf("the precondition does not hold")) //nolint:err113,perfsprint // nobody tells it apart
	}
	if opts.PropagationPolicy == nil || *opts.PropagationPolicy != metav1.DeletePropagationForeground {
		return s.Delete(resource, name)
	}
	if old.GetDeletionTimestamp() != nil {
		return nil
	}
	s.begin()
	next, now := clone(old), s.second()
	next.SetDeletionTimestamp(&now)
	next.SetFinalizers(append(slices.Clone(old.GetFinalizers()), metav1.FinalizerDeleteDependents))
	next.SetGeneration(old.GetGeneration() + 1)
	s.put(resource, name, next, Event{Type: watch.Modified, Old: old})
	return nil
}

// Over reports whether a Job or a pod has run to its end.
func Over(obj Object) bool {
	switch o := obj.(type) {
	case *corev1.Pod:
		return o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed
	case *batchv1.Job:
		return slices.ContainsFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool {
			return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
		})
	default:
		return false
	}
}

// StepJob does the next thing there is to do for a Job, by a kubelet, by what collects garbage, or
// by its controller, and returns false if there is nothing.
func (p *Pods) StepJob(of *batchv1.Job) bool {
	standing, err := p.server.Get("jobs", nameOf(of))
	if err != nil || standing.GetUID() != of.UID {
		return false
	}
	job := standing.(*batchv1.Job)
	pods := p.Of(job)
	for _, pod := range pods {
		_, started := p.started[pod.UID]
		switch {
		case pod.DeletionTimestamp != nil || job.DeletionTimestamp != nil:
			_ = p.server.Delete("pods", nameOf(pod))
			return true
		case !started && p.start(job, pod):
			p.server.editStatus(pod, "kubelet", p.run)
			return true
		}
	}
	if job.DeletionTimestamp != nil {
		return p.server.Delete("jobs", nameOf(job)) == nil
	}
	return !Over(job) && p.syncJob(job, pods)
}

// syncJob is one sync of the Job controller: it makes or ends pods, and writes what it then knows
// into the status.
func (p *Pods) syncJob(job *batchv1.Job, pods []*corev1.Pod) bool {
	status := job.Status.DeepCopy()
	var active []*corev1.Pod
	status.Succeeded, status.Terminating = 0, new(int32(0))
	for _, pod := range pods {
		switch {
		case Over(pod):
			status.Succeeded++
		case pod.DeletionTimestamp != nil:
			*status.Terminating++
		default:
			active = append(active, pod)
		}
	}
	status.Active = int32(len(active)) //nolint:gosec // a test has few
	suspended, now, made := *job.Spec.Suspend, p.server.second(), false
	if status.StartTime == nil && !suspended {
		status.StartTime = &now
	}
	switch {
	case suspended:
		for _, pod := range active {
			p.end(pod)
			status.Active--
			*status.Terminating++
		}
		if condition(status, batchv1.JobSuspended, corev1.ConditionTrue) {
			status.StartTime = nil
		}
	default:
		for want := min(*job.Spec.Parallelism, *job.Spec.Completions-status.Succeeded); status.Active < want; status.Active++ {
			_, made = p.make(job, number(0))
		}
		if status.Active == 0 && *status.Terminating == 0 {
			condition(status, batchv1.JobComplete, corev1.ConditionTrue)
		} else if suspendedBefore(status) && condition(status, batchv1.JobSuspended, corev1.ConditionFalse) {
			status.StartTime = &now // once more, in the time in which its pods are made
		}
	}
	if equality.Semantic.DeepEqual(&job.Status, status) {
		return made
	}
	p.server.editStatus(job, "kube-controller-manager", func(obj Object) { obj.(*batchv1.Job).Status = *status })
	return true
}

func suspendedBefore(status *batchv1.JobStatus) bool {
	return slices.ContainsFunc(status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
}

// condition sets one, and returns false if it was so.
func condition(status *batchv1.JobStatus, kind batchv1.JobConditionType, is corev1.ConditionStatus) bool {
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == kind {
			was := c.Status
			c.Status = is
			return was != is
		}
	}
	status.Conditions = append(status.Conditions, batchv1.JobCondition{Type: kind, Status: is})
	return true
}

// Finish ends the containers of a pod that runs, which have done what they were to do.
func (p *Pods) Finish(pod *corev1.Pod) bool {
	if _, started := p.started[pod.UID]; !started || Over(pod) || pod.DeletionTimestamp != nil {
		return false
	}
	p.server.editStatus(pod, "kubelet", func(obj Object) {
		ended := obj.(*corev1.Pod)
		ended.Status.Phase = corev1.PodSucceeded
		for i := range ended.Status.ContainerStatuses {
			state := &ended.Status.ContainerStatuses[i].State
			if state.Running != nil {
				*state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: state.Running.StartedAt, FinishedAt: metav1.NewTime(p.server.Now())}}
			}
		}
	})
	return true
}
