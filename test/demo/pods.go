package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/test/harness"
)

// podWatch tells of pods as they come and go.
type podWatch struct {
	d      *demo
	events watch.Interface
	old    map[string]string // what those that were there before the edit have read, by name
	ready  map[string]bool
}

func (d *demo) watchPods(ctx context.Context) (*podWatch, error) {
	list, err := d.client.CoreV1().Pods(d.namespace.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	p := &podWatch{d: d, old: map[string]string{}, ready: map[string]bool{}}
	for i := range list.Items {
		p.old[list.Items[i].Name] = ""
		if d.real && ownedBy(list.Items[i].Name, optedIn) {
			if p.old[list.Items[i].Name], err = p.printed(ctx, &list.Items[i]); err != nil {
				return nil, err
			}
		}
	}
	p.events, err = d.client.CoreV1().Pods(d.namespace.Name).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	return p, err
}

func (p *podWatch) stop() { p.events.Stop() }

// follow tells until as many new pods are ready as old pods of the same Deployment were there, and
// those are gone.
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
				p.d.story.Tell("old pod", "%s: gone%s", pod.Name, p.old[pod.Name])
				gone--
			case !p.knows(pod.Name) && !p.ready[pod.Name] && isReady(pod):
				p.ready[pod.Name] = true
				reads, err := p.reads(ctx, pod)
				if err != nil {
					return err
				}
				p.d.story.Tell("new pod", "%s: ready%s", pod.Name, reads)
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

func (p *podWatch) knows(pod string) bool {
	_, old := p.old[pod]
	return old
}

// reads says what the pod has read, if its container prints that, and else what there is for it to
// read.
func (p *podWatch) reads(ctx context.Context, pod *corev1.Pod) (string, error) {
	if p.d.real {
		return p.printed(ctx, pod)
	}
	name, ref := variable(pod)
	if ref == nil {
		return ", reads nothing", nil
	}
	cm, err := p.d.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case err != nil:
		return fmt.Sprintf(", %s cannot be shown: %v", name, err), nil
	case runsContainers(pod):
		return fmt.Sprintf(", its ConfigMap holds %s=%q", name, cm.Data[ref.Key]), nil
	default:
		return fmt.Sprintf(", would read %s=%q", name, cm.Data[ref.Key]), nil
	}
}

// printed is the line of the container's log about its variable. The container runs before it has
// printed anything.
func (p *podWatch) printed(ctx context.Context, pod *corev1.Pod) (string, error) {
	name, _ := variable(pod)
	value := ""
	err := harness.Await(ctx, "pod "+pod.Name+" to print "+name, func(ctx context.Context) error {
		text, err := p.d.client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if found, ok := strings.CutPrefix(line, "env "+name+"="); ok {
				value = strings.TrimSuffix(found, "\n")
				return nil
			}
		}
		return fmt.Errorf("it has printed:\n%s", text)
	})
	return fmt.Sprintf(", printed %s=%q", name, value), err
}

// variable is the first one that a container gets from a ConfigMap.
func variable(pod *corev1.Pod) (string, *corev1.ConfigMapKeySelector) {
	for _, env := range pod.Spec.Containers[0].Env {
		if env.ValueFrom != nil && env.ValueFrom.ConfigMapKeyRef != nil {
			return env.Name, env.ValueFrom.ConfigMapKeyRef
		}
	}
	return "", nil
}

// runsContainers tells a pod that a kubelet has started from one that only says that it is Ready: a
// container that was started has an id, given by the runtime.
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
