package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// Reconciliation is what came of the work on a workload.
type Reconciliation struct {
	Kind   string
	Result Result
	// Scanned reports whether the workload was there and was decided on, Matched that it has to be rolled.
	Scanned, Matched bool
	// Skipped is why it was not rolled although the reconciliation succeeded; empty if it was.
	Skipped Skipped
	Took    time.Duration
}

// Result is how a reconciliation ended.
type Result string

// The results.
const (
	Succeeded Result = "success"
	// Requeued means that it is too early, or that another writer was quicker: it is reconciled again.
	Requeued Result = "requeued"
	Erred    Result = "error"
)

// resultIn is how a result counts in the metrics.
func resultIn(r workqueue.Result) Result {
	switch {
	case r.Succeeded():
		return Succeeded
	case r.HasFailed():
		return Erred
	default:
		return Requeued
	}
}

// Skipped is why a workload was not rolled.
type Skipped string

// The reasons.
const (
	// SkippedUnchanged means that its pods have what its sources hold.
	SkippedUnchanged Skipped = "unchanged"
	// SkippedGone means that it or its namespace is gone, is being deleted, or is not selected.
	SkippedGone Skipped = "gone"
	// SkippedLeft means that another workload makes it, which is rolled in its place.
	SkippedLeft Skipped = "left_to_owner"
	// SkippedOther means that another installation of Reroll reloads it.
	SkippedOther Skipped = "other_installation"
	// SkippedReverted means that somebody takes every mark back, so nothing more is tried.
	SkippedReverted Skipped = "reverted"
	// SkippedDryRun means that it would have been.
	SkippedDryRun Skipped = "dry_run"
)

// Results and SkipReasons are all there are.
func Results() []Result { return []Result{Succeeded, Requeued, Erred} }

// SkipReasons are all there are.
func SkipReasons() []Skipped {
	return []Skipped{SkippedUnchanged, SkippedGone, SkippedLeft, SkippedOther, SkippedReverted, SkippedDryRun}
}

func (c *Controller) countReconciliation(key workload.Key, began time.Time, l Reconciliation) {
	l.Kind, l.Took = key.Kind, c.clock.Since(began)
	c.report.Reconciled(l)
}

func (c *Controller) reconciliationOf(d reload.Decision, err error, r workqueue.Result) Reconciliation {
	l := Reconciliation{Result: resultIn(r), Scanned: true, Matched: d.Action == reload.Reload}
	switch {
	case l.Result != Succeeded:
	case err != nil:
		l.Skipped = SkippedGone
	case d.Action == reload.Reload && c.opts.DryRun:
		l.Skipped = SkippedDryRun
	case d.Action == reload.Reload:
	case d.LeftTo != "":
		l.Skipped = SkippedOther
	case d.Reverted != nil && d.Reverted.Final:
		l.Skipped = SkippedReverted
	default:
		l.Skipped = SkippedUnchanged
	}
	return l
}

const (
	// errOtherVersion means that a test in a patch failed, or that the result was refused: the answer is the same for both.
	errOtherVersion = sentinel("the object may have been modified meanwhile")
	// errLater means that it is too early. A watch or a queue reports when it no longer is.
	errLater = sentinel("it is too early")
)

type sentinel string

// Error returns the message.
func (e sentinel) Error() string { return string(e) }

// retryAfter is an error that is none: it is too early, and the next try is after this.
type retryAfter time.Duration

// Error returns the message.
func (r retryAfter) Error() string {
	return "it is too early; retrying in " + time.Duration(r).String()
}
