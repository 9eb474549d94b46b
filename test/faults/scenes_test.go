package faults

import (
	"context"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/test/harness"
)

// single is one change of content, and anything that can go wrong with it.
func (h *history) single() error {
	src := h.source()
	edit := func() error { return h.edit(src) }
	switch h.rand.IntN(7) {
	case 0: // while nobody is there
		h.end()
		if err := edit(); err != nil {
			return err
		}
		h.armAny(1+h.rand.IntN(2), podList)
		h.armAny(h.rand.IntN(2), snapshot)
		h.armAny(h.rand.IntN(2), leaseWrite)
		if h.rand.IntN(3) == 0 {
			h.armOne(startKills())
		}
		return h.awaitStruck(h.rolledFor(src), podList, snapshot)
	case 1: // between a snapshot and its delivery
		h.end()
		h.armOne(slices.DeleteFunc(requestFaults(), func(r rule) bool { return r.fault != "snapshot held back" }))
		changed := false
		err := h.revive(func() error { changed = true; return edit() })
		if err != nil || changed {
			return err
		}
		return edit()
	case 2: // killed at any time after
		if err := edit(); err != nil {
			return err
		}
		h.pause(120)
		h.end()
		return h.revive(nil)
	case 3, 4:
		return h.watchDisturbed()
	case 5:
		return h.killedAboutPatch()
	default:
		return h.requestsFail()
	}
}

// requestsFail is a change that is written with difficulty.
func (h *history) requestsFail() error {
	src := h.source()
	h.armAny(1+h.rand.IntN(3), markPatch)
	h.armAny(h.rand.IntN(2), eventWrite, resumed)
	if err := h.edit(src); err != nil {
		return err
	}
	return h.awaitStruck(h.rolledFor(src), markPatch)
}

// firstReload is the one that is bound to write an event, since there was none before that it could
// be counted with.
func (h *history) firstReload() error {
	h.armAny(1, eventWrite)
	if err := h.requestsFail(); err != nil {
		return err
	}
	return h.awaitStruck(never, eventWrite)
}

// hardStart is a change while nobody is there, and a controller that is killed while it starts. The
// next one cannot have seen the change, so it is bound to ask for pods.
func (h *history) hardStart() error {
	src := h.source()
	h.end()
	if err := h.edit(src); err != nil {
		return err
	}
	h.armAny(1, podList)
	h.armOne(startKills())
	if err := h.awaitStruck(never, podList, snapshot); err != nil {
		return err
	}
	if h.seed%renewalsFail != 0 {
		return nil
	}
	h.armAny(1, leaseWrite)
	return h.awaitStruck(never, leaseWrite)
}

// renewalsFail is in one of how many histories the lease cannot be renewed once: that is waited for
// by the second.
const renewalsFail = 4

// killedAboutPatch is a change whose patch the controller does not outlive.
func (h *history) killedAboutPatch() error {
	src := h.source()
	h.armOne(patchKills())
	if err := h.edit(src); err != nil {
		return err
	}
	return h.awaitStruck(h.rolledFor(src), markPatch)
}

// watchDisturbed is a change whose event does not come as it should.
func (h *history) watchDisturbed() error {
	src := h.source()
	done := h.rolledFor(src)
	o := h.nextOrder()
	switch o {
	case endWatch, cutWatch:
		h.armAny(1, resumed)
		done = never // a watch that has ended is opened again
	case expireWatch:
		h.armAny(h.rand.IntN(2), snapshot)
	}
	h.disturb(src.Kind+"s", o)
	if err := h.edit(src); err != nil {
		return err
	}
	return h.awaitStruck(done, resumed, snapshot)
}

func never() bool { return false }

func (h *history) rolledFor(src harness.Ref) func() bool {
	return func() bool { return h.oracle.rolledFor(src) }
}

