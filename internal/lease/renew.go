package lease

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lostError means that the lease is certainly no longer held here.
type lostError struct{ error }

// keep renews the lease until Release, or until the lease is lost. It continues after the end of
// the given context, because the last writes need the lease.
func (h *Holder) keep(ctx context.Context) {
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(h.stopped)
		if why := h.renewals(ctx); why != nil {
			h.lose(why)
		}
	}()
}

// renewals renews the lease. It returns why the lease was lost, or nil if the context has ended.
func (h *Holder) renewals(ctx context.Context) error {
	paused := false
	for h.wait(ctx) {
		err := h.renew(ctx)
		if ctx.Err() != nil {
			continue // a canceled renewal shows nothing about the lease
		}
		if why := h.lostBy(err); why != nil {
			return why
		}
		paused = h.logPaused(err, paused)
	}
	return nil
}

// logPaused logs once that writes are paused, and once that they resume. It reports whether writes
// are paused.
func (h *Holder) logPaused(err error, paused bool) bool {
	switch {
	case err == nil && paused:
		h.log.Info("the lease is renewed; writing again")
	case err != nil && !paused && h.overdue():
		h.log.Warn("the lease could not be renewed in time; writing nothing until it is", "error", err.Error())
	}
	return err != nil && h.overdue()
}

// lostBy returns why the lease is lost after a failed renewal, or nil if it is not lost.
//
// A passed deadline is not a loss. If the API server is down for all replicas, nothing happens. If
// the API server is unreachable only from here, another replica acquires the lease, and the next
// renewal shows that. Exiting would not be safer. All controllers would then fill the caches of a
// large cluster again as soon as the API server is back.
func (h *Holder) lostBy(err error) error {
	var lost lostError
	switch {
	case errors.As(err, &lost):
		return lost.error
	case h.overdue() && refused(err):
		return fmt.Errorf("%s was lost: the permission to renew it is missing: %w", h, err)
	default:
		return nil
	}
}

func (h *Holder) renew(ctx context.Context) error {
	for {
		begun := h.clock.Now()
		writing, cancel := h.bounded(ctx)
		answer, err := h.leases().Update(writing, h.renewal(begun), metav1.UpdateOptions{FieldManager: fieldManager})
		cancel()
		switch {
		case err == nil:
			h.current = answer
			h.renewedAt(begun)
			return nil
		case apierrors.IsConflict(err):
			if err := h.reread(ctx); err != nil {
				return err
			}
		case apierrors.IsNotFound(err):
			return h.deleted()
		default:
			return err
		}
	}
}

// reread reads the current version and checks that the lease is still held here. Another client may
// have added a label, or the response to an earlier renewal was lost.
func (h *Holder) reread(ctx context.Context) error {
	ctx, cancel := h.bounded(ctx)
	defer cancel()
	present, err := h.leases().Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return h.deleted()
	}
	if err != nil {
		return err
	}
	if why := h.notOurs(present); why != nil {
		return lostError{why}
	}
	h.current = present
	return nil
}

func (h *Holder) deleted() error {
	return lostError{fmt.Errorf("%s was lost: it was deleted", h)}
}

func (h *Holder) lose(why error) {
	h.mu.Lock()
	h.holding, h.why = false, why
	h.mu.Unlock()
	h.log.Info("lost the lease", "why", why.Error())
	close(h.lost)
}

// refused reports whether a retry would fail in the same way, for example because a permission was
// removed. It returns false if the server is only down or busy.
func refused(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}

// Release releases the lease for the next holder, and returns when that is written. After the call
// of Release, no write under the lease may start. If the lease is not held, Release does nothing.
func (h *Holder) Release(ctx context.Context) {
	if h.stop == nil {
		return
	}
	h.mu.Lock()
	h.holding = false
	h.mu.Unlock()
	h.stop()
	<-h.stopped
	if h.Err() != nil {
		return
	}
	err := h.release(ctx)
	if lost, ok := errors.AsType[lostError](err); ok {
		h.log.Info("lost the lease", "why", lost.Error())
		return
	}
	if err != nil {
		h.log.Warn("the lease could not be released; another replica acquires it when this Pod is deleted or the lease expires", "after", h.opts.Duration.String(), "error", err.Error())
		return
	}
	h.log.Info("released the lease")
}

func (h *Holder) release(ctx context.Context) error {
	for {
		_, err := h.leases().Update(ctx, h.released(h.clock.Now()), metav1.UpdateOptions{FieldManager: fieldManager})
		switch {
		case apierrors.IsConflict(err):
			// A renewal in flight may have succeeded.
			if err := h.reread(ctx); err != nil {
				return err
			}
		case apierrors.IsNotFound(err):
			return h.deleted()
		default:
			return err
		}
	}
}
