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
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// shortest and twice as much are the bounds between which the server is asked to end a watch.
	shortest = 5 * time.Minute
	// watchTimeout is how long the server may take to accept a watch.
	watchTimeout = time.Minute
	// slack is the tolerance for the time at which the server ends a watch.
	slack = 10 * time.Second
)

// stream is an open watch.
type stream struct {
	watch.Interface
	began  time.Time
	lasts  time.Duration
	cancel context.CancelFunc
}

// Stop ends the watch. It may be called after the watch has ended.
func (s *stream) Stop() {
	s.Interface.Stop()
	s.cancel()
}

// open starts a watch. A watch has no timeout of its own, so a server that accepts the request and
// never responds would block it for ever.
func (f *Feed) open(ctx context.Context, opts metav1.ListOptions) (*stream, error) {
	// Random, so that many watches that began together do not end together.
	s := &stream{lasts: (shortest + rand.N(shortest)).Truncate(time.Second)} //nolint:gosec // no secret
	seconds := int64(s.lasts / time.Second)
	opts.TimeoutSeconds = &seconds

	ctx, s.cancel = context.WithCancel(ctx)
	answered := make(chan error, 1)
	go func() {
		var err error
		s.Interface, err = f.Open.Watch(ctx, opts)
		answered <- err
	}()
	late := f.Clock.NewTimer(watchTimeout)
	defer late.Stop()
	var err error
	select {
	case err = <-answered:
		if err == nil {
			s.began = f.Clock.Now()
			return s, nil
		}
		s.cancel()
		return nil, err
	case <-late.C():
		err = fmt.Errorf("no response within %s", watchTimeout)
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.cancel()
	if <-answered == nil {
		s.Stop()
	}
	return nil, err
}

// take hands over one event and returns the object's metadata.
func (f *Feed) take(event watch.Event, live bool) (metav1.Object, error) {
	if event.Type == watch.Error {
		return nil, fmt.Errorf("the server closed the watch: %w", failureOf(event.Object))
	}
	m, err := meta.Accessor(event.Object)
	if err != nil {
		return nil, fmt.Errorf("read a watch event of type %q: %w", event.Type, err)
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		f.Handler.Put(event.Type, event.Object, live)
	case watch.Deleted:
		f.Handler.Delete(event.Object)
	case watch.Bookmark: // contains only a version
	default:
		return nil, fmt.Errorf("read a watch event: its type %q is unknown", event.Type)
	}
	return m, nil
}

// failureOf returns the error in an error event. If the event contains an object, only its type is
// named, because an error of the client would print the whole object.
func failureOf(obj runtime.Object) error {
	err := apierrors.FromObject(obj)
	if unexpected := (*apierrors.UnexpectedObjectError)(nil); errors.As(err, &unexpected) {
		return fmt.Errorf("an error event that holds a %T", obj)
	}
	return err
}
