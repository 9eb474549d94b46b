package simapi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

// jobCases are about Jobs, whose pods nobody runs: they end when a case says so.
func jobCases() map[string]jobCase {
	return map[string]jobCase{
		"a Job is created with what finds its pods": {madeJob, []string{
			"suspended false, pods 1 of 1, generation 1", "selects by batch.kubernetes.io/controller-uid, its uid true",
			"labels app batch.kubernetes.io/controller-uid batch.kubernetes.io/job-name controller-uid job-name",
		}},
		"the pod template of a Job cannot be changed": {jobTemplate, []string{"422 invalid"}},
		"the generation of a Job follows its spec": {jobGenerations, []string{
			"annotation +0", "suspended +1", "deleted in the foreground +1",
		}},
		"whoever writes it last owns whether a Job is suspended": {suspendOwners, []string{"helm", "reroll"}},
		"a Job is suspended and resumed": {suspended, []string{
			"runs: active 1, terminating 0, succeeded 0, ended false, suspended condition none, started true",
			"suspended: active 0, terminating 0, succeeded 0, ended false, suspended condition True, started false",
			"resumed: active 1, terminating 0, succeeded 0, ended false, suspended condition False, started true",
			"other pods: true",
		}},
		"what has succeeded of a Job does not run again": {partly, []string{
			"suspended: active 0, terminating 0, succeeded 1, ended false, suspended condition True, started false",
			"resumed: active 1, terminating 0, succeeded 1, ended false, suspended condition False, started true",
			"ended: active 0, terminating 0, succeeded 2, ended true, suspended condition False, started true",
		}},
		"a Job that has ended is not run again by being suspended and resumed": {endedAndResumed, []string{
			"ended: active 0, terminating 0, succeeded 1, ended true, suspended condition none, started true",
			"resumed: active 0, terminating 0, succeeded 1, ended true, suspended condition none, started true",
		}},
		"a Job is deleted on conditions, after its pods": {deletedJob, []string{
			"other uid: 409 conflict", "other version: 409 conflict", "deleted: accepted",
			"being deleted true, finalizers foregroundDeletion", "gone, with its pods",
		}},
	}
}

type jobCase struct {
	run  func(ctx context.Context, s server, o *outcome) error
	want []string
}

func job(name string, pods int32) *batchv1.Job {
	spec := template()
	spec.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{ObjectMeta: meta(name), Spec: batchv1.JobSpec{Parallelism: &pods, Completions: &pods, Template: spec}}
}

func madeJob(ctx context.Context, s server, o *outcome) error {
	made := job("load", 1)
	made.Spec.Parallelism, made.Spec.Completions = nil, nil
	obj, err := s.create(ctx, made, "helm")
	if err != nil {
		return err
	}
	j := obj.(*batchv1.Job)
	o.say("suspended %t, pods %d of %d, generation %d", *j.Spec.Suspend, *j.Spec.Parallelism, *j.Spec.Completions, j.Generation)
	for key, value := range j.Spec.Selector.MatchLabels {
		o.say("selects by %s, its uid %t", key, value == string(j.UID))
	}
	var labels []string
	for key := range j.Spec.Template.Labels {
		labels = append(labels, key)
	}
	o.say("labels %s", sortedWords(labels))
	return nil
}

func jobTemplate(ctx context.Context, s server, o *outcome) error {
	if _, err := s.create(ctx, job("load", 1), "helm"); err != nil {
		return err
	}
	_, err := s.patch(ctx, "jobs", "load", `{"spec":{"template":{"metadata":{"annotations":{"x":"1"}}}}}`, "reroll")
	o.say("%s", refused(err))
	return nil
}

