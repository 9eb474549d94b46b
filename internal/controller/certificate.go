package controller

import (
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/workload"
)

// notifyOverridden emits on a workload that its reload starts although a gate is closed, once for a
// certificate. A write that fails is tried again, and the gate may have another reason then.
func (c *Controller) notifyOverridden(w *workload.Workload, o gate.Override) {
	if o.Gate == "" {
		return
	}
	n := notice.Overridden(w, o.Source, o.Why, o.At, o.Expires)
	n.Once = o.Source.Name + " " + o.At.String()
	c.notifyOnce(w.Key, n)
}
