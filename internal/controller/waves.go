package controller

import (
	"iter"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// fleets are the workloads that are rolled one after the other. A fleet is built when the first
// workload asks whether it may start, from the state alone, and dropped when all have started. So a
// restart changes nothing, and without waves there is none.
type fleets struct {
	// mu guards the fleets. Controller.mu has the order of the locks.
	mu sync.Mutex
	// of are the fleets by the namespace of the workloads and then by the source. A source without a
	// namespace has a fleet in each: a tenant must not hold up the workloads of the others.
	of map[string]map[source.Key]*fleet
	// some reports whether there are any.
	some atomic.Bool
}

// in iterates over the fleets of a namespace. They may be dropped meanwhile.
func (f *fleets) in(namespace string) iter.Seq[*fleet] { return maps.Values(f.of[namespace]) }

// fleet is a fleet with the source that it was built for.
type fleet struct {
	*gate.Fleet
	source source.Source
	// namespace is that of its workloads.
	namespace string
	// stopped reports whether workloads know that no further one starts.
	stopped bool
}

// enterGates returns whether a reload may start. If so, its place is reserved, so that two workers
// never start two reloads where there is room for one.
func (c *Controller) enterGates(facts *reload.Facts, d *reload.Decision) gate.Answer {
	c.fleets.mu.Lock()
	defer c.fleets.mu.Unlock()
	c.refreshDefaults(facts)
	others := c.otherWorkloads(c.findFleet(facts))
	answer := gate.Check(facts, d, others)
	if answer.Open() {
		gate.Pass(facts, d, others)
	}
	c.moveFleets(facts.Workload.Key.Namespace)
	return answer
}

// checkGatesOf is enterGates for a workload that does not start yet.
func (c *Controller) checkGatesOf(facts *reload.Facts, d *reload.Decision) gate.Answer {
	c.fleets.mu.Lock()
	defer c.fleets.mu.Unlock()
	c.refreshDefaults(facts)
	return gate.Check(facts, d, c.otherWorkloads(c.findFleet(facts)))
}

// findFleet returns the function that finds the fleet of a source, or builds it. The caller holds
// fleets.mu.
func (c *Controller) findFleet(facts *reload.Facts) gate.Find {
	return func(changed *reload.Concern) *gate.Fleet {
		src := changed.Source
		if src.Key.IsForeign() {
			return nil // its waves are those of its own namespace
		}
		if now, ok := c.state.Source(src.Key); ok {
			src = now // the facts may be older
		}
		settings := gate.SettingsOf(&src, facts.DefaultWaves(src.Key), facts.Waves)
		ns := facts.Workload.Key.Namespace
		known := c.fleets.of[ns][src.Key]
		switch {
		case known != nil && known.Fits(&src, settings):
			if _, in := known.Member(facts.Workload.Key); !in {
				c.updateMember(known, facts.Workload.Key, gate.Member{})
			}
		case settings.RollingBy == "" && !c.state.HasWaves(ns):
			c.dropFleet(known)
			return nil
		default:
			c.dropFleet(known)
			known = c.buildFleet(src, ns, settings, known)
		}
		if !known.Limits() {
			return nil
		}
		return known.Fleet
	}
}

// buildFleet builds the fleet of a source in a namespace. Before is the one in whose place it is, and
// nil if there was none.
func (c *Controller) buildFleet(src source.Source, namespace string, settings gate.Settings, before *fleet) *fleet {
	built := &fleet{Fleet: gate.NewFleet(&src, settings), source: src, namespace: namespace}
	same := before != nil && before.source.Digest == src.Digest
	for _, key := range c.state.CandidatesIn(namespace, src.Key) {
		var known gate.Member
		if same {
			known, _ = before.Member(key)
		}
		c.updateMember(built, key, known)
	}
	if before != nil {
		built.Inherit(before.Fleet)
	}
	built.stopped = built.Stopped()
	if built.stopped && (!same || !before.stopped) {
		c.notifyStopped(built)
	}
	of := c.fleets.of[namespace]
	if of == nil {
		of = map[source.Key]*fleet{}
		c.fleets.of[namespace] = of
	}
	of[src.Key] = built
	c.fleets.some.Store(true)
	return built
}

// dropFleet forgets a fleet. The workloads that wait for it ask again.
func (c *Controller) dropFleet(f *fleet) {
	if f == nil {
		return
	}
	ns := f.namespace
	c.askAgain(f)
	delete(c.fleets.of[ns], f.source.Key)
	if len(c.fleets.of[ns]) == 0 {
		delete(c.fleets.of, ns)
	}
	c.fleets.some.Store(len(c.fleets.of) > 0)
}

func (c *Controller) askAgain(f *fleet) {
	var others []*gate.Fleet
	for other := range c.fleets.in(f.namespace) {
		others = append(others, other.Fleet)
	}
	for _, key := range f.Again(others) {
		c.queue.Add(key, 0, 0)
	}
}

// updateMember updates one workload of a fleet, or removes it if the source does not concern it.
// Before is what was known of it.
func (c *Controller) updateMember(f *fleet, key workload.Key, before gate.Member) {
	facts, ok := c.state.FactsAlone(key, &f.source)
	if !ok || c.leavesOut(&facts.Workload) {
		f.Remove(key)
		return
	}
	now := c.clock.Now()
	c.opts.Complete(&facts, c.installation, now)
	m := gate.MemberOf(&facts, &f.source, f.Settings(), c.trackedOf(key), before)
	f.Put(key, m)
	if m.Asks {
		c.rollouts.Add(key, 0, 0)
	}
	if !m.Due.IsZero() {
		c.rollouts.Later(key, max(m.Due.Sub(now), time.Millisecond))
	}
}

// trackedOf is what tracking shows of the rollout of a workload.
func (c *Controller) trackedOf(key workload.Key) gate.Tracked {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, known := c.records[key]
	if !known {
		return gate.Tracked{Lists: true}
	}
	t := gate.Tracked{Refused: r.refused >= refusedOften}
	w, _ := c.state.Workload(key)
	t.Available, t.Lists = r.available.of(&w)
	if f := r.tracking; f != nil {
		t.Following, t.Unsure, t.Unlisted, t.Late, t.Cause = true, f.resumed, f.unlisted >= unlistedOften, f.exceeded, f.cause
	}
	return t
}

// unlistedOften is how often in a row the Pods of a workload cannot be listed until other workloads
// do not wait for that any more.
const unlistedOften = 3

// updateFleets is called when a workload or its rollout has changed. Workloads that may start now
// are queued.
func (c *Controller) updateFleets(key workload.Key) {
	c.updateStorm(key)
	if !c.fleets.some.Load() {
		return
	}
	c.fleets.mu.Lock()
	defer c.fleets.mu.Unlock()
	for f := range c.fleets.in(key.Namespace) {
		before, _ := f.Member(key)
		c.updateMember(f, key, before)
	}
	c.moveFleets(key.Namespace)
}

// lostUntil is how long a write without a response may still take effect: longer than the API
// server works on a request.
const lostUntil = 2 * time.Minute

// leaveGates is called at the end of each reconciliation. The place of a workload stays reserved as
// long as it is unknown whether its reload took effect.
func (c *Controller) leaveGates(key workload.Key) {
	c.updateStorm(key)
	if !c.fleets.some.Load() {
		return
	}
	var unknown time.Duration
	if r := c.recordOf(key); r.sent != nil && r.refused < refusedOften {
		unknown = r.sent.at.Add(lostUntil).Sub(c.clock.Now())
	}
	unanswered := c.gateURLQuestions.unanswered(key)
	c.fleets.mu.Lock()
	defer c.fleets.mu.Unlock()
	for f := range c.fleets.in(key.Namespace) {
		before, _ := f.Member(key)
		c.updateMember(f, key, before)
		switch {
		case unknown > 0:
			c.queue.Later(key, unknown)
		case !unanswered: // the answer wakes a workload, which keeps its turn until then
			f.Free(key)
		}
	}
	c.moveFleets(key.Namespace)
}

// moveFleets queues the workloads of a namespace that may start now, and all that wait if failures
// have stopped them, or do no longer.
func (c *Controller) moveFleets(namespace string) {
	for f := range c.fleets.in(namespace) {
		if stopped := f.Stopped(); stopped != f.stopped {
			f.stopped = stopped
			c.askAgain(f)
			if stopped {
				c.notifyStopped(f)
			}
		}
		for _, key := range f.Next() {
			c.queue.Add(key, 0, 0)
		}
		// Workloads that wait ask again if there are no waves any more.
		if _, exists := c.state.Source(f.source.Key); !exists || !f.Needed() || !f.Limits() {
			c.dropFleet(f)
		}
	}
}

// notifyStopped emits on a source that its data is not rolled any further.
func (c *Controller) notifyStopped(f *fleet) {
	if !f.Needed() {
		return
	}
	n := notice.Stopped(&f.source, f.WhyStopped())
	n.Once = f.namespace + " " + f.source.Digest.String()
	c.report.Notify(n)
}

// notifyWaits emits on a workload that it is not rolled because others failed, once each time.
func (c *Controller) notifyWaits(w *workload.Workload, d *reload.Decision, answer gate.Answer) {
	c.log.Debug("waiting: "+answer.Why, "workload", w.Key.String(), "gate", string(answer.By))
	if answer.Stopped {
		if c.recordOf(w.Key).awaits.stopped != answer.Source {
			c.notifyWait(d, answer, notice.HeldByWaves(w, answer.Source, answer.Why))
		}
	}
}

// StoppedSources is how many sources have data that is not rolled any further because workloads
// failed.
func (c *Controller) StoppedSources() int {
	c.fleets.mu.Lock()
	defer c.fleets.mu.Unlock()
	stopped := map[source.Key]struct{}{}
	for _, of := range c.fleets.of {
		for key, f := range of {
			if f.Stopped() && f.Needed() {
				stopped[key] = struct{}{}
			}
		}
	}
	return len(stopped)
}
