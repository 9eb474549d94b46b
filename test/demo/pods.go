package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// podWatch tells of pods as they come and go.
type podWatch struct {
	d      *demo
	events watch.Interface
	old    map[string]bool // by name: there before the edit
	ready  map[string]bool
}

func (d *demo) watchPods(ctx context.Context) (*podWatch, error) {
	list, err := d.client.CoreV1().Pods(d.namespace.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	p := &podWatch{d: d, old: map[string]bool{}, ready: map[string]bool{}}
	for i := range list.Items {
		p.old[list.Items[i].Name] = true
	}
	p.events, err = d.client.CoreV1().Pods(d.namespace.Name).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	return p, err
}

func (p *podWatch) stop() { p.events.Stop() }

// follow tells until as many new pods are ready as old pods of the same Deployment were there, and those are gone.
func (p *podWatch) follow(ctx context.Context) error {
	left := 0
	for name := range p.old {
		if ownedBy(name, optedIn) {
			left++
		}
	}
	fresh, gone := left, left
	for fresh > 0 || gone > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("expected were %d more new pods and %d more old ones gone: %w", fresh, gone, context.Cause(ctx))
		case event, ok := <-p.events.ResultChan():
			if !ok {
				return fmt.Errorf("the watch on the pods has ended; expected were %d more new pods and %d more old ones gone", fresh, gone)
			}
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || !ownedBy(pod.Name, optedIn) && !ownedBy(pod.Name, optedOut) {
				continue
			}
			switch {
			case event.Type == watch.Deleted:
				p.d.story.Tell("old pod", "%s: gone", pod.Name)
				gone--
			case !p.old[pod.Name] && !p.ready[pod.Name] && isReady(pod):
				p.ready[pod.Name] = true
				p.d.story.Tell("new pod", "%s: ready, %s", pod.Name, p.reads(ctx, pod))
				fresh--
			}
		}
	}
	return nil
}

// kept fails unless the pods that a Deployment had before the edit are all there.
func (p *podWatch) kept(ctx context.Context, deployment string) error {
	list, err := p.d.client.CoreV1().Pods(p.d.namespace.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for i := range list.Items {
		there[list.Items[i].Name] = list.Items[i].DeletionTimestamp == nil
	}
	for name := range p.old {
		if ownedBy(name, deployment) && !there[name] {
			return fmt.Errorf("pod %s is gone; expected was that %s keeps its pods", name, deployment)
		}
	}
	return nil
}

// reads says what there is for the pod to read. What its container has read is known to nobody but the container, and
// without one it was nothing.
func (p *podWatch) reads(ctx context.Context, pod *corev1.Pod) string {
	for _, env := range pod.Spec.Containers[0].Env {
		if env.ValueFrom == nil || env.ValueFrom.ConfigMapKeyRef == nil {
			continue
		}
		ref := env.ValueFrom.ConfigMapKeyRef
		cm, err := p.d.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		switch {
		case err != nil:
			return fmt.Sprintf("%s cannot be shown: %v", env.Name, err)
		case runsContainers(pod):
			return fmt.Sprintf("its ConfigMap holds %s=%q", env.Name, cm.Data[ref.Key])
		default:
			return fmt.Sprintf("would read %s=%q", env.Name, cm.Data[ref.Key])
		}
	}
	return "reads nothing"
}

// runsContainers tells a pod that a kubelet has started from one that only says that it is Ready: a container that was
// started has an id, given by the runtime.
func runsContainers(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.ContainerID != "" })
}

// tellWithoutContainers says so of a user's cluster whose pods run none: its nodes may be kwok's.
func (d *demo) tellWithoutContainers(ctx context.Context) error {
	list, err := d.client.CoreV1().Pods(d.namespace.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if runsContainers(&list.Items[i]) {
			return nil
		}
	}
	d.story.Tell("", "(the pods of this cluster run no containers)")
	return nil
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ownedBy goes by the name: a Deployment's pods are called NAME-HASH-RANDOM.
func ownedBy(pod, deployment string) bool {
	rest, ok := strings.CutPrefix(pod, deployment+"-")
	return ok && strings.Count(rest, "-") == 1
}
