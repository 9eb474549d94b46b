package simapi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/simapi"
)

// cronJobCases are about CronJobs that are due once a minute. Their Jobs end when a case says so.
func cronJobCases() map[string]jobCase {
	return map[string]jobCase{
		"a CronJob makes a Job each time it is due": {dueCronJob, []string{
			"suspended false", "named by the minute true, of a minute since the CronJob was created true",
			"by kube-controller-manager, controlled by the CronJob true, labels team=x, annotated note=y, suspended false",
			"active 1, last scheduled then true", "ended: active 0", "another one: of a later minute true",
		}},
		"a CronJob that is suspended makes what it missed afterwards":  {suspendedCronJob, []string{"suspended: 0", "not suspended any more: 1"}},
		"a CronJob that forbids it makes no Job beside another one":    {forbiddingCronJob, []string{"another one is due: 1", "the first one has ended: 2, active 1"}},
		"a CronJob forgets a Job that is deleted":                      {forgettingCronJob, []string{"deleted: active 0"}},
		"of the Jobs of a CronJob that have succeeded, three are kept": {keptJobs, []string{"kept: 2 3 4"}},
	}
}

func cronJob(name string, policy batchv1.ConcurrencyPolicy, suspend bool) *batchv1.CronJob {
	return &batchv1.CronJob{ObjectMeta: meta(name), Spec: batchv1.CronJobSpec{
		Schedule: "* * * * *", ConcurrencyPolicy: policy, Suspend: &suspend,
		JobTemplate: batchv1.JobTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "x"}, Annotations: map[string]string{"note": "y"}},
			Spec:       job("", 1).Spec,
		},
	}}
}

// makes waits until a CronJob has made n Jobs, and returns the last one.
func makes(ctx context.Context, s server, name string, n int) (*batchv1.Job, error) {
	var made []*batchv1.Job
	_, err := s.settle(ctx, "cronjobs", name, func(simapi.Object) bool {
		made, _ = jobsOf(ctx, s, name)
		return len(made) >= n
	})
	if err != nil {
		return nil, fmt.Errorf("%d of %d Jobs of %s: %w", len(made), n, name, err)
	}
	return made[n-1], nil
}

