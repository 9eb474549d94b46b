package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// restTakes is how long Reroll waits for a rollout whose end shows whether Pods are out of date. Some
// rollouts never end.
const restTakes = 2 * time.Minute

// awaitRest notes that the end of a rollout is awaited, and returns after which time it has taken too long.
func (c *Controller) awaitRest(key workload.Key) time.Duration {
	var since time.Time
	c.with(key, func(r *record) {
		if r.awaitsSince.IsZero() {
			r.awaitsSince = c.clock.Now()
		}
		since = r.awaitsSince
	})
	return max(restTakes-c.clock.Since(since), 0)
}

// restTookTooLong reports whether the rollout of a workload has taken too long.
func (c *Controller) restTookTooLong(key workload.Key) bool {
	since := c.recordOf(key).awaitsSince
	return !since.IsZero() && c.clock.Since(since) >= restTakes
}

// awaitsRest reports whether the end of its rollout is a reason to reconcile a workload.
func (c *Controller) awaitsRest(key workload.Key) bool {
	return !c.recordOf(key).awaitsSince.IsZero()
}

// stopAwaitingRest ends the waiting.
func (c *Controller) stopAwaitingRest(key workload.Key) {
	c.with(key, func(r *record) { r.awaitsSince = time.Time{} })
}
