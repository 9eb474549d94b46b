package controller

import (
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A dry run reports the reloads that it does not write, each once.

// dryRun is the reason of these reports. Their text is the ledger that was not written.
const dryRun = "DryRun"

// dryRunReload reports once what a dry run does not write.
func (c *Controller) dryRunReload(w *workload.Workload, d reload.Decision) {
	report := emitted{about: w.UID, reason: dryRun, text: d.Ledger.String()}
	if c.isLatest(w.Key, report) && d.Action == reload.Reload {
		c.report.Reloaded(w, d, 0)
	}
}
