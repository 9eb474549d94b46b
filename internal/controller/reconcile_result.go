package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// Reconciliation describes one reconciliation of a workload, for metrics.
type Reconciliation struct {
	Kind   string
	Result Result
	// Scanned reports whether the workload existed and a decision was made, Matched whether it has
	// to be reloaded.
	Scanned, Matched bool
	// Skipped is why the workload was not reloaded although the reconciliation succeeded; empty if
	// it was.
	Skipped Skipped
	Took    time.Duration
}

// Result is how a reconciliation ended.
type Result string

// The results.
const (
	Succeeded Result = "success"
	// Requeued means that it is too early, or that another writer was faster: the workload is
	// reconciled again.
	Requeued Result = "requeued"
	Erred    Result = "error"
)

// resultIn is the result in the metrics.
func resultIn(r workqueue.Result) Result {
	switch {
	case r.IsFinished():
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
	// SkippedUnchanged means that its Pods use the current data.
	SkippedUnchanged Skipped = "unchanged"
	// SkippedGone means that the workload or its namespace was deleted, is being deleted, or is not
	// selected.
	SkippedGone Skipped = "gone"
	// SkippedLeft means that Reroll rolls its owner instead.
	SkippedLeft Skipped = "left_to_owner"
	// SkippedOther means that another installation of Reroll reloads it.
	SkippedOther Skipped = "other_installation"
	// SkippedReverted means that another client removes every mark, so Reroll has stopped trying.
	SkippedReverted Skipped = "reverted"
	// SkippedKeys means that only keys changed that do not count for the workload, so that it was not
	// reconciled.
	SkippedKeys Skipped = "other_keys"
	// SkippedDryRun means that the controller only reported the reload.
	SkippedDryRun Skipped = "dry_run"
)

// Results are all results.
func Results() []Result { return []Result{Succeeded, Requeued, Erred} }

// SkipReasons are all reasons.
func SkipReasons() []Skipped {
	return []Skipped{SkippedUnchanged, SkippedGone, SkippedLeft, SkippedOther, SkippedReverted, SkippedKeys, SkippedDryRun}
}

func (c *Controller) countReconciliation(key workload.Key, began time.Time, l Reconciliation) {
	l.Kind, l.Took = key.Kind, c.clock.Since(began)
	c.counter.Reconciled(l)
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

// errLater means that it is too early. A watch or a queue triggers the next reconciliation.
const errLater = sentinel("it is too early")

type sentinel string

// Error returns the message.
func (e sentinel) Error() string { return string(e) }

// retryAfter is not a failure: it is too early, and the next try is after this duration.
type retryAfter time.Duration

// Error returns the message.
func (r retryAfter) Error() string {
	return "it is too early; retrying in " + time.Duration(r).String()
}
