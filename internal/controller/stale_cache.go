package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// watchTakes is how long after a snapshot the watch may need for what is newer. If it has not come by then, it never will: the
// storage of the API server was restored from a backup.
const watchTakes = 30 * time.Second

// watchAgain is how soon is looked whether it has come.
const watchAgain = time.Second

// behind tells that what is known of a workload is from before our latest write, so that nothing follows from it yet.
func (c *Controller) behind(w *workload.Workload) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.isBehind(w)
}

// isBehind is that for who holds the lock.
func (c *Controller) isBehind(w *workload.Workload) bool {
	if !c.state.Behind(w) {
		delete(c.setBack, w.Key)
		return false
	}
	since, ok := c.setBack[w.Key]
	if !ok {
		since = c.clock.Now()
		c.setBack[w.Key] = since
	}
	if c.clock.Since(since) < watchTakes {
		return true
	}
	c.state.GoneBack(w.Key)
	delete(c.setBack, w.Key)
	return false
}
