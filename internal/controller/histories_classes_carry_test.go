package controller

// carryClasses receives a write of ours.
func (o *oracle) carryClasses(w *workloadTruth, l *look, rolled bool) {
	for name, c := range o.classes.covers[w.uid] {
		if c.covered {
			c.tampered, c.lapsed = w.tampered, false
			if rolled {
				c.carried = max(c.carried, latestRotation(l.shown[name]).turn)
				c.brought = max(c.brought, l.newest[name])
				c.other = l.other[name]
			}
		}
	}
}

// knewLate counts a rollout of ours that a late status excuses.
func (c *classCover) knewLate(late uint64) {
	if c.late != late {
		c.late, c.afterLate = late, 0
	}
	c.afterLate++
}
