package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// eyes see every Deployment of a namespace, and when its pod template changes. Whoever has changed it, and however it
// is marked, that is a rollout.
type eyes struct {
	mu       sync.Mutex
	now      map[string]*appsv1.Deployment
	rollouts map[string][]time.Time // since begin, by name
	lost     error
	// stirred gets a value whenever something has changed. Only one waits at a time.
	stirred chan struct{}
}

// open begins to watch a namespace without Deployments, until the context ends.
func open(ctx context.Context, client kubernetes.Interface, namespace string) (*eyes, error) {
	api := client.AppsV1().Deployments(namespace)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return api.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return api.Watch(ctx, o)
		},
	}
	list, err := api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the Deployments of %s: %w", namespace, err)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, lw)
	if err != nil {
		return nil, fmt.Errorf("watch the Deployments of %s: %w", namespace, err)
	}
	e := &eyes{now: map[string]*appsv1.Deployment{}, rollouts: map[string][]time.Time{}, stirred: make(chan struct{}, 1)}
	go func() {
		for event := range watcher.ResultChan() {
			e.see(event, time.Now())
		}
		e.lose(errors.New("it has ended"))
	}()
	return e, nil
}

func (e *eyes) see(event watch.Event, at time.Time) {
	d, ok := event.Object.(*appsv1.Deployment)
	if !ok || event.Type == watch.Deleted {
		// Nothing here deletes a Deployment, and a gap in the watch is a rollout that may have been missed.
		e.lose(fmt.Errorf("an event of type %s came: %w", event.Type, apierrors.FromObject(event.Object)))
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	before, known := e.now[d.Name]
	if known && !equality.Semantic.DeepEqual(before.Spec.Template, d.Spec.Template) {
		e.rollouts[d.Name] = append(e.rollouts[d.Name], at)
	}
	e.now[d.Name] = d
	e.stir()
}

func (e *eyes) lose(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost == nil {
		e.lost = fmt.Errorf("the watch of the Deployments does not tell all: %w", err)
	}
	e.stir()
}

func (e *eyes) stir() {
	select {
	case e.stirred <- struct{}{}:
	default:
	}
}

// patience is far beyond what anything takes that is awaited here, also on a busy machine. What is missed never comes.
const patience = 5 * time.Minute

// await waits until what is seen is as it should be. It may be called by one at a time.
func (e *eyes) await(ctx context.Context, what string, done func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("that did not happen within %s", patience))
	defer cancel()
	for {
		e.mu.Lock()
		reached, lost := done(), e.lost
		e.mu.Unlock()
		switch {
		case lost != nil:
			return lost
		case reached:
			return nil
		}
		select {
		case <-e.stirred:
		case <-ctx.Done():
			return fmt.Errorf("awaiting %s: %w", what, context.Cause(ctx))
		}
	}
}

// begin forgets the rollouts that were seen so far.
func (e *eyes) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.rollouts)
}

// awaitRollouts waits until so many Deployments have rolled since begin.
func (e *eyes) awaitRollouts(ctx context.Context, workloads int) error {
	what := fmt.Sprintf("%d workloads to roll", workloads)
	err := e.await(ctx, what, func() bool { return len(e.rollouts) >= workloads })
	if err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		return fmt.Errorf("%w; %d have", err, len(e.rollouts))
	}
	return nil
}

// awaitObserved waits until the Deployment controller has acted on the newest version of some Deployments, or of all.
func (e *eyes) awaitObserved(ctx context.Context, names ...string) error {
	return e.await(ctx, "the Deployment controller", func() bool {
		if len(names) == 0 {
			for _, d := range e.now {
				if d.Status.ObservedGeneration < d.Generation {
					return false
				}
			}
			return true
		}
		for _, name := range names {
			if d := e.now[name]; d.Status.ObservedGeneration < d.Generation {
				return false
			}
		}
		return true
	})
}

// seen are the rollouts since begin.
type seen struct {
	first, last time.Time
	rollouts    int
	workloads   int // that have rolled
}

func (e *eyes) seen() seen {
	e.mu.Lock()
	defer e.mu.Unlock()
	var s seen
	for _, times := range e.rollouts {
		s.workloads++
		s.rollouts += len(times)
		// A workload that rolls again has had its change at the first time; that it did is told by the count.
		at := times[0]
		if s.first.IsZero() || at.Before(s.first) {
			s.first = at
		}
		if at.After(s.last) {
			s.last = at
		}
	}
	return s
}

// deployment is the newest version that was seen. It is not to be changed.
func (e *eyes) deployment(name string) (*appsv1.Deployment, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	d, ok := e.now[name]
	if !ok {
		return nil, fmt.Errorf("no Deployment %s was seen", name)
	}
	return d, nil
}
