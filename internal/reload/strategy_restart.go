package reload

import (
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/workload"
)

// restart restarts the Pods without a change of the pod template. Only some custom kinds have a
// field for that.
type restart struct{}

func (restart) mark(d *Decision, _ *workload.Workload, _ digest.SecretMarks, now time.Time) workload.Marking {
	return workload.Marking{RestartAt: d.restartAt(now)}
}

// Removing the time of a completed restart has no effect.
func (restart) against(*workload.Workload, []Concern) string { return "" }

// restartAt is the time before which created Pods are restarted. It is in whole seconds, like the
// creation times of Pods, and rounded up: a Pod of the second of the change does not count as
// created after it. The change has the time of the API server, whose clock may be ahead of ours.
func (d *Decision) restartAt(now time.Time) string {
	for _, c := range d.Changes {
		if c.Source.DataTime.After(now) {
			now = c.Source.DataTime
		}
	}
	return now.Truncate(time.Second).Add(time.Second).UTC().Format(time.RFC3339)
}
