package controller

import "github.com/reroll-dev/reroll/test/simapi"

// carryClasses receives a write of ours.
func (o *oracle) carryClasses(w *workloadTruth, l *look, rolled bool) {
	for name, c := range o.classes.covers[w.uid] {
		c.unrolled = c.unrolled && !rolled
		if c.covered {
			c.tampered, c.lapsed = w.tampered, c.lapsed && o.knewNoReturn(c, l, name)
			c.recorded, c.told = latestRotation(l.shown[name]).turn, l.newest[name]
			if rolled {
				c.carried = max(c.carried, c.recorded)
				c.brought = max(c.brought, l.newest[name])
				c.other = l.other[name]
			}
			c.unrolled = c.recorded > c.carried && len(w.reloads) > 0
		}
	}
}

// turnedUnrolled reports whether our last ledger has a turn that Pods have without our last rollout. Then it
// no longer vouches that this rollout started all of them.
func (o *oracle) turnedUnrolled(w *workloadTruth) bool {
	for _, c := range o.classes.covers[w.uid] {
		if c.unrolled {
			return true
		}
	}
	return false
}

// knewNoReturn reports whether a reconciliation knew that a class had ended its cover, and not that it
// began another one. Its ledger has no entry of the class.
func (o *oracle) knewNoReturn(c *classCover, l *look, name string) bool {
	src := simapi.Source{Resource: simapi.ClassResource, Name: name}
	known := max(l.known[src], l.gone[src])
	return c.ended.by == bySource && c.ended.version <= known && known < c.since
}

// knewLate reports whether a late status excuses a rollout of ours, and counts these rollouts. The
// data seems to return with the status, and to come again, so that two have a reason. A reload that
// waited was counted when it began to wait.
func (c *classCover) knewLate(late uint64, waited bool) bool {
	switch {
	case c.late != late:
		c.late, c.afterLate = late, 0
	case late == 0:
		return false
	case waited:
		return true
	case c.afterLate == 2:
		return false
	}
	c.afterLate++
	return true
}
