// Package intake brings the objects of one resource from the API server, one at a time. Nothing is gathered: an object
// is handed over and forgotten, so the memory it takes follows the largest object and not the sum of all.
package intake

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// Opener talks to the API server about one resource. It tries nothing twice: when and how often is up to the Feed.
type Opener interface {
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
}

// Sink takes what arrives. It is called by one goroutine.
type Sink interface {
	// Put takes an object that is new or may differ. Change is Modified where a watch calls it that, and Added for all else:
	// what stands in a snapshot may have been known before.
	//
	// Live is true for an event of a watch that goes on without a gap from a complete snapshot, or from the version at
	// which the watch before it ended. Such an object became what it is in its own resource version, and whatever was
	// handed over of it before is what it was until then.
	//
	// Live is false for how an object stands in a snapshot: since when is unknown, and how often it changed before. This
	// holds for everything that comes before the end of a snapshot, also for an object that changes meanwhile: until
	// the end mark, a server does not tell what is initial from what has just happened, and what was known of an object
	// may be from before a gap. That one change is then not proof of an order, which is always safe.
	Put(change watch.EventType, obj runtime.Object, live bool)
	// Delete receives the last state of an object that was deleted, or is no longer selected.
	Delete(obj runtime.Object)
	// Whole reports that a complete snapshot has been put: exactly the objects in it exist. Objects from a snapshot
	// that failed half way stay valid, but prove no absence.
	SnapshotComplete(names map[types.NamespacedName]struct{})
}

// Feed keeps a Sink up to date with one resource, in one namespace or in all.
type Feed struct {
	Open  Opener
	Sink  Sink
	Clock clock.Clock
	// Failed reports a failure before it is retried, each failure once until something works. May be nil.
	Failed func(error)
	// Overlook reports whether a failure is not worth telling, now at least. It is asked each time. May be nil.
	Ignore func(error) bool

	// last is the newest version that was handed over. It is empty until the first snapshot is complete, and again
	// when the API server turns out to have gone back behind it.
	last string
	// refusals counts how often in a row the server did not know the last version yet.
	refusals int
	// cuts counts how many initial streams in a row began and did not reach their end.
	cuts int
	// pagesUntil is when a server that did not stream its initial state may do so, because it was upgraded.
	pagesUntil time.Time

	// tries grows with failures, renewals with snapshots that turned out to be of no use. They are apart because a
	// snapshot that is complete ends the first kind of trouble and may be the second.
	tries, renewals  backoff
	reportedFailures reportedFailures
}

// Run returns when the context ends, and nothing that it began continues then.
func (f *Feed) Run(ctx context.Context) {
	for ctx.Err() == nil {
		s, err := f.snapshot(ctx)
		if err != nil {
			f.pause(ctx, &f.tries, err)
			continue
		}
		f.tries.reset()
		err = f.follow(ctx, s)
		f.pause(ctx, &f.renewals, err)
	}
}

// pause waits before the next try. It reports the failure before, unless there is nothing to
// report.
func (f *Feed) pause(ctx context.Context, b *backoff, err error) {
	if ctx.Err() != nil {
		return
	}
	if err != nil && f.Failed != nil && !f.ignored(err) && f.reportedFailures.first(err) {
		f.Failed(err)
	}
	wait := f.Clock.NewTimer(max(b.next(), demanded(err)))
	defer wait.Stop()
	select {
	case <-ctx.Done():
	case <-wait.C():
	}
}

func (f *Feed) ignored(err error) bool { return f.Ignore != nil && f.Ignore(err) }

// worked is called for everything that a watch brings after a snapshot, and for one that stays open. A complete
// snapshot is not enough: if its version is always refused, it is taken ever more rarely.
func (f *Feed) worked() {
	f.tries.reset()
	f.renewals.reset()
	f.reportedFailures.forget()
}
