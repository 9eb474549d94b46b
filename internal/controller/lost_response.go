package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// sent is a write whose response was lost and that has to be reported.
type sent struct {
	ledger   string
	decision reload.Decision
	// at is when it was sent, or later.
	at time.Time
}

// responseLost records a write that may have taken effect although its response was an error, or
// was lost.
func (c *Controller) responseLost(key workload.Key, ledger string, d reload.Decision) {
	if d.Action != reload.Reload && len(d.OthersRollout) == 0 {
		return // there is nothing to report
	}
	c.with(key, func(r *record) { r.sent = &sent{ledger, d, c.clock.Now()} })
}

// reportLate reports a write whose response was lost, once its ledger is seen on the workload.
func (c *Controller) reportLate(w *workload.Workload) {
	var s *sent
	c.with(w.Key, func(r *record) {
		if r.sent != nil && r.sent.ledger == w.LedgerText {
			s, r.sent = r.sent, nil
		}
	})
	if s == nil {
		return
	}
	if s.decision.Action == reload.Reload {
		c.trackReload(w, s.decision)
		c.reloaded(w, s.decision, 0)
	}
	c.reportOthersRollout(w, s.decision)
}

// forgetAttempts forgets the turn of a workload that waited to be adopted, a lost response, and the
// writes that failed, because its ledger is written now, or needs no write.
func (c *Controller) forgetAttempts(key workload.Key) {
	c.with(key, func(r *record) { r.adoptAt, r.sent, r.refused = time.Time{}, nil, 0 })
}
