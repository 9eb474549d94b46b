// Package intake lists and watches one resource, and hands over its objects one at a time. It keeps
// no object, so the memory that it needs depends on the largest object and not on their number.
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

// Opener sends the LIST and WATCH requests for one resource. It does not retry; the Feed does.
type Opener interface {
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
}

// Handler receives the objects. Only one goroutine calls it.
type Handler interface {
	// Put receives an object that is new or may differ. Change is Modified for a MODIFIED event of
	// a watch, and Added otherwise, because an object in a snapshot may have existed before.
	// Live is true for an event of a watch without a gap since a complete snapshot, or since the
	// version at which the previous watch ended. The object then changed in its own resource
	// version, and until then it was as the previous Put or Delete said.
	// Live is false for an object in a snapshot, because neither the time nor the number of its
	// changes is known. The same holds for an object that changes before the snapshot is complete:
	// until the end mark, the server does not separate initial objects from changes, and earlier
	// knowledge of the object may be from before a gap. Such a change proves no order, which is
	// always safe.
	Put(change watch.EventType, obj runtime.Object, live bool)
	// Delete receives the last state of an object that was deleted, or that the selector no longer
	// matches.
	Delete(obj runtime.Object)
	// SnapshotComplete reports that all objects of a complete snapshot were put, so that no others
	// exist at its version. Objects from a snapshot that failed halfway stay valid, but prove no
	// absence.
	SnapshotComplete(names map[types.NamespacedName]struct{}, version string)
}

// Feed keeps a Handler up to date with one resource, in one namespace or in all.
type Feed struct {
	Open    Opener
	Handler Handler
	Clock   clock.Clock
	// Failed reports a failure before it is retried, and each failure once until a watch works
	// again. May be nil.
	Failed func(error)
	// Ignore reports whether a failure does not have to be reported, at least for now. It is called
	// for each failure. May be nil.
	Ignore func(error) bool

	// last is the newest version that was handed over. It is empty until the first snapshot is
	// complete, and again after the API server has returned to an earlier version.
	last string
	// refusals counts how often in a row the server did not know the last version yet.
	refusals int
	// cuts counts how many initial streams in a row began and did not complete.
	cuts int
	// pagesUntil is when streaming is tried again with a server that did not support it, because it
	// may have been upgraded.
	pagesUntil time.Time

	// tries grows with failures, renewals with snapshots from which no watch could continue. They
	// are separate because a complete snapshot ends the first kind of failure and may be the
	// second.
	tries, renewals  backoff
	reportedFailures reportedFailures
}

// Run returns when the context ends. All goroutines that it started have ended by then.
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

// pause reports the failure, if there is one to report, and waits before the next try.
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

// worked resets the delays after any event of a watch, and after a watch that stayed open. A
// complete snapshot does not reset them: if the server always rejects its version, snapshots become
// ever rarer.
func (f *Feed) worked() {
	f.tries.reset()
	f.renewals.reset()
	f.reportedFailures.forget()
}