// jobsOf are the Jobs of a CronJob, in their order.
func jobsOf(ctx context.Context, s server, name string) ([]*batchv1.Job, error) {
	all, err := s.jobs(ctx)
	all = slices.DeleteFunc(all, func(j *batchv1.Job) bool {
		owner := metav1.GetControllerOf(j)
		return owner == nil || owner.Name != name
	})
	slices.SortFunc(all, func(a, b *batchv1.Job) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// active waits until a CronJob counts n Jobs that run.
func active(ctx context.Context, s server, name string, n int) (*batchv1.CronJob, error) {
	obj, err := s.settle(ctx, "cronjobs", name, func(obj simapi.Object) bool { return len(obj.(*batchv1.CronJob).Status.Active) == n })
	if err != nil {
		return nil, fmt.Errorf("%d active Jobs of %s: %w", n, name, err)
	}
	return obj.(*batchv1.CronJob), nil
}

// end has the pod of a Job succeed.
func end(ctx context.Context, s server, name string) error {
	_, err := s.settle(ctx, "jobs", name, func(obj simapi.Object) bool { return runs(1)(obj.(*batchv1.Job)) })
	pods, podsErr := s.pods(ctx, name)
	if err = errors.Join(err, podsErr); err != nil || len(pods) != 1 {
		return fmt.Errorf("%s has %d pods: %w", name, len(pods), err)
	}
	return s.finish(ctx, pods[0])
}

func dueCronJob(ctx context.Context, s server, o *outcome) error {
	c := cronJob("report", batchv1.AllowConcurrent, false)
	c.Spec.Suspend = nil
	obj, err := s.create(ctx, c, "helm")
	if err != nil {
		return err
	}
	o.say("suspended %t", *obj.(*batchv1.CronJob).Spec.Suspend)
	j, err := makes(ctx, s, "report", 1)
	if err != nil {
		return err
	}
	due, err := dueTime(j)
	// However long it takes to look at it, no other one is made meanwhile.
	if err = errors.Join(err, setSuspend(ctx, s, "cronjobs", "report", true)); err != nil {
		return err
	}
	o.say("named by the minute %t, of a minute since the CronJob was created %t", j.Name == fmt.Sprintf("report-%d", due.Unix()/60), due.After(obj.GetCreationTimestamp().Time))
	o.say("by %s, controlled by the CronJob %t, labels team=%s, annotated note=%s, suspended %t", owners(j, ""),
		metav1.IsControlledBy(j, obj), j.Labels["team"], j.Annotations["note"], *j.Spec.Suspend)
	one, err := active(ctx, s, "report", 1)
	if err != nil {
		return err
	}
	last := one.Status.LastScheduleTime
	o.say("active %d, last scheduled then %t", len(one.Status.Active), last != nil && last.Time.Equal(due))
	if err := end(ctx, s, j.Name); err != nil {
		return err
	}
	if one, err = active(ctx, s, "report", 0); err != nil {
		return err
	}
	o.say("ended: active %d", len(one.Status.Active))
	if err := setSuspend(ctx, s, "cronjobs", "report", false); err != nil {
		return err
	}
	next, err := makes(ctx, s, "report", 2)
	if err != nil {
		return err
	}
	later, err := dueTime(next)
	o.say("another one: of a later minute %t", later.After(due))
	return err
}

// dueTime is the time of the schedule for which a Job was made.
func dueTime(j *batchv1.Job) (time.Time, error) {
	return time.Parse(time.RFC3339, j.Annotations[batchv1.CronJobScheduledTimestampAnnotation])
}

// beside creates a CronJob, and a marker: its Jobs show when the other one has been due.
func beside(ctx context.Context, s server, c *batchv1.CronJob) error {
	_, err := s.create(ctx, c, "helm")
	_, markerErr := s.create(ctx, cronJob("marker", batchv1.AllowConcurrent, false), "helm")
	return errors.Join(err, markerErr)
}

func suspendedCronJob(ctx context.Context, s server, o *outcome) error {
	if err := beside(ctx, s, cronJob("report", batchv1.AllowConcurrent, true)); err != nil {
		return err
	}
	if _, err := makes(ctx, s, "marker", 1); err != nil {
		return err
	}
	made, err := jobsOf(ctx, s, "report")
	o.say("suspended: %d", len(made))
	if err := errors.Join(err, setSuspend(ctx, s, "cronjobs", "report", false)); err != nil {
		return err
	}
	if _, err := makes(ctx, s, "report", 1); err != nil {
		return err
	}
	o.say("not suspended any more: 1")
	return nil
}

func forbiddingCronJob(ctx context.Context, s server, o *outcome) error {
	if err := beside(ctx, s, cronJob("report", batchv1.ForbidConcurrent, false)); err != nil {
		return err
	}
	first, err := makes(ctx, s, "report", 1)
	if err != nil {
		return err
	}
	if _, err := makes(ctx, s, "marker", 2); err != nil {
		return err
	}
	made, err := jobsOf(ctx, s, "report")
	o.say("another one is due: %d", len(made))
	if err = errors.Join(err, end(ctx, s, first.Name)); err != nil {
		return err
	}
	if _, err = makes(ctx, s, "report", 2); err != nil {
		return err
	}
	one, err := active(ctx, s, "report", 1)
	if err != nil {
		return err
	}
	o.say("the first one has ended: 2, active %d", len(one.Status.Active))
	return nil
}

func forgettingCronJob(ctx context.Context, s server, o *outcome) error {
	_, err := s.create(ctx, cronJob("report", batchv1.ForbidConcurrent, false), "helm")
	if err != nil {
		return err
	}
	first, err := makes(ctx, s, "report", 1)
	if err != nil {
		return err
	}
	if _, err := active(ctx, s, "report", 1); err != nil {
		return err
	}
	// Nothing else is due while it is suspended.
	background := metav1.DeletePropagationBackground
	err = setSuspend(ctx, s, "cronjobs", "report", true)
	if err = errors.Join(err, s.delete(ctx, "jobs", first.Name, metav1.DeleteOptions{PropagationPolicy: &background})); err != nil {
		return err
	}
	one, err := active(ctx, s, "report", 0)
	if err != nil {
		return err
	}
	o.say("deleted: active %d", len(one.Status.Active))
	return nil
}

func keptJobs(ctx context.Context, s server, o *outcome) error {
	obj, err := s.create(ctx, cronJob("report", batchv1.AllowConcurrent, true), "helm")
	if err != nil {
		return err
	}
	for _, name := range []string{"1", "2", "3", "4"} {
		j := job(name, 1)
		j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(obj, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
		if _, err := s.create(ctx, j, "helm"); err != nil {
			return err
		}
		if err := end(ctx, s, name); err != nil {
			return err
		}
		s.wait(time.Second) // the oldest one is found by times of whole seconds
	}
	var left []string
	_, err = s.settle(ctx, "cronjobs", "report", func(simapi.Object) bool {
		all, err := s.jobs(ctx)
		left = nil
		for _, j := range all {
			left = append(left, j.Name)
		}
		return err == nil && len(all) < 4
	})
	o.say("kept: %s", sortedWords(left))
	return err
}
