package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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

	"github.com/reroll-dev/reroll/internal/annotations"
)

// eyes see every Deployment of a namespace, and when its pod template changes. Whoever has changed
// it, and however it is marked, that is a rollout.
type eyes struct {
	mu       sync.Mutex
	now      map[string]*appsv1.Deployment
	rollouts map[string][]rollout // since begin, by name
	noted    int                  // since begin: ledgers that changed while the pod template did not
	lost     error
	// stirred gets a value whenever something has changed. Only one waits at a time.
	stirred chan struct{}
}

// rollout is another pod template.
type rollout struct {
	at      time.Time // when it was seen
	version uint64    // of the Deployment that first had it
}

// open begins to watch the Deployments of a part, of which there are none yet, until the context
// ends.
func open(ctx context.Context, client kubernetes.Interface, of string) (*eyes, error) {
	api := client.AppsV1().Deployments(metav1.NamespaceAll)
	selected := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = part + "=" + of
		return o
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return api.List(ctx, selected(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return api.Watch(ctx, selected(o))
		},
	}
	list, err := api.List(ctx, selected(metav1.ListOptions{}))
	if err != nil {
		return nil, fmt.Errorf("list the Deployments of %s: %w", of, err)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, lw)
	if err != nil {
		return nil, fmt.Errorf("watch the Deployments of %s: %w", of, err)
	}
	e := &eyes{now: map[string]*appsv1.Deployment{}, rollouts: map[string][]rollout{}, stirred: make(chan struct{}, 1)}
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
		// Nothing here deletes a Deployment, and a gap in the watch is a rollout that may have been
		// missed.
		e.lose(fmt.Errorf("an event of type %s came: %w", event.Type, apierrors.FromObject(event.Object)))
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	before, known := e.now[d.Name]
	switch {
	case !known:
	case !equality.Semantic.DeepEqual(before.Spec.Template, d.Spec.Template):
		version, _ := strconv.ParseUint(d.ResourceVersion, 10, 64) // one that is no number is older than all
		e.rollouts[d.Name] = append(e.rollouts[d.Name], rollout{at: at, version: version})
	case before.Annotations[annotations.Ledger] != d.Annotations[annotations.Ledger]:
		e.noted++
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

// patience is far beyond what anything takes that is awaited here, also on a busy machine. What is
// missed never comes.
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
	e.noted = 0
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

// awaitUnlessStill waits until so many Deployments have rolled, or none has for a while.
func (e *eyes) awaitUnlessStill(ctx context.Context, workloads int, still time.Duration) error {
	for {
		e.mu.Lock()
		before := len(e.rollouts)
		e.mu.Unlock()
		if before >= workloads {
			return nil
		}
		bounded, cancel := context.WithTimeout(ctx, still)
		err := e.awaitRollouts(bounded, before+1)
		cancel()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && errors.Is(err, context.DeadlineExceeded):
			return nil
		case err != nil:
			return err
		}
	}
}

// awaitObserved waits until the Deployment controller has acted on the newest version of some
// Deployments, or of all.
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

// first is when a Deployment first rolled since begin, if it has.
func (e *eyes) first(name string) (at time.Time, rolled bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if times := e.rollouts[name]; len(times) > 0 {
		return times[0].at, true
	}
	return time.Time{}, false
}

// times is how often a Deployment has rolled since begin.
func (e *eyes) times(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.rollouts[name])
}

// unpaused is how many Deployments there are that Kubernetes makes ReplicaSets of.
func (e *eyes) unpaused() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, d := range e.now {
		if !d.Spec.Paused {
			n++
		}
	}
	return n
}

// awaitNewer waits until each of these Deployments has got another pod template after a version:
// its pods, which start later, have the content of then. It returns when each was seen to.
func (e *eyes) awaitNewer(ctx context.Context, versions map[string]uint64) (map[string]time.Time, error) {
	newer := map[string]time.Time{}
	err := e.await(ctx, fmt.Sprintf("the last content to be with all of %d workloads", len(versions)), func() bool {
		for name, version := range versions {
			if _, known := newer[name]; known {
				continue
			}
			for _, r := range e.rollouts[name] {
				if r.version > version {
					newer[name] = r.at
					break
				}
			}
		}
		return len(newer) == len(versions)
	})
	if err != nil {
		err = fmt.Errorf("%w; %d have it", err, len(newer))
	}
	return newer, err
}

// since returns for each workload that has rolled since begin how long after a moment it first did.
// One without a moment is left out: it had no reason to.
func (e *eyes) since(moment func(name string) time.Time) []time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	took := make([]time.Duration, 0, len(e.rollouts))
	for name, times := range e.rollouts {
		if from := moment(name); !from.IsZero() {
			took = append(took, times[0].at.Sub(from))
		}
	}
	return took
}

// mostWithin is how many rollouts one workload had at most in so long a time.
func (e *eyes) mostWithin(long time.Duration) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	most := 0
	for _, times := range e.rollouts {
		from := 0
		for i := range times {
			for times[i].at.Sub(times[from].at) >= long {
				from++
			}
			most = max(most, i-from+1)
		}
	}
	return most
}

// seen are the rollouts since begin.
type seen struct {
	first, last time.Time
	rollouts    int
	workloads   int // that have rolled
	noted       int
}

func (e *eyes) seen() seen {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := seen{noted: e.noted}
	for _, times := range e.rollouts {
		s.workloads++
		s.rollouts += len(times)
		if at := times[0].at; s.first.IsZero() || at.Before(s.first) {
			s.first = at
		}
		if at := times[len(times)-1].at; at.After(s.last) {
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
