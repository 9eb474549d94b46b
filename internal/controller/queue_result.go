package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// result is what came of the work on one key. The queue that handed the key out acts on it, so that a worker only says what
// happened.
type result struct {
	outcome outcome
	// after is how long to wait.
	after time.Duration
	// report is called with when the next try is, and whether the try before failed, too.
	report func(retryIn time.Duration, again bool)
}

type outcome uint8

const (
	// pending: something else asks for more when it is time, such as a watch.
	pending outcome = iota
	finished
	waiting
	conflicted
	failed
)

// waitFor asks for another try after a while.
func waitFor(after time.Duration) result { return result{outcome: waiting, after: after} }

// failedWith asks for another try, later each time, and has the failure reported.
func failedWith(report func(retryIn time.Duration, again bool)) result {
	return result{outcome: failed, report: report}
}

// finish takes a key back with what came of the work on it.
func (q *queue) finish(key workload.Key, r result) {
	switch r.outcome {
	case finished:
		q.succeeded(key)
	case waiting:
		q.later(key, r.after)
	case conflicted:
		q.retry(key)
	case failed:
		retryIn, before := q.failed(key)
		r.report(retryIn, before > 0)
	}
	q.done(key)
}

// serve hands out one key after the other until stop closes.
func (q *queue) serve(stop <-chan struct{}, work func(workload.Key) result) {
	for {
		key, ok := q.next(stop)
		if !ok {
			return
		}
		q.finish(key, work(key))
	}
}

// retryAfter is an error that is none: it is too early, and the next try is after this.
type retryAfter time.Duration

// Error returns the message.
func (r retryAfter) Error() string {
	return "it is too early; the next try is in " + time.Duration(r).String()
}
