package controller

import "github.com/reroll-dev/reroll/internal/workload"

// putBorrower takes a workload whose pod template another object has. That object is rolled in its place.
func (c *Controller) putBorrower(w workload.Workload, live, tells bool) {
	before, known := c.state.Borrower(w.Key)
	known = known && before.UID == w.UID
	if _, rolled := c.kinds[w.Borrows.Kind]; !rolled && (!tells || !c.acting.Load()) && (!known || *before.Borrows != *w.Borrows) && w.Policy.OptedIn(c.opts.AutoReloadAll) {
		c.log.Warn("a workload is opted in but cannot be rolled: Reroll does not support the kind of object that has its pod template",
			"workload", w.Key.String(), "template", w.Borrows.String())
	}
	if tells {
		former := &before
		if !known {
			former = nil
		}
		c.notifyMisusedWorkload(former, &w)
	}
	lender, lends := c.state.Workload(*w.Borrows)
	c.enqueueLenders(c.state.PutBorrower(w, live), live)
	c.forget(w.Key)
	now, ok := c.state.Workload(*w.Borrows)
	if !ok {
		return
	}
	if tells && lends {
		c.noteOptedIn(&lender, &now)
	}
	c.trackStatus(now.Key)
}

// enqueueLenders queues the workloads whose template another object uses, after that object has changed.
func (c *Controller) enqueueLenders(keys []workload.Key, live bool) {
	for _, key := range keys {
		c.enqueue(key, live)
	}
}
