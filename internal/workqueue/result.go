package workqueue

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Result is the outcome of the work on one key. The queue that handed the key out acts on it, so
// that a worker only returns the outcome.
type Result struct {
	outcome outcome
	// after is how long to wait.
	after time.Duration
	// report is called with when the next try is, and whether the try before failed, too.
	report func(retryIn time.Duration, again bool)
}

type outcome uint8

const (
	isPending outcome = iota
	isFinished
	isWaiting
	isConflicted
	isFailed
)

// Pending requeues nothing, because a watch or another queue triggers the next try.
func Pending() Result { return Result{} }

// Finished resets the retry delay.
func Finished() Result { return Result{outcome: isFinished} }

// WaitFor requeues the key after a delay.
func WaitFor(after time.Duration) Result { return Result{outcome: isWaiting, after: after} }

// Conflicted requeues the key, later each time, after a conflict with another writer.
func Conflicted() Result { return Result{outcome: isConflicted} }

// FailedWith requeues the key, later each time, and has the failure reported; not if report is nil.
func FailedWith(report func(retryIn time.Duration, again bool)) Result {
	return Result{outcome: isFailed, report: report}
}

// IsFinished reports whether the work on the workload is done.
func (r Result) IsFinished() bool { return r.outcome == isFinished }

// HasFailed reports whether the key is retried because of a failure.
func (r Result) HasFailed() bool { return r.outcome == isFailed }

// Finish takes a key back with the outcome of the work on it.
func (q *Queue) Finish(key workload.Key, r Result) {
	switch r.outcome {
	case isFinished:
		q.ResetRetries(key)
	case isWaiting:
		q.Later(key, r.after)
	case isConflicted:
		q.Retry(key)
	case isFailed:
		if retryIn, before := q.Failed(key); r.report != nil {
			r.report(retryIn, before > 0)
		}
	}
	q.Done(key)
}

// Serve hands out one key after the other until stop closes.
func (q *Queue) Serve(stop <-chan struct{}, work func(workload.Key) Result) {
	for {
		key, ok := q.Next(stop)
		if !ok {
			return
		}
		q.Finish(key, work(key))
	}
}

// ServeMany is Serve for work on all keys that are due, but at most on so many at a time. Work
// returns the outcome of each.
func (q *Queue) ServeMany(stop <-chan struct{}, most func() int, work func([]workload.Key) []Result) {
	for {
		first, ok := q.Next(stop)
		if !ok {
			return
		}
		keys := append([]workload.Key{first}, q.Due(most()-1)...)
		for i, r := range work(keys) {
			q.Finish(keys[i], r)
		}
	}
}
