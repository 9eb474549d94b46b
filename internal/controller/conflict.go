package controller

import "github.com/reroll-dev/reroll/internal/workload"

// errOtherVersion means that a test in a JSON patch failed, or that the result was invalid: the API
// server answers both in the same way.
const errOtherVersion = sentinel("the object may have been modified meanwhile")

// toleratedConflicts is how many conflicts or NotFound answers in a row are tolerated before they
// count as a failure. Mostly the watch is only slow, but an admission webhook may reject with the
// same code.
const toleratedConflicts = 5

// decideAgain waits until the watch has brought the version that the API server already has.
func (c *Controller) decideAgain(w *workload.Workload) {
	c.with(w.Key, func(r *record) { r.conflicted = true })
	// That version may have arrived between the decision and now.
	if now, ok := c.state.Workload(w.Key); ok && now.ResourceVersion != w.ResourceVersion {
		c.queue.Add(w.Key, 0, 0)
	}
}
