// Package lease lets one replica of the controller act at a time. The replica holds a Lease that
// all replicas in a namespace use, including those of Reloader.
//
// Two mechanisms prevent two replicas from writing the same change. The first is the clock: a
// holder stops writing when RenewDeadline has passed since the start of its last successful
// renewal. Held then turns false without any request, even if the process was frozen in between. No
// replica acquires the lease until the longer Duration has passed without a renewal, or the Pod of
// the holder is gone. The second mechanism is the resourceVersion in every write of the controller.
// A write may be in flight when the deadline passes, its process may be frozen after the call of
// Held, or it may outlive its Pod. If the next holder has written first, the API server rejects
// such a write. If not, the API server rejects the write of the next holder, which then decides
// again.
//
// The package does not use the leader election of client-go, but reads and writes the same record,
// because that leader election has four limits. It waits up to 2.2 retry periods between two
// checks, so a handover can take longer than one period. It releases the lease when its context
// ends, which is before the writes in flight are complete. It does not return rejections, but a
// missing permission must be reported. And it does not accept a clock, so its tests would have to
// wait.
package lease

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// Name is the name of the Lease of every installation. Reloader uses the same name, so Reloader and
// Reroll do not act at the same time either.
const Name = "stakater-reloader-lock"

const fieldManager = "reroll"

// Options configure which lease is held, by which replica, and how.
type Options struct {
	Namespace string
	// Identity is the name of this replica. If the lease has the same identity, it is acquired at
	// once, as after a restart of the container. So two replicas that run at the same time must
	// never have the same identity.
	Identity string
	// Duration is the time without a renewal after which other replicas acquire the lease.
	// RenewDeadline is the time that the holder acts without a renewal. RetryPeriod is the time
	// between two checks, or between two renewals.
	Duration, RenewDeadline, RetryPeriod time.Duration
	// Alone reports whether this is the only replica, except for a moment during an upgrade. Then
	// a warning is logged if another replica keeps the lease.
	Alone bool
}

// Holder holds the lease, or waits for it. New returns a Holder. A Holder is used once: Acquire,
// then Release.
type Holder struct {
	opts   Options
	client clientset.Interface
	clock  clock.Clock
	log    *slog.Logger

	// another is called each time another replica has renewed the lease.
	another func()
	// current is the Lease of the latest response. Acquire, the renewals, and Release use it one
	// after the other.
	current *coordinationv1.Lease
	lost    chan struct{}
	stop    context.CancelFunc // ends the renewals; nil before the first one
	stopped chan struct{}      // closed when the renewals have ended
	leader  leader

	mu      sync.Mutex
	holding bool
	renewed time.Time // the start of the last successful renewal
	seen    string    // the identity that held the lease when it was last read or written
	why     error     // why the lease was lost
}

// New returns a Holder that does not hold the lease yet.
func New(opts Options, client clientset.Interface, c clock.Clock, log *slog.Logger) *Holder {
	return &Holder{
		opts: opts, client: client, clock: c,
		log:     log.With("lease", opts.Namespace+"/"+Name, "identity", opts.Identity),
		another: func() {},
		lost:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
}

// OnAnother sets a function that Acquire calls each time another replica has renewed the lease,
// which shows that it was alive. It must be called before Acquire.
func (h *Holder) OnAnother(do func()) { h.another = do }

// Held reports whether a write may start now. It sends no request, and must be called before each
// write.
//
// False is not final. A holder that cannot reach the API server continues to try. If a renewal
// succeeds, no other replica can have acquired the lease. If another replica has acquired it, Lost
// is closed.
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

// Err returns why the lease was lost, after Lost is closed.
func (h *Holder) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.why
}

func (h *Holder) leases() clientset.Objects[*coordinationv1.Lease, *coordinationv1.LeaseList] {
	return h.client.Leases(h.opts.Namespace)
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
