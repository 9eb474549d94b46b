package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

// restoreEvery is how often Reroll writes back a ledger that another client keeps removing. In
// between, the ledger is kept in memory, so that two clients do not fight.
const restoreEvery = time.Hour

func (c *Controller) mayRestore(w *workload.Workload) bool {
	last := c.recordOf(w.Key).restored
	remaining := last.Add(restoreEvery).Sub(c.clock.Now())
	if last.IsZero() || remaining <= 0 {
		return true
	}
	c.queue.Later(w.Key, remaining)
	if c.isFirst(w.Key, emitted{about: w.UID, reason: ledgerTaken}) {
		c.counter.LedgerTaken()
		c.log.Warn("another client removed or reverted the ledger of a workload again; Reroll keeps the ledger in memory until it may write it back",
			"workload", w.Key.String(), "annotation", annotations.Ledger, "lastWritten", last.UTC().Format(time.RFC3339))
	}
	return false
}

// ledgerTaken is the reason of a message that only the log shows, once after each restored ledger.
const ledgerTaken = "LedgerTaken"

// restored records that a ledger was written back.
func (c *Controller) restored(key workload.Key) {
	c.withdraw(key, ledgerTaken)
	c.with(key, func(r *record) { r.restored = c.clock.Now() })
}
