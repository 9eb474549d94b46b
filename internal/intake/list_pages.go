package intake

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// A page is held whole, and twice while it is decoded. A Secret may have 1 MiB, so a number of
// objects bounds little: a hundred of the largest take more memory than many a pod is given.
const (
	pageBytes = 4 << 20
	firstPage = 20
	// mostPerPage is for the large ones that come after many small ones.
	mostPerPage = 100
	// pageTimeout is in seconds.
	pageTimeout = 60
)

// byPages lists, and only a list without a version: it is a consistent read on every server, so it
// is never older than what was seen. A page that the server can no longer continue fails the whole:
// half a snapshot proves no absence.
func (f *Feed) byPages(ctx context.Context) error {
	seen := map[types.NamespacedName]struct{}{}
	opts := metav1.ListOptions{Limit: firstPage}
	for {
		page, list, err := f.list(ctx, opts)
		if err != nil {
			return err
		}
		err = meta.EachListItem(page, func(obj runtime.Object) error {
			m, err := meta.Accessor(obj)
			if err != nil {
				return err
			}
			seen[nameOf(m)] = struct{}{}
			f.Handler.Put(watch.Added, obj, false)
			f.raise(m.GetResourceVersion())
			return nil
		})
		if err != nil {
			return fmt.Errorf("read an object of the list: %w", err)
		}
		if opts.Continue = list.GetContinue(); opts.Continue == "" {
			return f.complete(seen, list.GetResourceVersion())
		}
		opts.Limit = nextPage(page, opts.Limit)
	}
}

// nextPage is how many objects to ask for, after a page that had as many as it could.
func nextPage(page runtime.Object, limit int64) int64 {
	size := int64(pageBytes)
	// The condition is true for all types that are sent as protobuf.
	if sized, ok := page.(interface{ Size() int }); ok {
		size = max(1, int64(sized.Size()))
	}
	return max(1, min(limit*pageBytes/size, 2*limit, mostPerPage))
}

func (f *Feed) list(ctx context.Context, opts metav1.ListOptions) (runtime.Object, metav1.ListInterface, error) {
	seconds := int64(pageTimeout)
	opts.TimeoutSeconds = &seconds
	page, err := f.Open.List(ctx, opts)
	if err != nil {
		return nil, nil, fmt.Errorf("read a page of the list: %w", err)
	}
	list, err := meta.ListAccessor(page)
	if err != nil {
		return nil, nil, fmt.Errorf("read a page of the list: %w", err)
	}
	return page, list, nil
}
