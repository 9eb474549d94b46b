package simapi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StepCronJob is one sync of the CronJob controller: it notes what has become of the Jobs that it
// has made, and makes the one that is due. Every schedule is once a minute here. It returns false
// if there is nothing to do.
func (p *Pods) StepCronJob(of *batchv1.CronJob) bool {
	standing, err := p.server.Get("cronjobs", nameOf(of))
	if err != nil || standing.GetUID() != of.UID {
		return false
	}
	c := standing.(*batchv1.CronJob)
	if old := p.outlived(c); old != nil {
		return p.server.Delete("jobs", nameOf(old)) == nil
	}
	status := c.Status.DeepCopy()
	status.Active = slices.DeleteFunc(status.Active, func(ref corev1.ObjectReference) bool {
		job, err := p.server.Get("jobs", types.NamespacedName{Namespace: c.Namespace, Name: ref.Name})
		return err != nil || job.GetUID() != ref.UID || Over(job)
	})
	due := p.server.Now().Truncate(time.Minute)
	last := c.CreationTimestamp.Time
	if at := status.LastScheduleTime; at != nil {
		last = at.Time
	}
	if due.After(last) && !*c.Spec.Suspend && (c.Spec.ConcurrencyPolicy != batchv1.ForbidConcurrent || len(status.Active) == 0) {
		job, err := p.server.Create(scheduled(c, due), "kube-controller-manager")
		if err != nil {
			return false
		}
		status.Active = append(status.Active, corev1.ObjectReference{Kind: "Job", Namespace: c.Namespace, Name: job.GetName(), UID: job.GetUID()})
		status.LastScheduleTime = new(metav1.NewTime(due))
	} else if len(status.Active) == len(c.Status.Active) {
		return false
	}
	p.server.editStatus(c, "kube-controller-manager", func(obj Object) { obj.(*batchv1.CronJob).Status = *status })
	return true
}

// scheduled is the Job of a time of the schedule.
func scheduled(c *batchv1.CronJob, due time.Time) *batchv1.Job {
	template := c.Spec.JobTemplate.DeepCopy()
	annotations := map[string]string{batchv1.CronJobScheduledTimestampAnnotation: due.Format(time.RFC3339)}
	maps.Copy(annotations, template.Annotations)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: fmt.Sprintf("%s-%d", c.Name, due.Unix()/60), Labels: template.Labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, batchv1.SchemeGroupVersion.WithKind("CronJob"))},
		},
		Spec: template.Spec,
	}
}

// outlived is the oldest Job that has ended of more than are kept, nil if there are no more.
func (p *Pods) outlived(c *batchv1.CronJob) Object {
	const kept = 3
	var ended []Object
	for _, obj := range p.server.List("jobs") {
		if owner := metav1.GetControllerOfNoCopy(obj); owner != nil && owner.UID == c.UID && Over(obj) {
			ended = append(ended, obj)
		}
	}
	if len(ended) <= kept {
		return nil
	}
	return slices.MinFunc(ended, func(a, b Object) int { return cmp.Compare(a.GetUID(), b.GetUID()) }) // they are counted
}
