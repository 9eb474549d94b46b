package harness

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// change is one version of an object, as a list or a watch delivers it.
type change struct {
	object  metav1.Object
	version uint64
	deleted bool
	// baseline: the object was there before the watch began, and what led to it was not seen.
	baseline bool
}

// follow delivers what is there and then every change of it, in the order of the API server and
// without a gap: a watch that breaks goes on from the version where it broke. If that version is
// gone, lost is told, once, and nothing is delivered any more, because a list taken instead would
// hide what had happened in between.
func follow(ctx context.Context, lw *cache.ListWatch, deliver func(change) error, lost func(error)) error {
	list, err := lw.ListWithContext(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	from, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := deliverObject(item, change{baseline: true}, deliver); err != nil {
			return err
		}
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, from.GetResourceVersion(), lw)
	if err != nil {
		return err
	}
	go func() {
		for event := range watcher.ResultChan() {
			err := deliverEvent(event, deliver)
			if err != nil && ctx.Err() == nil {
				lost(err)
				watcher.Stop()
				return
			}
		}
		if ctx.Err() == nil {
			lost(errors.New("the watch has ended"))
		}
	}()
	return nil
}

func deliverEvent(event watch.Event, deliver func(change) error) error {
	switch event.Type {
	case watch.Added, watch.Modified:
		return deliverObject(event.Object, change{}, deliver)
	case watch.Deleted:
		return deliverObject(event.Object, change{deleted: true}, deliver)
	case watch.Error:
		return fmt.Errorf("the watch cannot go on without a gap: %w", apierrors.FromObject(event.Object))
	default:
		return fmt.Errorf("the watch delivers an event of the unknown type %q", event.Type)
	}
}

func deliverObject(item any, c change, deliver func(change) error) error {
	obj, err := meta.Accessor(item)
	if err != nil {
		return err
	}
	c.object = obj
	if c.version, err = version(obj); err != nil {
		return err
	}
	return deliver(c)
}

// version reads a resource version as the number it is: versions of all objects of a cluster can be
// compared.
func version(obj metav1.Object) (uint64, error) {
	v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the resource version of %s is no number: %w", obj.GetName(), err)
	}
	return v, nil
}
