package controller

import "github.com/reroll-dev/reroll/test/simapi"

// carryClasses receives a write of ours.
func (o *oracle) carryClasses(w *workloadTruth, l *look, rolled bool) {
	for name, c := range o.classes.covers[w.uid] {
		if c.covered {
			c.tampered, c.lapsed = w.tampered, c.lapsed && o.knewNoReturn(c, l, name)
			if rolled {
				c.carried = max(c.carried, latestRotation(l.shown[name]).turn)
				c.brought = max(c.brought, l.newest[name])
				c.other = l.other[name]
			}
		}
	}
}

// knewNoReturn reports whether a reconciliation knew that a class had ended its cover, and not that it
// began another one. Its ledger has no entry of the class.
func (o *oracle) knewNoReturn(c *classCover, l *look, name string) bool {
	src := simapi.Source{Resource: simapi.ClassResource, Name: name}
	known := max(l.known[src], l.gone[src])
	return c.ended.by == bySource && c.ended.version <= known && known < c.since
}

// knewLate counts a rollout of ours that a late status excuses.
func (c *classCover) knewLate(late uint64) {
	if c.late != late {
		c.late, c.afterLate = late, 0
	}
	c.afterLate++
}
