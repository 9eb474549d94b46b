package inspect

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/intake"
)

// together is the time to wait after a change for further ones, because a rollout makes dozens of
// changes.
const together = 300 * time.Millisecond

// again is the time after which the cluster is read again without a change, because a workload that
// is waiting now may be out of date later.
const again = 15 * time.Second

const errHalf = unusable("not everything could be read in that time")

// follower updates objects from watches.
type follower struct {
	mu      sync.RWMutex
	objects *Objects
	changed chan struct{}
	// left is how many of the watches have not brought all of their objects, and running are the
	// watches.
	left    atomic.Int32
	running sync.WaitGroup
}

// Follow calls check with the current objects, and again after each change, until check is done or
// the context ends. It does not watch Pods, because the status of the workload shows the progress
// of a rollout.
func (c *Cluster) Follow(ctx context.Context, s *Settings, ns string, clk clock.Clock, check func(*Objects) (done bool, err error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	f := &follower{objects: NewObjects(s), changed: make(chan struct{}, 1)}
	f.objects.scope = ns
	defer f.running.Wait()
	defer cancel(nil)
	read := clk.Now()
	if err := c.start(ctx, cancel, s, ns, clk, f); err != nil {
		return err
	}
	f.mu.Lock()
	err := c.addForeign(ctx, f.objects)
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.attend(ctx, clk, func(o *Objects) (bool, error) {
		// Not all users may watch namespaces, and their annotations rarely change.
		if clk.Since(read) >= again {
			c.readNamespaces(ctx, s, o, ns)
			if err := c.addForeign(ctx, o); err != nil {
				return false, err
			}
			read = clk.Now()
		}
		if err := c.exists(ctx, o, ns); err != nil {
			return false, err
		}
		s.hear(ctx, c.Interface)
		return check(o)
	})
}

// start starts the watches, and returns when each has brought all of its objects or may not be read.
// cancel ends them if the user is not known to the API server any more.
func (c *Cluster) start(ctx context.Context, cancel context.CancelCauseFunc, s *Settings, ns string, clk clock.Clock, f *follower) error {
	c.readNamespaces(ctx, s, f.objects, ns)
	var whole sync.WaitGroup
	for _, watched := range c.served(ctx, s.Resources(ns)) {
		own, end := context.WithCancel(ctx)
		whole.Add(1)
		f.left.Add(1)
		done := sync.OnceFunc(whole.Done)
		seen := sync.OnceFunc(func() { f.left.Add(-1); done() })
		feed := &intake.Feed{
			Open: c.Open(watched), Clock: clk, Handler: &handler{f, watched.String(), seen},
			Failed: func(err error) {
				switch {
				case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
					f.mu.Lock()
					_ = f.objects.noted(watched, err) // for these two errors, noted returns nil
					f.mu.Unlock()
					seen()
					end()
				case apierrors.IsUnauthorized(err):
					cancel(err)
				}
			},
		}
		f.running.Go(func() {
			defer end()
			defer done()
			feed.Run(own)
		})
	}
	whole.Wait()
	if f.left.Load() > 0 {
		// Some of the objects must not be taken for all objects.
		if err := ended(ctx); err != nil {
			return err
		}
		return errHalf
	}
	return nil
}

func (f *follower) attend(ctx context.Context, clk clock.Clock, check func(*Objects) (bool, error)) error {
	for {
		f.mu.Lock()
		done, err := check(f.objects)
		f.mu.Unlock()
		if err != nil || done {
			return err
		}
		pause := clk.NewTimer(again)
		select {
		case <-f.changed:
			pause.Stop()
			pause = clk.NewTimer(together)
			select {
			case <-pause.C():
			case <-ctx.Done():
			}
		case <-pause.C():
		case <-ctx.Done():
		}
		pause.Stop()
		if ctx.Err() != nil {
			return ended(ctx)
		}
	}
}

// ended returns nil if the time is over or the user interrupted the command.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return nil
}

// handler receives the objects of one watch.
type handler struct {
	*follower
	resource string
	seen     func()
}

// Put adds an object that is new or has changed.
func (h *handler) Put(_ watch.EventType, obj runtime.Object, _ bool) {
	h.note(func() { h.objects.Put(obj) })
}

// Delete removes a deleted object.
func (h *handler) Delete(obj runtime.Object) {
	named, ok := obj.(interface {
		GetNamespace() string
		GetName() string
	})
	if ok {
		h.note(func() {
			h.objects.Delete(h.resource, types.NamespacedName{Namespace: named.GetNamespace(), Name: named.GetName()})
		})
	}
}

// SnapshotComplete removes objects that no longer exist.
func (h *handler) SnapshotComplete(named map[types.NamespacedName]struct{}, _ string) {
	h.note(func() { h.objects.Keep(h.resource, named) })
	h.seen()
}

func (h *handler) note(change func()) {
	h.mu.Lock()
	change()
	h.mu.Unlock()
	select {
	case h.changed <- struct{}{}:
	default:
	}
}
