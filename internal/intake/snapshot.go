package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// silence is how long an initial stream may send nothing. After that, the server counts as one
	// that ignores unknown options and never sends the end mark.
	silence = 60 * time.Second
	// upgrade is when streaming is tried again with a server that did not support it.
	upgrade = time.Hour
	// mostCuts is how many initial streams in a row may break before pages are tried: a proxy may
	// break streams but pass pages.
	mostCuts = 3
	// mostRefusals is how often a server may not know a version yet. The server waits 3 s for the
	// version each time, so one that merely lags has caught up by then.
	mostRefusals = 3
)

// errNoStream means that the server is older than streaming lists.
var errNoStream = errors.New("the API server does not stream the initial state")

// snapshot puts all objects, and returns the watch that continues after it; nil after pages.
func (f *Feed) snapshot(ctx context.Context) (*stream, error) {
	now := f.Clock.Now()
	if now.Before(f.pagesUntil) || f.cuts >= mostCuts {
		return nil, f.byPages(ctx)
	}
	s, err := f.byStream(ctx)
	if errors.Is(err, errNoStream) {
		f.pagesUntil = now.Add(upgrade)
		return nil, f.byPages(ctx)
	}
	return s, err
}

// byStream asks for the state as the first events of a watch. Without a version, that is a
// consistent read: the server asks its storage for the newest version and waits until it has it.
// With one, it may be as old as that version, which costs the storage nothing, and as all later
// changes follow on the same watch, nothing is lost by it.
func (f *Feed) byStream(ctx context.Context) (*stream, error) {
	yes := true
	s, err := f.open(ctx, metav1.ListOptions{
		ResourceVersion:      f.last,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents:    &yes,
		AllowWatchBookmarks:  true,
	})
	// 422 is the response of a server that knows these options and does not allow them together. If
	// the version is invalid, pages are right as well: they are requested without one.
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return nil, errNoStream
	}
	if err != nil {
		f.refused(err)
		return nil, fmt.Errorf("open the initial stream: %w", err)
	}
	seen := map[types.NamespacedName]struct{}{}
	version, err := f.initialEvents(ctx, s, seen)
	if err == nil {
		err = f.complete(seen, version)
	}
	if err != nil {
		s.Stop()
		if !f.refused(err) {
			f.cuts++
		}
		return nil, err
	}
	return s, nil
}

// initialEvents puts objects up to the end mark, and returns its version.
func (f *Feed) initialEvents(ctx context.Context, s *stream, seen map[types.NamespacedName]struct{}) (string, error) {
	quiet := f.Clock.NewTimer(silence)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-quiet.C():
			return "", errNoStream
		case event, ok := <-s.ResultChan():
			if !ok {
				return "", fmt.Errorf("the initial stream was cut after %d objects", len(seen))
			}
			m, err := f.take(event, false)
			if err != nil {
				return "", fmt.Errorf("read the initial stream: %w", err)
			}
			switch name := nameOf(m); event.Type {
			case watch.Deleted:
				delete(seen, name)
			case watch.Bookmark:
				if m.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
					// Where the state is streamed, no other bookmark comes before the mark. A
					// server that ignores the request sends one every minute, and if its objects
					// change all the time it is never silent.
					return "", errNoStream
				}
				return m.GetResourceVersion(), nil
			default:
				seen[name] = struct{}{}
			}
			f.raise(m.GetResourceVersion())
			quiet.Reset(silence)
		}
	}
}

// complete ends a snapshot. Its version is taken as it is, also if it is lower than the last: then
// the storage was restored, and what it holds now is all there is.
func (f *Feed) complete(seen map[types.NamespacedName]struct{}, version string) error {
	if version == "" || version == "0" {
		return errors.New("the snapshot has no resourceVersion from which to watch")
	}
	f.Handler.SnapshotComplete(seen, version)
	f.last, f.refusals, f.cuts = version, 0, 0
	return nil
}

// raise keeps the last version up with what an unfinished snapshot puts: should it break off, the
// next one may come from another server and must not be older. Before the first is complete there
// is nothing to raise, because one without a version is never older than anything.
func (f *Feed) raise(version string) {
	if f.last == "" {
		return
	}
	if order, err := resourceversion.CompareResourceVersion(version, f.last); err == nil && order > 0 {
		f.last = version
	}
}

// refused records that the server cannot give a snapshot that is as new as the last version, and
// reports whether the error means that. A version that stays unknown belongs to an earlier state of
// the storage: a backup was restored.
func (f *Feed) refused(err error) bool {
	if f.last == "" || !outOfReach(err) {
		return false
	}
	f.refusals++
	if f.refusals >= mostRefusals || !tooLarge(err) {
		f.last, f.refusals = "", 0
	}
	return true
}

func nameOf(m metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}
}
