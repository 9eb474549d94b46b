package simapi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

func (s inMemory) delete(_ context.Context, resource, name string, opts metav1.DeleteOptions) error {
	return s.Remove(resource, named(name), opts)
}

func (s inMemory) settle(_ context.Context, resource, name string, is func(simapi.Object) bool) (simapi.Object, error) {
	until := s.Now().Add(5 * time.Minute)
	for {
		obj, err := s.Get(resource, named(name))
		if err != nil || is(obj) {
			return obj, err
		}
		switch {
		case s.step():
		case len(s.List("cronjobs")) == 0 || s.Now().After(until):
			return nil, errors.New("it never becomes so")
		default:
			s.Advance(time.Second) // until a CronJob is due
		}
	}
}

// step is a sync of one of the controllers, if there is something to do.
func (s inMemory) step() bool {
	return slices.ContainsFunc(s.List("jobs"), func(obj simapi.Object) bool { return s.making.StepJob(obj.(*batchv1.Job)) }) ||
		slices.ContainsFunc(s.List("cronjobs"), func(obj simapi.Object) bool { return s.making.StepCronJob(obj.(*batchv1.CronJob)) })
}

func (s inMemory) jobs(context.Context) ([]*batchv1.Job, error) {
	for s.step() {
		continue
	}
	var jobs []*batchv1.Job
	for _, obj := range s.List("jobs") {
		jobs = append(jobs, obj.(*batchv1.Job))
	}
	return jobs, nil
}

func (s inMemory) pods(_ context.Context, job string) ([]*corev1.Pod, error) {
	var pods []*corev1.Pod
	for _, obj := range s.List("pods") {
		if pod := obj.(*corev1.Pod); pod.Labels[batchv1.JobNameLabel] == job && pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

func (s inMemory) finish(_ context.Context, pod *corev1.Pod) error {
	for _, obj := range s.List("jobs") {
		for s.making.StepJob(obj.(*batchv1.Job)) {
			continue
		}
	}
	if !s.making.Finish(pod) {
		return errors.New("it does not run")
	}
	return nil
}

func (s realServer) delete(ctx context.Context, resource, name string, opts metav1.DeleteOptions) error {
	return s.rest(resource).Delete().Namespace(s.namespace).Resource(resource).Name(name).Body(&opts).Do(ctx).Error()
}

func (s realServer) settle(ctx context.Context, resource, name string, is func(simapi.Object) bool) (simapi.Object, error) {
	for range 3000 { // a CronJob is due once a minute
		obj, err := s.get(ctx, resource, name)
		if err != nil || is(obj) {
			return obj, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, errors.New("it never becomes so")
}

func (s realServer) jobs(ctx context.Context) ([]*batchv1.Job, error) {
	list, err := s.client.BatchV1().Jobs(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the jobs: %w", err)
	}
	var jobs []*batchv1.Job
	for i := range list.Items {
		jobs = append(jobs, &list.Items[i])
	}
	return jobs, nil
}

func (s realServer) pods(ctx context.Context, job string) ([]*corev1.Pod, error) {
	list, err := s.client.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", job, err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods, nil
}

func (s realServer) finish(ctx context.Context, pod *corev1.Pod) error {
	_, err := s.client.CoreV1().Pods(s.namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
	return err
}
