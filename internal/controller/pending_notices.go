package controller

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Between the first snapshots and the moment in which this instance begins to act, users go on writing. Nobody else may be there
// to answer them, so it is kept until this one acts, or until another one is seen to.

// subject is a workload or a source that something is to be told about.
type subject struct {
	workload workload.Key
	source   source.Key
}

// untold is what is wrong with the annotations of a subject and was not told yet.
type untold struct {
	uid types.UID
	// known is what was wrong before.
	known []annotations.Problem
	tell  func()
}

// tellNew tells what is wrong and was not before, at once or when this instance begins to act.
func (c *Controller) tellNew(about subject, uid types.UID, now, known []annotations.Problem, tell func([]annotations.Problem)) {
	c.mu.Lock()
	if u, waits := c.untold[about]; waits && u.uid == uid {
		known = u.known
	}
	if problems := newAmong(now, known); len(problems) > 0 {
		c.untold[about] = untold{uid, known, func() { tell(problems) }}
	} else {
		delete(c.untold, about)
	}
	c.mu.Unlock()
	if c.acting.Load() {
		c.tellUntold(about)
	}
}

func (c *Controller) tellUntold(about subject) {
	c.mu.Lock()
	u, waits := c.untold[about]
	delete(c.untold, about)
	c.mu.Unlock()
	if waits {
		u.tell()
	}
}

// tellAllUntold is for when this instance has begun to act. What comes meanwhile is told by whoever brings it.
func (c *Controller) tellAllUntold() {
	c.mu.Lock()
	all := slices.Collect(maps.Keys(c.untold))
	c.mu.Unlock()
	for _, about := range all {
		c.tellUntold(about)
	}
}

// unsay drops what is not told yet about what is gone.
func (c *Controller) unsay(gone func(subject) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.untold, func(about subject, _ untold) bool { return gone(about) })
}

func (c *Controller) unsayWorkloads(kind string, gone func(types.NamespacedName) bool) {
	c.unsay(func(about subject) bool {
		of := about.workload
		return of.Kind == kind && gone(types.NamespacedName{Namespace: of.Namespace, Name: of.Name})
	})
}

func (c *Controller) unsaySources(kind source.Kind, gone func(types.NamespacedName) bool) {
	c.unsay(func(about subject) bool {
		of := about.source
		return of != source.Key{} && of.Kind == kind && gone(types.NamespacedName{Namespace: of.Namespace, Name: of.Name})
	})
}

// is tells a name from others.
func is(name types.NamespacedName) func(types.NamespacedName) bool {
	return func(other types.NamespacedName) bool { return other == name }
}

// anotherActs is called while this instance waits, each time another one is seen to act. That one has told what is there, but for
// workloads at which it looks only after their quiet period.
func (c *Controller) anotherActs() {
	if c.acting.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.untold)
	now := c.clock.Now()
	for key, r := range c.records {
		if r.newcomer != nil && !now.Before(r.newcomer.due) {
			c.withLocked(key, func(r *record) { r.newcomer = nil })
		}
	}
}

// lookedAt is when a workload that changes now has been looked at by whoever acts.
func (c *Controller) lookedAt(w *workload.Workload) time.Time { return c.clock.Now().Add(c.settle(w)) }