func jobGenerations(ctx context.Context, s server, o *outcome) error {
	made, err := s.create(ctx, job("load", 1), "helm")
	if err != nil {
		return err
	}
	before := made.GetGeneration()
	rise := func(what string, obj simapi.Object) {
		o.say("%s +%d", what, obj.GetGeneration()-before)
		before = obj.GetGeneration()
	}
	for what, body := range map[string]string{"annotation": `{"metadata":{"annotations":{"a":"1"}}}`} {
		obj, err := s.patch(ctx, "jobs", "load", body, "reroll")
		if err != nil {
			return err
		}
		rise(what, obj)
	}
	obj, err := s.patch(ctx, "jobs", "load", `{"spec":{"suspend":true}}`, "helm")
	if err != nil {
		return err
	}
	rise("suspended", obj)
	if _, err := s.patch(ctx, "jobs", "load", `{"metadata":{"finalizers":["example.com/kept"]}}`, "helm"); err != nil {
		return err
	}
	foreground := metav1.DeletePropagationForeground
	if err := s.delete(ctx, "jobs", "load", metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		return err
	}
	if obj, err = s.get(ctx, "jobs", "load"); err != nil {
		return err
	}
	rise("deleted in the foreground", obj)
	_, err = s.patch(ctx, "jobs", "load", `{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/kept"]}}`, "helm")
	return err
}

func suspendOwners(ctx context.Context, s server, o *outcome) error {
	made := job("load", 1)
	made.Spec.Suspend = new(true)
	obj, err := s.create(ctx, made, "helm")
	if err != nil {
		return err
	}
	o.say("%s", owners(obj, `"f:suspend"`))
	if obj, err = s.patch(ctx, "jobs", "load", `{"spec":{"suspend":false}}`, "reroll"); err != nil {
		return err
	}
	o.say("%s", owners(obj, `"f:suspend"`))
	return nil
}

// owners are the managers of an object, apart from its status, that own a field, or own any if it is
// empty.
func owners(obj simapi.Object, field string) string {
	var owners []string
	for _, m := range obj.GetManagedFields() {
		if m.Subresource == "" && strings.Contains(m.FieldsV1.GetRawString(), field) {
			owners = append(owners, m.Manager)
		}
	}
	return sortedWords(owners)
}

// jobStatus waits for what a Job comes to, and says it.
func jobStatus(ctx context.Context, s server, o *outcome, what string, is func(*batchv1.Job) bool) error {
	obj, err := s.settle(ctx, "jobs", "load", func(obj simapi.Object) bool { return is(obj.(*batchv1.Job)) })
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	status := obj.(*batchv1.Job).Status
	condition := "none"
	for _, c := range status.Conditions {
		if c.Type == batchv1.JobSuspended {
			condition = string(c.Status)
		}
	}
	var terminating int32
	if status.Terminating != nil {
		terminating = *status.Terminating
	}
	o.say("%s: active %d, terminating %d, succeeded %d, ended %t, suspended condition %s, started %t", what,
		status.Active, terminating, status.Succeeded, simapi.Over(obj), condition, status.StartTime != nil)
	return nil
}

func runs(pods int32) func(*batchv1.Job) bool {
	return func(j *batchv1.Job) bool { return j.Status.Active == pods }
}

// rests is one without pods that are left.
func rests(j *batchv1.Job) bool {
	return runs(0)(j) && (j.Status.Terminating == nil || *j.Status.Terminating == 0) &&
		slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Status == corev1.ConditionTrue })
}

func ended(j *batchv1.Job) bool { return simapi.Over(j) }

func suspendLoad(ctx context.Context, s server, suspend bool) error {
	return setSuspend(ctx, s, "jobs", "load", suspend)
}

func setSuspend(ctx context.Context, s server, resource, name string, suspend bool) error {
	_, err := s.patch(ctx, resource, name, `{"spec":{"suspend":`+strconv.FormatBool(suspend)+`}}`, "kubectl-edit")
	return err
}

func suspended(ctx context.Context, s server, o *outcome) error {
	_, err := s.create(ctx, job("load", 1), "helm")
	before := jobStatus(ctx, s, o, "runs", runs(1))
	first, podsErr := s.pods(ctx, "load")
	err = errors.Join(err, before, podsErr, suspendLoad(ctx, s, true), jobStatus(ctx, s, o, "suspended", rests))
	err = errors.Join(err, suspendLoad(ctx, s, false), jobStatus(ctx, s, o, "resumed", runs(1)))
	second, podsErr := s.pods(ctx, "load")
	if err = errors.Join(err, podsErr); err == nil {
		o.say("other pods: %t", len(first) == 1 && len(second) == 1 && first[0].UID != second[0].UID)
	}
	return err
}

