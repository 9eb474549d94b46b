package lease

import (
	"context"
	"sync"
	"time"
)

// leaderFor is how long the address of the leader is kept: a Pod that is restarted may have another
// one.
const leaderFor = 10 * time.Second

// leader is the Pod of the replica that holds the lease.
type leader struct {
	mu sync.Mutex
	// holder is the identity whose Pod was looked up, and ip its address.
	holder, ip string
	err        error
	until      time.Time
}

// LeaderIP returns the address of the Pod that held the lease when this replica last read it. It is
// empty if that is this replica, if it has not read the lease yet, or if no Pod with its own
// ServiceAccount holds the lease.
//
// Readers of the UI send tokens to that address. A client that may only update the lease could name
// any Pod of the namespace. A Pod with the ServiceAccount of the controller has its permissions
// anyway.
func (h *Holder) LeaderIP(ctx context.Context) (string, error) {
	holder, _ := h.Seen()
	if holder == "" || holder == h.opts.Identity {
		return "", nil
	}
	h.leader.mu.Lock()
	defer h.leader.mu.Unlock()
	now := h.clock.Now()
	if h.leader.holder != holder || !now.Before(h.leader.until) {
		// Others wait for this answer, so the end of one request does not cancel it.
		ip, err := h.ipOf(context.WithoutCancel(ctx), holder)
		h.leader.ip, h.leader.err, h.leader.holder, h.leader.until = ip, err, holder, now.Add(leaderFor)
		if err != nil {
			h.leader.until = now.Add(time.Second)
		}
	}
	return h.leader.ip, h.leader.err
}

func (h *Holder) ipOf(ctx context.Context, holder string) (string, error) {
	ctx, cancel := h.bounded(ctx)
	defer cancel()
	here, err := h.pod(ctx, h.opts.Identity)
	if err != nil || here == nil {
		return "", err
	}
	there, err := h.pod(ctx, holder)
	if err != nil || there == nil || there.Spec.ServiceAccountName != here.Spec.ServiceAccountName {
		return "", err
	}
	return there.Status.PodIP, nil
}

// Seen returns the identity that held the lease when this replica last read or wrote it, and when this
// replica last renewed it. It is empty if it has done neither.
func (h *Holder) Seen() (holder string, renewed time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen, h.renewed
}

// see records which replica holds the lease.
func (h *Holder) see(holder string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = holder
}
