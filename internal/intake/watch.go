package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

const (
	// worksAfter is how long a watch without events has to stay open to count as working.
	worksAfter = 30 * time.Second
	// mostErrors is how often in a row a watch from one version may be accepted and then fail. An
	// event that cannot be decoded would return each time; a snapshot skips it.
	mostErrors = 5
)

var errWentBack = errors.New("the resourceVersions of the API server went back: its storage was restored from a backup")

// follow hands over changes, and opens a new watch from the last version when one ends. It returns
// when only a snapshot can show the missed changes.
//
// A failure to open the watch does not require a snapshot: nothing was missed, because the server
// sends the changes later.
func (f *Feed) follow(ctx context.Context, s *stream) error {
	var (
		broken bool // the last watch ended before its time
		errs   int
	)
	for ctx.Err() == nil {
		if s == nil {
			var err error
			if s, err = f.resume(ctx, broken); err != nil {
				if outOfReach(err) {
					return err
				}
				broken = true
				f.pause(ctx, &f.tries, err)
				continue
			}
		}
		received, err := f.drain(ctx, s)
		s.Stop()
		open := f.Clock.Since(s.began)
		broken = err != nil || open < s.lasts-slack
		s = nil
		if received || open >= worksAfter {
			f.worked()
			errs = 0
		}
		switch {
		case outOfReach(err):
			return err
		case err != nil:
			if errs++; errs >= mostErrors {
				return fmt.Errorf("the watch from version %s fails each time: %w", f.last, err)
			}
		case !broken:
			continue
		case !received && open < worksAfter:
			// The client returns an empty watch for some broken connections, without an error.
			err = fmt.Errorf("the watch ended after %s, without an event", open.Round(time.Millisecond))
		}
		f.pause(ctx, &f.tries, err)
	}
	return ctx.Err()
}

// resume opens a watch from the last version.
func (f *Feed) resume(ctx context.Context, broken bool) (*stream, error) {
	if broken {
		if err := f.wentBack(ctx); err != nil {
			return nil, err
		}
	}
	s, err := f.open(ctx, metav1.ListOptions{ResourceVersion: f.last, AllowWatchBookmarks: true})
	if err != nil {
		return nil, fmt.Errorf("watch from version %s: %w", f.last, err)
	}
	return s, nil
}

// wentBack returns an error if the newest version of the server is older than the last version. The
// server accepts a watch from such a version and silently skips all changes up to it. Restoring a
// storage ends all watches, so the check is not needed after a watch that reached its time.
//
// The check fails to notice if the new history has already overtaken the old version, which takes
// as many writes in seconds as the backup lacks.
func (f *Feed) wentBack(ctx context.Context) error {
	_, list, err := f.list(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("get the latest resourceVersion: %w", err)
	}
	order, err := resourceversion.CompareResourceVersion(list.GetResourceVersion(), f.last)
	if err == nil && order < 0 { // versions that are no numbers have no order to check
		f.last = ""
		return errWentBack
	}
	return nil
}

// drain hands over the events of a watch until it ends, and reports whether there were any.
func (f *Feed) drain(ctx context.Context, s *stream) (received bool, err error) {
	overdue := f.Clock.NewTimer(s.lasts + slack - f.Clock.Since(s.began))
	defer overdue.Stop()
	for {
		select {
		case <-ctx.Done():
			return received, ctx.Err()
		case <-overdue.C():
			return received, errors.New("the watch was not ended by the server when its time was up: the connection is dead")
		case event, ok := <-s.ResultChan():
			if !ok {
				return received, nil
			}
			m, err := f.take(event, true)
			if err != nil {
				return received, err
			}
			if version := m.GetResourceVersion(); version != "" {
				f.last = version
			}
			received = true
			f.worked()
		}
	}
}
