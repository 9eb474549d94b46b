package controller

import "github.com/reroll-dev/reroll/internal/workload"

// putTemplateUser stores a workload that uses the pod template of another object. Reroll rolls that
// object instead.
func (c *Controller) putTemplateUser(w workload.Workload, live, notify bool) {
	before, known := c.state.TemplateUser(w.Key)
	known = known && before.UID == w.UID
	inherited := w.Policy.Under(c.state.Defaults(w.Key.Namespace))
	if _, rolled := c.kinds[w.TemplateOwner.Kind]; !rolled && (!notify || !c.acting.Load()) && (!known || *before.TemplateOwner != *w.TemplateOwner) && inherited.OptedIn(c.opts.AutoReloadAll) {
		c.log.Warn("a workload is opted in but cannot be rolled: Reroll does not support the kind of object that has its pod template",
			"workload", w.Key.String(), "template", w.TemplateOwner.String())
	}
	if notify {
		former := &before
		if !known {
			former = nil
		}
		c.notifyMistakesOfWorkload(former, &w)
	}
	owner, ownerKnown := c.state.Workload(*w.TemplateOwner)
	c.enqueueTemplateOwners(c.state.PutTemplateUser(w, live), live)
	c.forget(w.Key)
	now, ok := c.state.Workload(*w.TemplateOwner)
	if !ok {
		return
	}
	if notify && ownerKnown {
		c.noteOptedIn(&owner.Policy, &now)
	}
	c.trackStatus(now.Key)
	c.updateFleets(now.Key)
}

// enqueueTemplateOwners queues the template owners that have to be reconciled after a change of
// their users.
func (c *Controller) enqueueTemplateOwners(keys []workload.Key, live bool) {
	for _, key := range keys {
		c.enqueue(key, live)
	}
}
