package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// record is what the controller keeps of one workload beside the state. The zero value is that of a workload with nothing to
// keep. To forget the workload is to delete its record.
type record struct {
	// conflicted reports that others had changed the workload when we wrote. It is reconciled again when the watch brings the
	// newer version.
	conflicted bool
	// staleSince is since when the workload is known only as it was before our latest write.
	staleSince time.Time
	// sent is a write of which no answer came.
	sent *sent
	// restored is when Reroll wrote the ledger back after another client had removed it.
	restored restored
	// awaitsSince is since when Reroll waits for a rollout whose end shows whether Pods are out of
	// date.
	awaitsSince time.Time
	// adoptAt is when a workload without a ledger may have its first one.
	adoptAt time.Time

	// tracking is its latest reload, as long as that has not come to its end.
	tracking *tracked
	// others is a rollout by another client that may leave Pods with the previous data, until the status shows
	// it.
	others *othersRollout
	// resumed is a pause of ours that has ended.
	resumed *ended

	// dryRun is, in a dry run, the ledger that would have been written.
	dryRun string
	// accepted is what the receiver accepted and no ledger records yet.
	accepted accepted
	// newcomer reports that the workload has begun to ask for something while we ran, and that no event shows yet what is
	// watched for it.
	newcomer *newcomer
	// given are the notices that were given once.
	given *given
}

// with calls a function with the record of a workload while it holds the lock. An empty record is not kept, so that thousands
// of idle workloads cost nothing.
func (c *Controller) with(key workload.Key, f func(*record)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.withLocked(key, f)
}

// withLocked is with for a caller that holds the lock.
func (c *Controller) withLocked(key workload.Key, f func(*record)) {
	r, known := c.records[key]
	if !known {
		r = &c.blank // most events change nothing, and need no memory of their own
	}
	f(r)
	switch {
	case *r == record{}:
		delete(c.records, key)
	case !known:
		c.records[key] = new(c.blank)
		c.blank = record{}
	}
}

// recordOf returns a copy of the record of a workload.
func (c *Controller) recordOf(key workload.Key) record {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, known := c.records[key]; known {
		return *r
	}
	return record{}
}
