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
// source in a loop.
const askAgain = time.Minute

// askApproval emits on a workload that its reload has to be approved, once for each data. It
// returns how long a request still has to wait, because there was another one just now. Begins
// reports whether the reload begins to wait. If its ledger shows that it does already, an earlier
// controller has emitted the request.
func (c *Controller) askApproval(w *workload.Workload, answer gate.Answer, begins bool) (wait time.Duration) {
	r, now := c.recordOf(w.Key), c.clock.Now()
	earlier := r.asked == (askedApproval{}) && r.awaits == (awaitedGate{})
	switch wait = r.asked.at.Add(askAgain).Sub(now); {
	case r.asked.digest == answer.Request.Digest && (!begins || r.awaits.by == gate.Approval):
		return 0
	case !begins && !earlier && wait > 0:
		return wait
	}
	c.with(w.Key, func(r *record) { r.asked = askedApproval{answer.Request.Digest, now} })
	if begins || !earlier {
		c.report.Notify(notice.ApprovalOf(w, answer.Why, answer.Request.Command(w.Key)))
	}
	return 0
}
