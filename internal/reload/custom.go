package reload

import "time"

// Shape is what has to be known of an object to change single entries of its
// lists where nothing merges them by name.
type Shape struct {
	// Template are the fields that lead to the pod template.
	Template []string
	// These maps are there, and need not be made.
	Annotations, TemplateMetadata, TemplateAnnotations bool
	// Variables are, for each regular container, the names in its environment.
	Variables [][]string
}

// restarts tells that a reload of the workload is a restart of its pods that
// leaves the template alone.
func (w *Workload) restarts() bool {
	return w.Restartable && w.Policy.RolloutStrategy() == RolloutRestart
}

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
