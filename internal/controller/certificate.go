package controller

import (
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/workload"
)

// notifyOverridden emits on a workload that its reload starts although a gate is closed. A write
// that fails is tried again, and the event stays the same.
func (c *Controller) notifyOverridden(w *workload.Workload, o gate.Override) {
	if o.Gate != "" {
		c.notifyOnce(w.Key, notice.Overridden(w, o.Source, o.Why, o.At, o.Expires))
	}
}