// late is a patch that comes after another one, with newer content, has taken its place.
func (h *history) late() error {
	src := h.source()
	rules := slices.DeleteFunc(slices.Concat(requestFaults(), patchKills()), func(r rule) bool {
		return r.fault != "mark lands late" && r.fault != killLate
	})
	h.armOne(rules)
	if err := h.edit(src); err != nil {
		return err
	}
	if err := h.awaitStruck(h.rolledFor(src), markPatch); err != nil {
		return err
	}
	return h.edit(src)
}

// several are steps of all kinds, one after the other.
func (h *history) several() error {
	for range 3 + h.rand.IntN(5) {
		if err := h.anyStep(); err != nil {
			return err
		}
		h.pause(200)
		if h.rand.IntN(4) == 0 {
			h.proxy.release()
			h.proxy.releaseLate()
		}
		if !h.alive() && h.rand.IntN(2) == 0 {
			if err := h.revive(h.userStep); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *history) anyStep() error {
	switch n := h.rand.IntN(20); {
	case n < 11:
		return h.userStep()
	case n < 15:
		h.armAny(1, markPatch, ledgerPatch, podList, snapshot, resumed, eventWrite, leaseWrite)
	case n < 16:
		h.armOne(patchKills())
	case n < 17:
		h.armOne(startKills())
	case n < 19:
		h.disturb(h.anyResource(), h.nextOrder())
	default:
		h.end()
	}
	return nil
}

// nextOrder is what happens to the next watch.
func (h *history) nextOrder() order {
	orders := []order{expireWatch, endWatch, cutWatch, killInEvent}
	o := orders[(h.seed+h.turns["watch"])%uint64(len(orders))]
	h.turns["watch"]++
	return o
}

func (h *history) disturb(resource string, o order) {
	h.step("to the watch of %s: %s", resource, o)
	h.proxy.disturb(resource, o)
}

// anyResource is one of those that the controller watches.
func (h *history) anyResource() string {
	if h.rand.IntN(3) == 0 {
		return h.workload().plural()
	}
	return h.source().Kind + "s"
}

// armAny lets some of the faults wait that these kinds of request can have.
func (h *history) armAny(count int, kinds ...kind) {
	for range count {
		k := kinds[h.rand.IntN(len(kinds))]
		h.armOne(slices.DeleteFunc(requestFaults(), func(r rule) bool { return r.on != k }))
	}
}

// armOne lets one of these wait. They take turns, and each history begins with another: a few
// histories meet all.
func (h *history) armOne(rules []rule) {
	first := rules[0].fault
	r := rules[(h.seed+h.turns[first])%uint64(len(rules))]
	h.turns[first]++
	h.step("next: %s %s", r.fault, r.about)
	h.proxy.arm(r)
}

// pause lets some time go by, so that what comes next meets the controller anywhere in what it
// does. It waits for nothing, and no verdict depends on how long it is. A condition could not take
// its place: what is met then would always be the same.
func (h *history) pause(most int) {
	time.Sleep(time.Duration(h.rand.IntN(most)) * time.Millisecond)
}

// awaitStruck returns when no fault waits any more for requests of these kinds, and a controller
// runs; or when all is done that such requests are made for.
func (h *history) awaitStruck(done func() bool, kinds ...kind) error {
	given := time.NewTimer(struckWithin)
	defer given.Stop()
	for {
		if h.rand.IntN(3) == 0 {
			h.proxy.release()
			h.proxy.releaseLate()
		}
		if err := h.revive(nil); err != nil {
			return err
		}
		n, changed := h.proxy.waiting(kinds...)
		if h.alive() && (n == 0 || done()) {
			return nil
		}
		select {
		case <-changed:
		case <-h.present().Done():
		case <-time.After(heldFor):
			h.proxy.release() // the request that would be struck may wait for the answer to another
		case <-given.C:
			return nil
		case <-h.ctx.Done():
			return context.Cause(h.ctx)
		}
	}
}

// heldFor is when what is held back is let go, if nothing else happens.
const heldFor = 200 * time.Millisecond

// struckWithin is when a fault is given up. It then is not counted, and what is wrong shows at
// rest.
const struckWithin = 10 * time.Second
