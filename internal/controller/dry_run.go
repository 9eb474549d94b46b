package controller

import (
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A dry run reports the reloads that it does not write, each once.

func (c *Controller) dryRunNothing(key workload.Key) {
	c.with(key, func(r *record) { r.dryRun = "" })
}

// dryRunReload reports once what a dry run does not write.
func (c *Controller) dryRunReload(w *workload.Workload, d reload.Decision) {
	text := d.Ledger.String()
	var known bool
	c.with(w.Key, func(r *record) {
		known = r.dryRun == text
		r.dryRun = text
	})
	if !known && d.Action == reload.Reload {
		c.report.Reloaded(w, d, 0)
	}
}
