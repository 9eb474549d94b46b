package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Report is called with what people read: in the log, in events and in alerts. Its methods must not block.
type Report interface {
	Counter
	// Reloaded is called after a reload was written, or would have been in a dry run.
	Reloaded(w *workload.Workload, d reload.Decision, took time.Duration)
	// Rolled is called when no Pod from before a reload is left.
	Rolled(w *workload.Workload, o rollout.Outcome, took time.Duration)
	// NotRolled is called when Pods from before a reload stay for a known reason, or for too long. The rollout may still
	// complete. It is called as well when a rollout of somebody else leaves Pods with the previous data on purpose.
	NotRolled(w *workload.Workload, o rollout.Outcome)
	// Reverted is called when another writer removed our mark and Pods from before the change are left.
	Reverted(w *workload.Workload, d reload.Decision)
	// Failed is called when a write failed that will be retried. Again reports whether the try before failed, too.
	Failed(w *workload.Workload, d reload.Decision, err error, retryIn time.Duration, again bool)
	// LedgerTaken is called when a ledger was removed or set back again, so soon that it is kept in memory alone.
	LedgerTaken(w *workload.Workload, lastWritten time.Time)
	// Undecided is called when nothing shows whether some Secrets of a workload changed.
	Undecided(w *workload.Workload, secrets int)
	// Notify is called with all else that the users of one object should know.
	Notify(n notice.Notice)
}

// Counter is called with what only metrics show.
type Counter interface {
	// Seen is called for each object that arrives, and Processed when it has been taken into the state, with all that
	// follows from it.
	Seen(event, resource string)
	Processed(event, resource string)
	// WatchFailed is called when a watch or a list fails, which will be retried.
	WatchFailed()
	// Queued is called when a workload is queued, and Waited when it is handed out, with by how much that was later than
	// it was due.
	Queued()
	Waited(late time.Duration)
	// Reconciled is called after each reconciliation.
	Reconciled(Reconciliation)
}