func partly(ctx context.Context, s server, o *outcome) error {
	_, err := s.create(ctx, job("load", 2), "helm")
	if err != nil {
		return err
	}
	if _, err := s.settle(ctx, "jobs", "load", func(obj simapi.Object) bool { return runs(2)(obj.(*batchv1.Job)) }); err != nil {
		return err
	}
	if err := finishOne(ctx, s); err != nil {
		return err
	}
	if _, err := s.settle(ctx, "jobs", "load", func(obj simapi.Object) bool { return obj.(*batchv1.Job).Status.Succeeded == 1 }); err != nil {
		return err
	}
	err = errors.Join(suspendLoad(ctx, s, true), jobStatus(ctx, s, o, "suspended", rests))
	return errors.Join(err, suspendLoad(ctx, s, false), jobStatus(ctx, s, o, "resumed", runs(1)), finishOne(ctx, s), jobStatus(ctx, s, o, "ended", ended))
}

func endedAndResumed(ctx context.Context, s server, o *outcome) error {
	_, err := s.create(ctx, job("load", 1), "helm")
	if err != nil {
		return err
	}
	if _, err := s.settle(ctx, "jobs", "load", func(obj simapi.Object) bool { return runs(1)(obj.(*batchv1.Job)) }); err != nil {
		return err
	}
	err = errors.Join(finishOne(ctx, s), jobStatus(ctx, s, o, "ended", ended), suspendLoad(ctx, s, true))
	s.wait(time.Second)
	err = errors.Join(err, suspendLoad(ctx, s, false))
	s.wait(time.Second)
	return errors.Join(err, jobStatus(ctx, s, o, "resumed", ended))
}

// finishOne has the first pod that has not succeeded do so.
func finishOne(ctx context.Context, s server) error {
	pods, err := s.pods(ctx, "load")
	for _, pod := range pods {
		if !simapi.Over(pod) {
			return s.finish(ctx, pod)
		}
	}
	return errors.Join(err, errors.New("no pod is left"))
}

func deletedJob(ctx context.Context, s server, o *outcome) error {
	made, err := s.create(ctx, job("load", 1), "helm")
	if err != nil {
		return err
	}
	if _, err := s.settle(ctx, "jobs", "load", func(obj simapi.Object) bool { return runs(1)(obj.(*batchv1.Job)) }); err != nil {
		return err
	}
	// A finalizer of its pod keeps it, so that it can be looked at.
	foreground, uid := metav1.DeletePropagationForeground, made.GetUID()
	opts := func(uid types.UID, version string) metav1.DeleteOptions {
		return metav1.DeleteOptions{PropagationPolicy: &foreground, Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}}
	}
	obj, err := s.patch(ctx, "jobs", "load", `{"metadata":{"finalizers":["example.com/kept"]}}`, "helm")
	if err != nil {
		return err
	}
	now := obj.GetResourceVersion()
	o.say("other uid: %s", refused(s.delete(ctx, "jobs", "load", opts("other", now))))
	o.say("other version: %s", refused(s.delete(ctx, "jobs", "load", opts(uid, "1"))))
	o.say("deleted: %s", refused(s.delete(ctx, "jobs", "load", opts(uid, now))))
	if obj, err = s.get(ctx, "jobs", "load"); err != nil {
		return err
	}
	finalizers := slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == "example.com/kept" })
	o.say("being deleted %t, finalizers %s", obj.GetDeletionTimestamp() != nil, strings.Join(finalizers, " "))
	if _, err := s.patch(ctx, "jobs", "load", `{"metadata":{"$deleteFromPrimitiveList/finalizers":["example.com/kept"]}}`, "helm"); err != nil {
		return err
	}
	_, err = s.settle(ctx, "jobs", "load", func(simapi.Object) bool { return false })
	pods, podsErr := s.pods(ctx, "load")
	if apierrors.IsNotFound(err) && podsErr == nil && len(pods) == 0 {
		o.say("gone, with its pods")
		return nil
	}
	return fmt.Errorf("%d pods are left: %w", len(pods), errors.Join(err, podsErr))
}
