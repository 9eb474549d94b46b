package controller

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Halts is where other programs read that no reload starts, and where a user accepts the failures.
type Halts interface {
	// Published returns what an earlier controller wrote, and when the newest reload began whose
	// failure a user accepted, in seconds since 1970.
	Published(ctx context.Context) (h metainfo.Halted, accepted int64, err error)
	// Publish writes where no reload starts, and returns what is accepted.
	Publish(ctx context.Context, h metainfo.Halted) (accepted int64, err error)
}

// storm has the latest reloads of the cluster. All of it follows from the ledgers and the rollouts
// of the workloads, so a restart changes nothing.
type storm struct {
	// mu guards it. Controller.mu has the order of the locks.
	mu sync.Mutex
	*gate.Storm
	// halted is what the waiting workloads and the last notice are based on.
	halted metainfo.Halted
	// before reports whether an earlier controller has published that reloads are halted.
	before bool
	// waiting are the workloads that have to wait.
	waiting map[workload.Key]struct{}
	// changed wakes the worker that publishes it.
	changed chan struct{}
}

func newStorm(h gate.Halt) *storm {
	return &storm{Storm: gate.NewStorm(h), waiting: map[workload.Key]struct{}{}, changed: make(chan struct{}, 1)}
}

// halts reports whether failures halt reloads.
func (c *Controller) halts() bool {
	return c.opts.Halt != gate.Halt{} && !c.opts.DryRun && !c.opts.NotifyOnly
}

// otherWorkloads are the other workloads that a reload may have to wait for. The caller holds
// fleets.mu.
func (c *Controller) otherWorkloads(find gate.Find) gate.Others {
	if !c.halts() {
		return gate.Others{Find: find, GateURL: c.gateURL()}
	}
	return gate.Others{Find: find, GateURL: c.gateURL(), Failed: c.hasFailed, Halt: func(key workload.Key) gate.Answer {
		c.storm.mu.Lock()
		defer c.storm.mu.Unlock()
		c.fillStorm()
		a := c.storm.Ask(key)
		if a.Open() || c.latestOf(key).Failed { // it may be an earlier one than the latest that count
			delete(c.storm.waiting, key)
			return gate.Answer{}
		}
		c.storm.waiting[key] = struct{}{}
		return a
	}}
}

// hasFailed reports whether the latest reload of a workload failed, and no user accepted that.
func (c *Controller) hasFailed(key workload.Key) bool {
	if w, ok := c.state.Workload(key); !ok || w.HasRolled() && !c.trackedOf(key).Following {
		return false
	}
	c.storm.mu.Lock()
	defer c.storm.mu.Unlock()
	l := c.latestOf(key)
	return l.Failed && !c.storm.Accepted(l)
}

func (c *Controller) latestOf(key workload.Key) gate.Latest {
	w, ok := c.state.Workload(key)
	if !ok || c.leavesOut(&w) {
		return gate.Latest{}
	}
	return gate.LatestOf(&w, c.trackedOf(key), c.clock.Now())
}

// updateStorm is called when a workload or its rollout has changed. Nearly always its latest reload
// is not one of those that count.
func (c *Controller) updateStorm(key workload.Key) {
	if !c.halts() {
		return
	}
	began := c.state.ReloadBegan(key)
	c.storm.mu.Lock()
	defer c.storm.mu.Unlock()
	if !c.storm.Counts(key, began) {
		return
	}
	c.storm.Put(key, c.latestOf(key))
	c.fillStorm()
	c.stormMoved()
}

// fillStorm puts the latest reloads anew if one of them was removed.
func (c *Controller) fillStorm() {
	if !c.storm.Short() {
		return
	}
	for _, key := range c.state.LatestReloads(c.opts.Halt.Last) {
		c.storm.Put(key, c.latestOf(key))
	}
	c.storm.Filled()
}

// stormMoved queues the workloads that waited if they may start now. Only a halt that is another one
// is published: each look at what users accept ends here, too. The caller holds storm.mu.
func (c *Controller) stormMoved() {
	var now metainfo.Halted
	if now.Namespaces, now.All = c.storm.Halted(); now.Is() {
		now.Why = c.storm.Why()
		_, now.Newest = c.storm.Newest()
	}
	before := c.storm.halted
	c.storm.halted = now
	for key := range c.storm.waiting {
		if c.storm.Ask(key).Open() {
			delete(c.storm.waiting, key)
			c.queue.Add(key, 0, 0)
		}
	}
	if !reflect.DeepEqual(before, now) {
		select {
		case c.storm.changed <- struct{}{}:
		default:
		}
	}
}

