package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A closed gate delays a reload. The ledger records that, so everything is decided again when the
// gate opens, or after a restart, from the newest data.

// awaitedGate is the closed gate that a reload waits for.
type awaitedGate struct {
	by    gate.Name
	until time.Time
	// asked reports that the program of --gate-url has not answered yet.
	asked bool
	// stopped is the source whose failures keep the workload from starting, if any do.
	stopped source.Key
	// template is the revision of the pod template whose Pods are out of date, and notified is when
	// a user was notified of that last.
	template digest.Digest
	notified time.Time
}

// passGates returns an error that says when to try again if a gate is closed. Otherwise the ledger
// of the decision records that the reload starts.
func (c *Controller) passGates(ctx context.Context, facts *reload.Facts, d *reload.Decision) error {
	facts.Now = c.clock.Now() // listing Pods may have taken a while, and a window may have closed
	answer := c.enterGates(facts, d)
	w := &facts.Workload
	if answer.Open() {
		if facts.NeedsBegin(*d) && !w.Runs.Listed {
			return retryAfter(0) // it has opened since, and a scheduled run may have brought the change
		}
		c.with(w.Key, func(r *record) { r.asked = askedApproval{} })
		c.notifyOverridden(w, answer.Override)
		return nil
	}
	if answer.By != gate.URL && answer.By != gate.Waves { // these need its answer
		c.gateURLQuestions.forget(w.Key)
	}
	if answer.Asked && !answer.Until.IsZero() {
		return retryAfter(answer.Until.Sub(facts.Now)) // mostly it may start in a moment, and needs no other write before that
	}
	return c.hold(ctx, facts, d, answer)
}

// hold records that a reload waits for a gate, reports that, and returns an error that says when to
// try again.
func (c *Controller) hold(ctx context.Context, facts *reload.Facts, d *reload.Decision, answer gate.Answer) error {
	w := &facts.Workload
	notifies := answer.By == gate.Notify
	notified := c.recordOf(w.Key).awaits.notified
	notifyIn := max(notified.Add(notifyAgain).Sub(facts.Now), 0)
	held, begins := facts.Defer(d, notifies && notifyIn == 0)
	if begins && (!held.Restores || c.mayRestore(w)) {
		if known, _, _ := facts.Ledger(); notifies && known.Noted != held.Ledger.Noted {
			c.with(w.Key, func(r *record) { r.owes = held.Ledger.Noted })
		}
		outdated := *facts
		outdated.Pods = nil // Pods that were listed for a record count as checked, and these lack the data
		if err := c.write(ctx, &outdated, held); err != nil {
			return err
		}
	}
	awaits := awaitedGate{by: answer.By, until: answer.Until, asked: answer.Asked, template: w.Revision(), notified: notified}
	switch {
	case answer.By == gate.Approval:
		notifyIn = c.askApproval(w, d, answer, begins)
	case !notifies:
		notifyIn = 0
		c.notifyAwaited(w, d, answer)
	case c.notifyOutOfDate(w, d, answer, held.Ledger.Noted):
		awaits.notified = facts.Now
	}
	if answer.Stopped {
		awaits.stopped = answer.Source
	}
	c.with(w.Key, func(r *record) { r.awaits = awaits })
	if notifyIn > 0 {
		answer.Until = facts.Now.Add(notifyIn)
	}
	return whenOpen(answer, facts.Now)
}

// notifyAwaited reports which gate a reload waits for, once each time.
func (c *Controller) notifyAwaited(w *workload.Workload, d *reload.Decision, answer gate.Answer) {
	switch {
	case answer.By == gate.Waves:
		c.notifyWaits(w, d, answer)
	case answer.By == gate.Halted:
		c.notifyHaltedReload(w, d, answer)
	case answer.By == gate.Freeze:
		c.notifyFrozen(w, d, answer)
	case answer.By == gate.URL:
		c.notifyHeldByGateURL(w, d, answer)
	case answer.By == gate.Window:
		c.notifyClosed(w, d, answer)
	case c.recordOf(w.Key).awaits.by != answer.By:
		c.notifyHeld(w, d, answer)
	}
}

// notifyHeld names the source that keeps changing. A workload that has to wait again after each
// reload is reported once an hour.
func (c *Controller) notifyHeld(w *workload.Workload, d *reload.Decision, answer gate.Answer) {
	last := &d.Changes[len(d.Changes)-1].Source
	often, first := c.often.hold(w.Key, last.Key)
	if !first {
		c.log.Info("waiting: "+answer.Why, "workload", w.Key.String(), "gate", string(answer.By), "until", answer.Until.UTC().Format(time.RFC3339))
		return
	}
	var writer string
	if src, ok := c.state.Source(often.Source); ok {
		writer = src.Writer
	}
	n := notice.Held(w, often, writer, answer.Why, answer.Until)
	n.Once = string(answer.By) // not the reload that waits: this is about many of them
	c.report.Notify(n)
}

// notifyWait emits that a reload waits for a gate. The counter of its ledger grows with each reload,
// so that a restart repeats the notice only for another one. A notice may depend on more.
func (c *Controller) notifyWait(d *reload.Decision, answer gate.Answer, n notice.Notice) {
	data := answer.Request.Digest
	for i := range d.Changes {
		if src := &d.Changes[i].Source; src.Key == answer.Source {
			data = src.Digest
		}
	}
	n.Once = fmt.Sprintf("%s %d %s %s %s", answer.By, d.Ledger.Counter, answer.Source, data, n.Once)
	c.report.Notify(n)
}

// starts reports whether a decision starts a reload, for which gates have to be open. A run that
// was found has started before.
func starts(d *reload.Decision) bool { return d.Action == reload.Reload && !d.Found }

// isHeld reports whether a decision leads to a reload that has to wait.
func (c *Controller) isHeld(facts *reload.Facts, d *reload.Decision) bool {
	return starts(d) && !c.opts.DryRun && !c.opts.NotifyOnly && !c.checkGatesOf(facts, d).Open()
}

// passedGates notes that no reload of a workload waits.
func (c *Controller) passedGates(key workload.Key) {
	c.gateURLQuestions.forget(key)
	c.with(key, func(r *record) { r.awaits = awaitedGate{} })
}

// checkGates reconciles the workloads of a namespace, or of all if it is empty, whose reloads wait,
// because a gate may be open now.
func (c *Controller) checkGates(namespace string) {
	c.mu.Lock()
	var waiting []workload.Key
	for key, r := range c.records {
		if (namespace == "" || key.Namespace == namespace) && r.awaits != (awaitedGate{}) {
			waiting = append(waiting, key)
		}
	}
	c.mu.Unlock()
	for _, key := range waiting {
		c.queue.Add(key, 0, 0)
	}
}

// HeldBy is how many workloads wait for a gate.
func (c *Controller) HeldBy(name gate.Name) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, r := range c.records {
		if r.awaits.by == name {
			n++
		}
	}
	return n
}
