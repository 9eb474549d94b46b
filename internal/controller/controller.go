// Package controller is the loop: the watches fill the state, what changed goes to the queue, a worker decides and
// writes once, and the answer goes back into the state.
package controller

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/state"
)

// Options are what a controller is told at start.
type Options struct {
	// Namespaces are watched; none means all.
	Namespaces    []string
	AutoReloadAll bool
	// Settle is how long the sources of a workload must have been quiet, and SettleMax the longest that a workload
	// whose sources are never quiet waits.
	Settle, SettleMax time.Duration
	// AdoptRate is how many ledgers a second are written for workloads that are not reloaded.
	AdoptRate float64
	DryRun    bool
	Names     reload.Names
	// LoadKey is asked once for the key behind the digests of Secrets, when the workloads are known.
	LoadKey func(context.Context) (reload.DigestKey, error)
	// Introduce is called before anything is written, with how many workloads there are and how many are opted in.
	Introduce func(workloads, optedIn int)
}

// Report is told what happens. Its methods must not block.
type Report interface {
	// Seen is called for each object that arrives.
	Seen(event, resource string)
	// Reloaded is called after a reload was written, or would have been in a dry run.
	Reloaded(w *reload.Workload, d reload.Decision, took time.Duration)
	// Failed is called when a write failed that will be tried again.
	Failed(w *reload.Workload, d reload.Decision, err error, retryIn time.Duration)
}

// workers is how many workloads are written at the same time. A write waits for the API server nearly all of its time,
// so this is about requests in flight and not about processors.
const workers = 32

// Controller rolls workloads. Make it with New.
type Controller struct {
	opts   Options
	client kubernetes.Interface
	kinds  map[string]kinds.Kind
	state  *state.State
	queue  *queue
	clock  clock.Clock
	log    *slog.Logger
	report Report
	adopt  *rate.Limiter

	key    reload.DigestKey
	synced chan struct{}

	mu sync.Mutex
	// conflicted are the workloads that had been changed by others when we wrote. They are looked at again when the
	// watch brings the newer version.
	conflicted map[reload.WorkloadKey]struct{}
	// supposed are, in a dry run, the ledgers that would have been written.
	supposed map[reload.WorkloadKey]string
}

// New returns a controller that does nothing yet.
func New(opts Options, client kubernetes.Interface, c clock.Clock, log *slog.Logger, report Report) *Controller {
	byName := map[string]kinds.Kind{}
	for _, k := range kinds.All() {
		byName[k.Name] = k
	}
	return &Controller{
		opts:       opts,
		client:     client,
		kinds:      byName,
		state:      state.New(opts.AutoReloadAll),
		queue:      newQueue(c),
		clock:      c,
		log:        log,
		report:     report,
		adopt:      rate.NewLimiter(rate.Limit(opts.AdoptRate), 1),
		synced:     make(chan struct{}),
		conflicted: map[reload.WorkloadKey]struct{}{},
		supposed:   map[reload.WorkloadKey]string{},
	}
}

// Run works until the context ends, and returns when the last write in flight is finished.
func (c *Controller) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	// Workloads come first: who runs this by hand is told what it is about to manage before the first write, which
	// may be that of the key, and without the key no Secret can be read.
	if !c.fill(ctx, &running, c.workloadFeeds()) {
		return nil
	}
	c.opts.Introduce(c.state.Counts())
	var err error
	if c.key, err = c.opts.LoadKey(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	// Nothing is decided before everything has been seen once: a source that has not arrived yet is not gone.
	if !c.fill(ctx, &running, c.sourceFeeds()) {
		return nil
	}
	close(c.synced)
	// Writes are not cut off by the end of the context: an answer that is not read is a change that is not known.
	writing := context.WithoutCancel(ctx)
	for range workers {
		running.Go(func() { c.work(writing, ctx.Done()) })
	}
	<-ctx.Done()
	return nil
}

// fill starts feeds and waits until each has brought a complete snapshot; false means that the context ended first.
func (c *Controller) fill(ctx context.Context, running *sync.WaitGroup, feeds []feed) bool {
	for _, f := range feeds {
		running.Go(func() { f.Run(ctx) })
	}
	for _, f := range feeds {
		select {
		case <-f.whole:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Ready tells whether everything has been seen once.
func (c *Controller) Ready() bool {
	select {
	case <-c.synced:
		return true
	default:
		return false
	}
}

// Depth is how many workloads wait to be looked at.
func (c *Controller) Depth() int { return c.queue.depth() }

func (c *Controller) work(ctx context.Context, stop <-chan struct{}) {
	for {
		key, ok := c.queue.next(stop)
		if !ok {
			return
		}
		c.look(ctx, key)
		c.queue.done(key)
	}
}

// enqueue asks for a look at a workload once its sources are quiet.
func (c *Controller) enqueue(key reload.WorkloadKey) {
	settle := c.opts.Settle
	if policy, ok := c.state.Policy(key); ok {
		if own, set := policy.Settle(); set {
			settle = own
		}
	}
	c.queue.add(key, settle, c.opts.SettleMax)
}