// acceptAgain is how often the controller reads whether a user has accepted the failures, while no
// reload starts.
const acceptAgain = 10 * time.Second

// accept is called when this replica has become the leader, and tracks rollouts of which it is not
// known yet whether they failed. It reads what an earlier controller wrote, and what a user accepted.
func (c *Controller) accept(ctx context.Context) {
	if !c.halts() {
		return
	}
	c.storm.mu.Lock()
	c.storm.Refill()
	c.fillStorm()
	c.stormMoved()
	c.storm.mu.Unlock()
	if c.opts.Halts == nil {
		return
	}
	published, until, err := c.opts.Halts.Published(ctx)
	if err != nil {
		c.log.Warn("could not read whether a user accepted that reloads failed", "error", err.Error())
	}
	c.storm.before = published.Is()
	c.accepted(until)
}

func (c *Controller) accepted(until int64) {
	if until > c.clock.Now().Unix() {
		return // failures that are still to come cannot be accepted
	}
	c.storm.mu.Lock()
	defer c.storm.mu.Unlock()
	c.storm.Accept(until)
	c.stormMoved()
}

// serveHalts publishes where no reload starts, emits a notice when that begins, and reads whether a
// user accepts the failures.
func (c *Controller) serveHalts(ctx context.Context, stop <-chan struct{}) {
	before := c.storm.before
	for {
		halted, done := c.publishHalt(ctx, before)
		before = halted
		var again <-chan time.Time
		if halted || !done {
			again = c.clock.After(acceptAgain)
		}
		select {
		case <-c.storm.changed:
		case <-again:
		case <-stop:
			return
		}
	}
}

// publishHalt returns whether reloads are halted, as they were before or not, and whether that is
// published. After a restart, a halt has not ended as long as it is unknown whether the reloads
// failed.
func (c *Controller) publishHalt(ctx context.Context, before bool) (halted, done bool) {
	now, unsure := c.haltedNow()
	switch halted = now.Is(); {
	case before && !halted && unsure:
		return before, false
	case halted && !before:
		c.notifyHalted(now)
	case before && !halted:
		c.log.Info("reloads continue")
	}
	return halted, c.publishHalted(ctx, now)
}

// haltedNow returns where no reload starts, and whether that may be more, because it is about to be
// known whether reloads have failed.
func (c *Controller) haltedNow() (h metainfo.Halted, unsure bool) {
	c.storm.mu.Lock()
	defer c.storm.mu.Unlock()
	return c.storm.halted, c.storm.Unsure()
}

// publishHalted returns false if that failed.
func (c *Controller) publishHalted(ctx context.Context, halted metainfo.Halted) bool {
	if c.opts.Halts == nil || !c.leads() {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, requestsTake)
	defer cancel()
	until, err := c.opts.Halts.Publish(ctx, halted)
	if err != nil {
		c.log.Warn("could not publish whether reloads are halted; retrying", "error", err.Error())
		return false
	}
	c.accepted(until)
	return true
}

// notifyHalted emits one event, on the workload that failed last.
func (c *Controller) notifyHalted(halted metainfo.Halted) {
	c.storm.mu.Lock()
	key, _ := c.storm.Newest()
	c.storm.mu.Unlock()
	if w, ok := c.state.Workload(key); ok {
		c.report.Notify(notice.Halted(&w, halted.Why))
	}
}

// notifyHaltedReload emits on a workload that it is not rolled because others failed, once each
// time.
func (c *Controller) notifyHaltedReload(w *workload.Workload, d *reload.Decision, answer gate.Answer) {
	c.log.Debug("waiting: "+answer.Why, "workload", w.Key.String(), "gate", string(answer.By))
	if answer.Stopped && c.recordOf(w.Key).awaits.by != gate.Halted {
		c.notifyWait(d, answer, notice.HeldByHalt(w, answer.Why))
	}
}

// ReloadsHalted reports whether no reload starts, at least in some namespaces.
func (c *Controller) ReloadsHalted() bool { return c.Halted().Is() }
