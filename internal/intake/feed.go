// Package intake brings the objects of one resource from the API server, one at a time. Nothing is gathered: an object
// is handed over and forgotten, so the memory it takes follows the largest object and not the sum of all.
package intake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// Opener talks to the API server about one resource.
type Opener interface {
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
}

// Sink takes what arrives. It is called by one goroutine.
type Sink interface {
	Put(obj runtime.Object, live bool)
	Delete(obj runtime.Object)
	// Whole says that a complete snapshot has been put: what exists is what was named here, and nothing else.
	Whole(names map[types.NamespacedName]struct{})
}

// Feed keeps a Sink up to date with one resource, in one namespace or in all.
type Feed struct {
	Open  Opener
	Sink  Sink
	Clock clock.Clock
	// Failed is told what went wrong before it is tried again. May be nil.
	Failed func(error)

	// paged is set when the server has turned out not to stream its initial state.
	paged bool
}

const (
	pageSize = 500
	// silence is how long an initial stream may say nothing before it is taken for that of a server which ignores
	// what it does not know, and never sends the end mark.
	silence = 60 * time.Second

	firstDelay = 200 * time.Millisecond
	lastDelay  = 30 * time.Second
)

// Run returns when the context ends.
func (f *Feed) Run(ctx context.Context) {
	delay := firstDelay
	for ctx.Err() == nil {
		began := f.Clock.Now()
		err := f.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if f.Failed != nil && err != nil {
			f.Failed(err)
		}
		// What worked for a while is not what failed before.
		if f.Clock.Since(began) > lastDelay {
			delay = firstDelay
		}
		select {
		case <-ctx.Done():
		case <-f.Clock.After(delay + rand.N(delay)): //nolint:gosec // it only keeps many clients apart
		}
		delay = min(2*delay, lastDelay)
	}
}

// once takes a snapshot and follows the changes until the server can no longer tell them.
func (f *Feed) once(ctx context.Context) error {
	var (
		stream watch.Interface
		rv     string
		err    error
	)
	if f.paged {
		rv, err = f.snapshotByPages(ctx)
	} else {
		stream, rv, err = f.snapshotByStream(ctx)
		if errors.Is(err, errNoStream) {
			f.paged = true
			rv, err = f.snapshotByPages(ctx)
		}
	}
	if err != nil {
		return err
	}
	return f.follow(ctx, stream, rv)
}

// errNoStream means an older server.
var errNoStream = errors.New("the API server does not stream the initial state")

// snapshotByStream returns the watch that goes on after the initial state.
func (f *Feed) snapshotByStream(ctx context.Context) (watch.Interface, string, error) {
	yes := true
	stream, err := f.Open.Watch(ctx, metav1.ListOptions{
		SendInitialEvents:    &yes,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks:  true,
		TimeoutSeconds:       watchTimeout(),
	})
	if apierrors.IsInvalid(err) {
		return nil, "", errNoStream
	}
	if err != nil {
		return nil, "", fmt.Errorf("open the initial stream: %w", err)
	}
	rv, err := f.initialEvents(ctx, stream)
	if err != nil {
		stream.Stop()
		return nil, "", err
	}
	return stream, rv, nil
}

func (f *Feed) initialEvents(ctx context.Context, stream watch.Interface) (string, error) {
	seen := map[types.NamespacedName]struct{}{}
	quiet := f.Clock.NewTimer(silence)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-quiet.C():
			return "", errNoStream
		case event, ok := <-stream.ResultChan():
			if !ok {
				return "", errors.New("the initial stream was cut")
			}
			if !quiet.Stop() {
				select {
				case <-quiet.C():
				default:
				}
			}
			quiet.Reset(silence)
			m, err := f.take(event, false)
			if err != nil {
				return "", err
			}
			name := types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}
			switch event.Type {
			case watch.Added, watch.Modified:
				seen[name] = struct{}{}
			case watch.Deleted:
				delete(seen, name)
			case watch.Bookmark:
				if m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
					f.Sink.Whole(seen)
					return m.GetResourceVersion(), nil
				}
			}
		}
	}
}

// snapshotByPages lists. A page that the server can no longer continue fails the whole: half a snapshot proves no
// absence.
func (f *Feed) snapshotByPages(ctx context.Context) (string, error) {
	seen := map[types.NamespacedName]struct{}{}
	opts := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := f.Open.List(ctx, opts)
		if err != nil {
			return "", fmt.Errorf("list: %w", err)
		}
		list, err := meta.ListAccessor(page)
		if err != nil {
			return "", fmt.Errorf("read a page of the list: %w", err)
		}
		err = meta.EachListItem(page, func(obj runtime.Object) error {
			m, err := meta.Accessor(obj)
			if err != nil {
				return err
			}
			seen[types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}] = struct{}{}
			f.Sink.Put(obj, false)
			return nil
		})
		if err != nil {
			return "", fmt.Errorf("read an object of the list: %w", err)
		}
		if opts.Continue = list.GetContinue(); opts.Continue == "" {
			f.Sink.Whole(seen)
			return list.GetResourceVersion(), nil
		}
	}
}

// follow hands over changes from a version on, and opens a new watch where one ends. It returns when a snapshot is
// needed.
func (f *Feed) follow(ctx context.Context, stream watch.Interface, rv string) error {
	for {
		if stream == nil {
			var err error
			stream, err = f.Open.Watch(ctx, metav1.ListOptions{
				ResourceVersion: rv, AllowWatchBookmarks: true, TimeoutSeconds: watchTimeout(),
			})
			if err != nil {
				return fmt.Errorf("watch from version %s: %w", rv, err)
			}
		}
		before := rv
		err := f.drain(ctx, stream, &rv)
		stream.Stop()
		if err != nil || ctx.Err() != nil {
			return err
		}
		if rv == before {
			// A watch that ends without a word, again and again, must not become a loop without a pause.
			return errors.New("the watch ended without an event")
		}
		stream = nil
	}
}

func (f *Feed) drain(ctx context.Context, stream watch.Interface, rv *string) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, ok := <-stream.ResultChan():
			if !ok {
				return nil
			}
			m, err := f.take(event, true)
			if err != nil {
				return err
			}
			*rv = m.GetResourceVersion()
		}
	}
}

// take hands one event over and returns the object's metadata.
func (f *Feed) take(event watch.Event, live bool) (metav1.Object, error) {
	if event.Type == watch.Error {
		return nil, fmt.Errorf("the watch failed: %w", apierrors.FromObject(event.Object))
	}
	m, err := meta.Accessor(event.Object)
	if err != nil {
		return nil, fmt.Errorf("read a watch event of type %q: %w", event.Type, err)
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		f.Sink.Put(event.Object, live)
	case watch.Deleted:
		f.Sink.Delete(event.Object)
	}
	return m, nil
}

// watchTimeout is drawn at random, so that many watches that began together do not end together.
func watchTimeout() *int64 {
	const least = 5 * 60
	seconds := least + rand.Int64N(least) //nolint:gosec // as above
	return &seconds
}
