package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// restoreEvery is how often Reroll writes back a ledger that another client keeps removing. In
// between, the ledger is kept in memory, so that two clients do not fight.
const restoreEvery = time.Hour

func (c *Controller) mayRestore(w *workload.Workload) bool {
	last := c.recordOf(w.Key).restored
	remaining := last.at.Add(restoreEvery).Sub(c.clock.Now())
	if last.at.IsZero() || remaining <= 0 {
		return true
	}
	c.queue.Later(w.Key, remaining)
	if !last.reported {
		c.with(w.Key, func(r *record) { r.restored.reported = true })
		c.report.LedgerTaken(w, last.at)
	}
	return false
}

// restored is when a ledger was written back, and whether its next removal was reported since.
type restored struct {
	at       time.Time
	reported bool
}
