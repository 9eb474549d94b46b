package controller

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// othersRollout is a rollout by another client that was recorded as bringing the new data to the
// Pods of a workload.
type othersRollout struct {
	uid     types.UID
	changed []source.Key
}

// reportOthersRollout reports the Pods that a rollout by another client leaves with the previous
// data, as soon as the status has observed the new template. The ledger contains the new data from
// now on, so this happens once per rollout.
func (c *Controller) reportOthersRollout(w *workload.Workload, d reload.Decision) {
	if len(d.OthersRollout) == 0 {
		return
	}
	c.with(w.Key, func(r *record) { r.others = &othersRollout{w.UID, d.OthersRollout} })
	c.trackOthersRollout(w.Key) // the watch may have brought the status before
}

// trackOthersRollout is called for each version of a workload that the watch brings.
func (c *Controller) trackOthersRollout(key workload.Key) {
	c.mu.Lock()
	r, known := c.records[key]
	if !known || r.others == nil {
		c.mu.Unlock()
		return
	}
	others := r.others
	w, there := c.state.Workload(key)
	if there && w.UID == others.uid && c.isStaleLocked(&w) {
		c.mu.Unlock()
		return
	}
	var kept rollout.Outcome
	observed := true
	if there && w.UID == others.uid {
		kept, observed = rollout.KeptOnPurpose(&w, others.changed)
	}
	if observed {
		c.withLocked(key, func(r *record) { r.others = nil })
	}
	c.mu.Unlock()
	if kept.Cause != "" {
		c.report.NotRolled(&w, kept)
	}
}
