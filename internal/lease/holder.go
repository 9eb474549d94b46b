// Package lease lets one instance of the controller act at a time, by holding a Lease that every instance of a namespace
// knows, Reloader's included.
//
// Two lines keep two instances from writing the same change. The first is the clock: a holder stops writing
// RenewDeadline after the start of the last renewal that succeeded (Held turns false by itself, also in a process that
// was frozen in between), and nobody takes the lease before the longer Duration has passed without a renewal, or the pod
// of its holder is gone. The second is the resourceVersion that every write of the controller carries: one that was under
// way when the clock ran out, or whose process was frozen between asking Held and sending it, or outlives its pod, is
// refused by the API server if the next holder was there first; and if it was not, the next holder's own write is refused
// and decided anew.
//
// It is not built on client-go's leader election, whose record it reads and writes. That waits up to 2.2 retry periods
// between two looks, so a hand-over can take longer than one; it releases when its context ends, which is before the
// writes in flight have; it keeps refusals to itself, where a missing right has to be told; and its clock cannot be
// given to it, so nothing about it can be tested without waiting.
package lease

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"
)

// Name is the Lease of every installation. It is Reloader's, so that the two do not act at once either.
const Name = "stakater-reloader-lock"

const fieldManager = "reroll"

// Options configure which lease is held, by whom, and how.
type Options struct {
	Namespace string
	// Identity is this replica. A lease that an instance of the same identity holds is taken over at once, as by a
	// container that was started again in its pod: two that run at the same time must never have the same.
	Identity string
	// Duration is how long others wait, without seeing a renewal, before they acquire the lease; RenewDeadline how
	// long the holder acts without one; RetryPeriod the time between two checks, or two renewals.
	Duration, RenewDeadline, RetryPeriod time.Duration
	// Alone reports that no other replica is expected for long: waiting for one that stays is logged as a warning.
	Alone bool
}

// Holder holds the lease, or waits for it. Make it with New. It is used once: Acquire, then Release.
type Holder struct {
	opts   Options
	client kubernetes.Interface
	clock  clock.Clock
	log    *slog.Logger

	// another is called when another replica is seen to have renewed the lease.
	another func()
	// current is the Lease as the API server answered last. Acquire, then the renewals, then Release have it, one
	// after the other.
	current *coordinationv1.Lease
	lost    chan struct{}
	stop    context.CancelFunc // ends the renewals; nil before there are any
	stopped chan struct{}      // closed when they have ended

	mu      sync.Mutex
	holding bool
	renewed time.Time // when the last renewal that succeeded was begun
	why     error     // the lease was lost
}

// New returns a holder that holds nothing yet.
func New(opts Options, client kubernetes.Interface, c clock.Clock, log *slog.Logger) *Holder {
	return &Holder{
		opts: opts, client: client, clock: c,
		log:     log.With("lease", opts.Namespace+"/"+Name, "identity", opts.Identity),
		another: func() {},
		lost:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
}

// OnAnother has Acquire call do each time it sees that another replica has renewed the lease, and so was alive. It is called
// before Acquire.
func (h *Holder) OnAnother(do func()) { h.another = do }

// Held reports whether a write may be started now. It asks nobody, and is to be called before each.
//
// False is not the end: a holder that cannot reach the API server goes on trying, and nobody can have taken the lease
// if the renewal succeeds at last. If somebody has, Lost is closed.
func (h *Holder) Held() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holding && h.clock.Since(h.renewed) < h.opts.RenewDeadline
}

// overdue reports whether the last renewal is so old that another replica may soon acquire the
// lease.
func (h *Holder) overdue() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clock.Since(h.renewed) >= h.opts.RenewDeadline
}

// Lost is closed when another client has acquired or deleted the lease while it was held here.
func (h *Holder) Lost() <-chan struct{} { return h.lost }

// Err is why the lease was lost, once Lost is closed.
func (h *Holder) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.why
}

func (h *Holder) leases() coordinationclient.LeaseInterface {
	return h.client.CoordinationV1().Leases(h.opts.Namespace)
}

func (h *Holder) String() string { return fmt.Sprintf("lease %s/%s", h.opts.Namespace, Name) }

// renewedAt records a successful write of the lease, by the time at which the write began. That is
// the latest time from which other replicas can count.
func (h *Holder) renewedAt(begun time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding, h.renewed = true, begun
}

// bounded gives one request a part of the renew deadline, so that there is time to retry one
// without a response.
func (h *Holder) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, h.opts.RenewDeadline/2)
}
