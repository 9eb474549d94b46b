package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// restoreEvery is how often a ledger that somebody keeps taking away is put back. In between ours is kept in memory, so
// that nobody is fought with.
const restoreEvery = time.Hour

func (c *Controller) mayRestore(w *workload.Workload) bool {
	last := c.recordOf(w.Key).restored
	left := last.at.Add(restoreEvery).Sub(c.clock.Now())
	if last.at.IsZero() || left <= 0 {
		return true
	}
	c.queue.Later(w.Key, left)
	if !last.told {
		c.with(w.Key, func(r *record) { r.restored.told = true })
		c.report.LedgerTaken(w, last.at)
	}
	return false
}

// restored is when a ledger was put back, and whether it was told since that it was taken away again.
type restored struct {
	at   time.Time
	told bool
}
