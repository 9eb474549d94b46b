package controller

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// The schedule of a CronJob continues while a reload waits for a gate, and its next run has the
// changed data. The API shows when a run began, but not always when data changed. So Reroll lists the
// runs when a reload begins to wait. A run that a later list adds began after that.

// begunRuns are the runs of a workload that had begun at a list.
type begunRuns struct {
	// version is a resource version that the list contained.
	version uint64
	// since has, by the UID of a run, a version after which it began, 0 if none is known.
	since map[types.UID]uint64
}

// with returns the runs of a later list.
func (b *begunRuns) with(jobs []*batchv1.Job, version uint64) *begunRuns {
	next := &begunRuns{version: version, since: map[types.UID]uint64{}}
	for _, job := range jobs {
		if _, begun := kinds.Begun(job); !begun {
			continue
		}
		if b == nil {
			next.since[job.UID] = 0
		} else if since, known := b.since[job.UID]; known {
			next.since[job.UID] = since
		} else {
			next.since[job.UID] = b.version + 1
		}
	}
	return next
}

// noteBegun notes the runs of a list that was requested when a version was known.
func (c *Controller) noteBegun(w *workload.Workload, jobs []*batchv1.Job, version uint64) {
	c.with(w.Key, func(r *record) {
		r.begun = r.begun.with(jobs, version)
		for _, since := range r.begun.since {
			w.Runs.Since = max(w.Runs.Since, since)
		}
	})
}

// listHeld lists the runs of a workload whose reload waits, once for each change.
func (c *Controller) listHeld(ctx context.Context, facts *reload.Facts, d *reload.Decision) error {
	if !facts.NeedsBegin(*d) {
		return nil
	}
	begun := c.recordOf(facts.Workload.Key).begun
	if begun != nil && !slices.ContainsFunc(d.Changes, func(ch reload.Concern) bool { return ch.Seen.LaterThan(begun.version) }) {
		return nil
	}
	jobs, err := c.jobsOf(ctx, &facts.Workload)
	if err != nil {
		return err
	}
	c.noteBegun(&facts.Workload, jobs, facts.Version)
	return nil
}

// forgetBegun forgets the runs of a workload that no reload waits for.
func (c *Controller) forgetBegun(key workload.Key) {
	c.with(key, func(r *record) { r.begun = nil })
}
