package main

import (
	"context"
	"fmt"
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
func (p *podWatch) follow(ctx context.Context, done func(context.Context) error) error {
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
			if !ok {
				continue
			}
			switch {
			case event.Type == watch.Deleted:
				p.d.story.tell("old pod", "%s: gone", pod.Name)
				gone--
			case !p.old[pod.Name] && !p.ready[pod.Name] && isReady(pod):
				p.ready[pod.Name] = true
				p.d.story.tell("new pod", "%s: ready, %s", pod.Name, p.reads(ctx, pod))
				fresh--
			}
		}
	}
	return done(ctx)
}

// reads says what the pod got from the ConfigMap. Without containers nothing was read: then it says what would have been.
func (p *podWatch) reads(ctx context.Context, pod *corev1.Pod) string {
	verb := "reads"
	if p.d.own {
		verb = "would read"
	}
	for _, env := range pod.Spec.Containers[0].Env {
		if env.ValueFrom == nil || env.ValueFrom.ConfigMapKeyRef == nil {
			continue
		}
		ref := env.ValueFrom.ConfigMapKeyRef
		cm, err := p.d.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Sprintf("%s %s, which cannot be shown: %v", verb, env.Name, err)
		}
		return fmt.Sprintf("%s %s=%q", verb, env.Name, cm.Data[ref.Key])
	}
	return verb + " nothing"
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
