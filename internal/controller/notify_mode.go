package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// notifyAgain is how soon after a notification the next one is written and emitted, because a
// program may write a source in a loop.
const notifyAgain = time.Minute

// notifyOutOfDate notifies once of changes that Reroll does not reload, and reports whether it did.
// The ledger has the note, so that a restart does not repeat it.
func (c *Controller) notifyOutOfDate(w *workload.Workload, d *reload.Decision, answer gate.Answer, note digest.Digest) (owed bool) {
	c.with(w.Key, func(r *record) {
		owed = r.owes == note
		r.owes = digest.Digest{}
	})
	if owed {
		c.report.Notify(notice.PodsOutOfDate(w, d.Changes, answer.Why))
	}
	return owed
}

// rolledByUser reports whether a workload waits for a user, and its pod template has changed since:
// the user may have rolled it.
func (c *Controller) rolledByUser(w *workload.Workload) bool {
	awaits := c.recordOf(w.Key).awaits
	return (awaits.by == gate.Notify || awaits.by == gate.Approval) && awaits.template != w.Revision()
}
