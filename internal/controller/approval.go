package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/workload"
)

// askedApproval is the digest of a request for approval, and when that was reported.
type askedApproval struct {
	digest digest.Digest
	at     time.Time
}

// askAgain is how soon after a request the next one is reported, because a program may write a
// source in a loop. Events expire, by default after an hour, so a request is repeated that often.
const (
	askAgain    = time.Minute
	repeatEvent = time.Hour
)

// askApproval emits on a workload that its reload has to be approved, with an alert for each data.
// It returns when to emit the event next. Begins reports whether the reload begins to wait. If its
// ledger shows that it does already, an earlier controller has emitted the request.
func (c *Controller) askApproval(w *workload.Workload, answer gate.Answer, begins bool) (wait time.Duration) {
	r, now := c.recordOf(w.Key), c.clock.Now()
	earlier := !begins && r.asked == (askedApproval{}) && r.awaits == (awaitedGate{})
	same := r.asked.digest == answer.Request.Digest && (!begins || r.awaits.by == gate.Approval)
	switch {
	case same:
		wait = r.asked.at.Add(repeatEvent).Sub(now)
	case !begins && !earlier:
		wait = r.asked.at.Add(askAgain).Sub(now)
	}
	if wait > 0 {
		return wait
	}
	c.with(w.Key, func(r *record) { r.asked = askedApproval{answer.Request.Digest, now} })
	if !earlier {
		n := notice.ApprovalOf(w, answer.Why, answer.Request.Command(w.Key))
		n.Alert = !same
		c.report.Notify(n)
	}
	return repeatEvent
}
