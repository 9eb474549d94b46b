package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
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

// askApproval emits on a workload that its reload has to be approved, once for each data. It returns
// when to do that if it is too soon. Begins reports whether the reload begins to wait.
func (c *Controller) askApproval(w *workload.Workload, d *reload.Decision, answer gate.Answer, begins bool) (wait time.Duration) {
	r, now := c.recordOf(w.Key), c.clock.Now()
	same := r.asked.digest == answer.Request.Digest && (!begins || r.awaits.by == gate.Approval)
	if same {
		return 0
	}
	if wait = r.asked.at.Add(askAgain).Sub(now); wait > 0 && !begins {
		return wait
	}
	c.with(w.Key, func(r *record) { r.asked = askedApproval{answer.Request.Digest, now} })
	c.notifyWait(d, answer, notice.ApprovalOf(w, answer.Why, answer.Request.Command(w.Key)))
	return 0
}
