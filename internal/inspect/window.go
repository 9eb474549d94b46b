package inspect

import "github.com/reroll-dev/reroll/internal/annotations"

// nextOpening returns when a workload whose window is closed is rolled.
func (x *Explanation) nextOpening() string {
	if x.Gate.Until.IsZero() {
		return "nothing, until the window is changed; to roll it now, set " + annotations.Urgent + ": \"true\" on the changed source"
	}
	return "Reroll rolls it with the newest data at " + x.Gate.When(x.Now.Location()) + "; to roll it now, set " + annotations.Urgent + ": \"true\" on the changed source"
}
