package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// rolloutMayTake is how long Reroll waits for a rollout whose end shows whether Pods are out of
// date. Some rollouts never end.
const rolloutMayTake = 2 * time.Minute

// awaitRollout records that Reroll waits for the end of a rollout, and returns how long it still
// waits.
func (c *Controller) awaitRollout(key workload.Key) time.Duration {
	var since time.Time
	c.with(key, func(r *record) {
		if r.awaitsSince.IsZero() {
			r.awaitsSince = c.clock.Now()
		}
		since = r.awaitsSince
	})
	return max(rolloutMayTake-c.clock.Since(since), 0)
}

// rolloutTookTooLong reports whether the rollout of a workload has taken too long.
func (c *Controller) rolloutTookTooLong(key workload.Key) bool {
	since := c.recordOf(key).awaitsSince
	return !since.IsZero() && c.clock.Since(since) >= rolloutMayTake
}

// awaitsRollout reports whether the end of its rollout is a reason to reconcile a workload.
func (c *Controller) awaitsRollout(key workload.Key) bool {
	return !c.recordOf(key).awaitsSince.IsZero()
}

// stopAwaitingRollout records that Reroll no longer waits for the rollout.
func (c *Controller) stopAwaitingRollout(key workload.Key) {
	c.with(key, func(r *record) { r.awaitsSince = time.Time{} })
}
