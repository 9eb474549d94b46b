package controller

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/internal/workload"
)

// A write that conflicts with one of another client is no failure: the workload is decided again
// when the watch delivers the newer version. If none arrives, the write is retried. After a few
// conflicts in a row, it counts as a failure.

// errOtherVersion means that a test in a JSON patch failed, or that the result was invalid: the API
// server answers both in the same way.
const errOtherVersion = sentinel("the object may have been modified meanwhile")

// toleratedConflicts is how many conflicts or NotFound answers in a row are tolerated before they
// count as a failure. Mostly the watch is only slow, but an admission webhook may reject with the
// same code.
const toleratedConflicts = 5

// isConflict reports whether another client has changed or deleted the object in the meantime, so
// that the watch will show that.
func isConflict(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// decideAgain waits until the watch has brought the version that the API server already has.
func (c *Controller) decideAgain(w *workload.Workload) {
	c.with(w.Key, func(r *record) { r.conflicted = true })
	// That version may have arrived between the decision and now.
	if now, ok := c.state.Workload(w.Key); ok && now.ResourceVersion != w.ResourceVersion {
		c.queue.Add(w.Key, 0, 0)
	}
}

// endConflict is called when an event shows a newer version of a workload. It reports whether a write
// had conflicted.
func (c *Controller) endConflict(key workload.Key) (had bool) {
	c.with(key, func(r *record) { had, r.conflicted = r.conflicted, false })
	return had
}
