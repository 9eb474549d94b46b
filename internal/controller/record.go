package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/workload"
)

// record is the data about one workload that is not in the state. The zero value is the record of a
// workload without such data. Deleting the record forgets the workload. It has many fields because
// most parts of the controller keep something about a workload.
type record struct {
	// conflicted reports that another client changed the workload when Reroll wrote. The workload
	// is reconciled when the watch brings the newer version.
	conflicted bool
	// staleSince is since when the cache of the workload is older than our latest write.
	staleSince time.Time
	// sent is a write whose response was lost.
	sent *sent
	// refused counts the writes in a row that failed, by their weight.
	refused int
	// restored is when Reroll wrote the ledger back after another client had removed it.
	restored time.Time
	// awaitsSince is since when Reroll waits for a rollout whose end shows whether Pods are out of
	// date.
	awaitsSince time.Time
	// adoptAt is the earliest time of the first ledger.
	adoptAt time.Time

	// tracking is the latest reload until its rollout has ended.
	tracking *tracked
	// available is since when a workload has been available that rolls in waves.
	available available
	// others is a rollout by another client that may leave Pods with the previous data, until the
	// status shows whether it does.
	others *othersRollout
	// resumed is a pause that Reroll has ended.
	resumed *ended

	// accepted is a notification that the receiver accepted and that no ledger contains yet.
	accepted accepted
	// newcomer reports that the annotations of the workload changed while the controller ran, and
	// that no event shows yet which sources are watched for it.
	newcomer *newcomer
	// missing are the sources that the workload lacks; nil if it lacks none.
	missing *missing
	// asks are the sources of other namespaces that it names and that do not allow it; nil if there
	// are none.
	asks *missing
	// awaits is the closed gate that a reload of the workload waits for.
	awaits awaitedGate
	// asked is the latest request for approval that was reported.
	asked askedApproval
	// owes is the note in the ledger of which a user was not notified yet: the response to its write
	// may have been lost.
	owes digest.Digest
	// begun are the runs that had begun when a reload began to wait; nil if none waits.
	begun *begunRuns
	// emitted are the notices that are emitted only once.
	emitted *emitted
}

// with calls a function with the record of a workload while it holds the lock. An empty record is
// deleted, so that thousands of idle workloads cost nothing.
func (c *Controller) with(key workload.Key, f func(*record)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.withLocked(key, f)
}

// withLocked is with for callers that hold c.mu.
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
