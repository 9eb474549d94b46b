package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// restTakes is how long a rollout is waited for whose end would tell whether pods are stale. Some never end.
const restTakes = 2 * time.Minute

// awaitRest asks for a look when the rollout of a workload has ended, or has taken too long.
func (c *Controller) awaitRest(key workload.Key) {
	c.mu.Lock()
	since, ok := c.awaiting[key]
	if !ok {
		since = c.clock.Now()
		c.awaiting[key] = since
	}
	c.mu.Unlock()
	left := max(restTakes-c.clock.Since(since), 0)
	c.queue.later(key, left)
}

// waited tells that the rollout of a workload has taken too long.
func (c *Controller) waited(key workload.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, ok := c.awaiting[key]
	return ok && c.clock.Since(since) >= restTakes
}

// awaits tells whether the end of its rollout is a reason to look at a workload.
func (c *Controller) awaits(key workload.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.awaiting[key]
	return ok
}

// rested ends the waiting.
func (c *Controller) rested(key workload.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.awaiting, key)
}
