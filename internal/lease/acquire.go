package lease

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Acquire waits until the lease is held, and then keeps the lease until Release. If a permission is
// missing, it returns a *PermissionError. If the context ends first, it returns the error of the
// context.
func (h *Holder) Acquire(ctx context.Context) error {
	// The permissions are checked first. Otherwise a missing permission would show only after the
	// other replica has ended.
	if err := h.checkPermissions(ctx); err != nil {
		return err
	}
	var (
		seen    sighting
		waiting waiting
	)
	for {
		holder, err := h.try(ctx, &seen)
		if err == nil {
			h.see(holder)
		}
		switch {
		case ctx.Err() != nil && holder != h.opts.Identity:
			return ctx.Err()
		case apierrors.IsForbidden(err):
			return h.permissionError(ctx, err)
		case err != nil:
			waiting.failed(h, err)
		case holder == h.opts.Identity:
			h.log.Info("holding the lease")
			h.keep(ctx)
			return nil
		default:
			waiting.seen(h, holder)
		}
		if !h.wait(ctx) {
			return ctx.Err()
		}
	}
}

// try acquires the lease if it is free, and returns its holder.
func (h *Holder) try(ctx context.Context, seen *sighting) (string, error) {
	for {
		holder, err := h.tryOnce(ctx, seen)
		// Another client has written the lease since it was read, so it has to be read again.
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			continue
		}
		return holder, err
	}
}

func (h *Holder) tryOnce(ctx context.Context, seen *sighting) (string, error) {
	reading, cancel := h.bounded(ctx)
	defer cancel()
	present, err := h.leases().Get(reading, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return h.take(ctx, nil)
	}
	if err != nil {
		return "", err
	}
	holder := holderOf(present)
	now := h.clock.Now()
	renewed := seen.see(present, now)
	if holder == "" || holder == h.opts.Identity || seen.expired(now, h.opts.Duration) {
		return h.take(ctx, present)
	}
	if renewed {
		h.another()
	}
	// A holder that renews the lease is alive, whatever happened to its Pod. So the Pod is only
	// looked up if the holder has missed a renewal.
	if now.Sub(seen.since) < 2*h.opts.RetryPeriod || !h.gone(ctx, holder) {
		return holder, nil
	}
	taker, err := h.take(ctx, present)
	if err == nil {
		h.log.Info("the Pod that held the lease no longer exists; acquiring the lease before it expires", "holder", holder)
	}
	return taker, err
}

// take overwrites the lease that was read, or creates the lease if present is nil.
func (h *Holder) take(ctx context.Context, present *coordinationv1.Lease) (string, error) {
	// The end of the context does not cancel the write: if the response were lost, the write might
	// have acquired the lease, and no replica would release it.
	ctx, cancel := h.bounded(context.WithoutCancel(ctx))
	defer cancel()
	begun := h.clock.Now()
	var err error
	if present == nil {
		h.current, err = h.leases().Create(ctx, h.taken(nil, begun), metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		h.current, err = h.leases().Update(ctx, h.taken(present, begun), metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return "", err
	}
	h.renewedAt(begun)
	return h.opts.Identity, nil
}

// wait waits for one retry period. It returns false if the context ends first.
func (h *Holder) wait(ctx context.Context) bool {
	timer := h.clock.NewTimer(h.opts.RetryPeriod)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// waiting logs each fact only once while another replica holds the lease, because that may last for
// weeks.
type waiting struct {
	since  time.Time // zero until a holder was seen
	warned bool
	error  string
}

func (w *waiting) seen(h *Holder, holder string) {
	w.error = ""
	now := h.clock.Now()
	switch {
	case w.since.IsZero():
		w.since = now
		h.log.Info("waiting for the lease", "holder", holder)
	case h.opts.Alone && !w.warned && now.Sub(w.since) > warnAfter*h.opts.Duration:
		w.warned = true
		h.log.Warn("another replica keeps holding the lease, so this one writes nothing; "+
			"two installations cannot share a namespace: move one of them to another namespace, or uninstall it", "holder", holder)
	}
}

// warnAfter is the number of lease durations after which a replica warns that another one still
// holds the lease. A Pod that is being replaced has 30 s to end, which is twice the default
// duration.
const warnAfter = 4

func (w *waiting) failed(h *Holder, err error) {
	if text := err.Error(); text != w.error {
		w.error = text
		h.log.Warn("the lease cannot be read or acquired; retrying", "error", text)
	}
}
