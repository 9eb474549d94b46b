package inspect

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// awaitsSource reports whether a rollout in progress waits for a missing source: its new Pods
// cannot start, and no other cause is known.
func (a *Answer) awaitsSource() bool {
	switch a.Cause {
	case "", rollout.CauseUnknown, rollout.CauseCannotStart:
		return (a.State == InProgress || a.State == Stuck) && len(a.Missing) > 0 && a.Missing[0].Referenced
	default:
		return false
	}
}

// missing names the first missing source, with the effect on the Pods.
func (a *Answer) missing() string {
	first := &a.Missing[0]
	text := first.Key.String() + " does not exist; "
	if first.Deleted {
		text = first.Key.String() + " was deleted; "
	}
	if first.Referenced {
		text += "new Pods cannot start"
	} else {
		text += "the annotations name it"
	}
	if more := len(a.Missing) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// whenCreated describes the effect of creating the first missing source.
func (x *Explanation) whenCreated() string {
	first := &x.Missing[0]
	text := fmt.Sprintf("waiting for %s to be created", first.Key)
	if first.Reloads {
		text += "; if it then has other data, Reroll rolls the workload"
	}
	return text
}

// consequence describes the effect on Pods if a source that they use is deleted.
func consequence(s *Source) string {
	if workload.Optional(s.Uses) {
		return "new Pods start without it, and existing Pods keep its data"
	}
	return "new Pods cannot start, and existing Pods keep its data"
}
