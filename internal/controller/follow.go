package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
)

// followed is a rollout that a reload has begun. That its write was accepted proves little: what counts is that no pod
// of an earlier template is left, which the status of the workload tells without a request.
type followed struct {
	uid types.UID
	// revision is the template that the reload has made.
	revision reload.Digest
	since    time.Time
}

// follow waits for the end of the rollout that a reload has begun.
func (c *Controller) follow(w *reload.Workload) {
	c.mu.Lock()
	c.following[w.Key] = followed{uid: w.UID, revision: w.Revision(), since: c.clock.Now()}
	c.mu.Unlock()
	// The watch may have been quicker than the answer, which may not even have come.
	c.followUp(w.Key)
}

// followUp looks at what is known of a workload now, which is newer than what the watch brings late. Another template ends
// it as well: what follows is the rollout of somebody else, or of our next reload.
func (c *Controller) followUp(key reload.WorkloadKey) {
	c.mu.Lock()
	f, ok := c.following[key]
	c.mu.Unlock()
	if !ok {
		return
	}
	w, there := c.state.Workload(key)
	ours := there && f.uid == w.UID && f.revision == w.Revision()
	if ours && !w.AtRest {
		return
	}
	c.mu.Lock()
	if c.following[key] == f { // and not the next one already
		delete(c.following, key)
	}
	c.mu.Unlock()
	if ours {
		c.report.Rolled(&w, c.clock.Since(f.since))
	}
}

// Following is how many rollouts have begun by a reload and not ended.
func (c *Controller) Following() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.following)
}
