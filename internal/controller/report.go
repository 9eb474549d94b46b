package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Report receives what users read in the log, in events and in alerts. Its methods must not block.
type Report interface {
	// Reloaded is called after a reload was written, or would have been in a dry run.
	Reloaded(w *workload.Workload, d reload.Decision, took time.Duration)
	// Rolled is called when no Pod from before a reload remains.
	Rolled(w *workload.Workload, o rollout.Outcome, took time.Duration)
	// NotRolled is called when Pods from before a reload stay for a known reason, or for too long.
	// The rollout may still complete. It is also called when a rollout by another client leaves
	// Pods with the previous data on purpose.
	NotRolled(w *workload.Workload, o rollout.Outcome)
	// Reverted is called when another writer removed our mark and Pods from before the change
	// remain.
	Reverted(w *workload.Workload, d reload.Decision)
	// Failed is called when a write failed that will be retried. Again reports whether the try
	// before failed, too.
	Failed(w *workload.Workload, d reload.Decision, err error, retryIn time.Duration, again bool)
	// Notify is called with all other notices for the users of one object.
	Notify(n notice.Notice)
}

// Counter receives what metrics show. Its methods must not block.
type Counter interface {
	// Seen is called for each received object, and Processed when the state contains it and the
	// affected workloads are queued.
	Seen(event, resource string)
	Processed(event, resource string)
	// Spared is called with how many workloads are not reconciled because none of the keys that
	// changed counts for them.
	Spared(workloads int)
	// WatchFailed is called when a watch or a list fails and will be retried.
	WatchFailed()
	// Queued is called when a workload is queued, and Waited when a worker takes it, with how long
	// it was due.
	Queued()
	Waited(late time.Duration)
	// Reconciled is called after each reconciliation.
	Reconciled(Reconciliation)
	// LedgerTaken is called when a ledger was removed or reverted again so soon that Reroll keeps
	// it only in memory.
	LedgerTaken()
	// Undecided is called when nothing shows whether some Secrets of a workload changed.
	Undecided(secrets int)
}
