package reload

import (
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/workload"
)

// restart starts the pods anew and leaves the pod template alone. Only some
// custom kinds have a field for that.
type restart struct{}

func (restart) mark(d *Decision, _ *workload.Workload, _ digest.SecretMarks, now time.Time) workload.Marking {
	return workload.Marking{RestartAt: d.restartAt(now)}
}

// Removing the time of a completed restart undoes nothing.
func (restart) against(*workload.Workload, []Concern) string { return "" }

// restartAt is the time before which pods are to be started anew, in whole
// seconds as the times of pods are: rounded up, so that a pod that was made in
// the second of the change is not taken for one that was made after it. That
// time is the API server's, by which ours may be late.
func (d *Decision) restartAt(now time.Time) string {
	for _, c := range d.Changes {
		if c.Source.DataTime.After(now) {
			now = c.Source.DataTime
		}
	}
	return now.Truncate(time.Second).Add(time.Second).UTC().Format(time.RFC3339)
}
