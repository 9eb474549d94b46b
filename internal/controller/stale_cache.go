package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// watchTakes is how long after a snapshot the watch may need to bring newer versions. After that
// they will never come: the storage of the API server was restored from a backup.
const watchTakes = 30 * time.Second

// watchAgain is how soon a workload with a stale cache is retried.
const watchAgain = time.Second

// isStale reports whether the cache of a workload is older than our latest write. Then nothing may
// be decided from it.
func (c *Controller) isStale(w *workload.Workload) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isStaleLocked(w)
}

// isStaleLocked reports whether the cache is older than our last write. The caller holds c.mu.
func (c *Controller) isStaleLocked(w *workload.Workload) bool {
	stale := false
	c.withLocked(w.Key, func(r *record) {
		if !c.state.IsStale(w) {
			r.staleSince = time.Time{}
			return
		}
		if r.staleSince.IsZero() {
			r.staleSince = c.clock.Now()
		}
		if stale = c.clock.Since(r.staleSince) < watchTakes; !stale {
			c.state.ResetStale(w.Key)
			r.staleSince = time.Time{}
		}
	})
	return stale
}
