package workqueue

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// tries counts how often in a row a workload was tried without success.
type tries struct {
	all int
	// failed does not count conflicts.
	failed int
}

// TriesOf is how often in a row a workload was tried without success.
func (q *Queue) TriesOf(key workload.Key) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tries[key].all
}

// Retry queues a workload again after a conflict, later each time.
func (q *Queue) Retry(key workload.Key) { q.again(key, false) }

// Failed queues a workload again after a failure, later each time. It returns the delay, and how
// many failures in a row there were before.
func (q *Queue) Failed(key workload.Key) (delay time.Duration, before int) {
	delay, t := q.again(key, true)
	return delay, t.failed
}

// again also returns the tries before.
func (q *Queue) again(key workload.Key, failed bool) (time.Duration, tries) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := q.tries[key]
	now := before
	now.all++
	if failed {
		now.failed++
	}
	q.tries[key] = now
	delay := LastRetry
	if before.all < 16 {
		delay = min(FirstRetry<<before.all, LastRetry)
	}
	return q.setLater(key, delay), before
}

// FirstRetry is the delay after the first try without success. It doubles with each further one, up
// to LastRetry.
const (
	FirstRetry = 500 * time.Millisecond
	LastRetry  = 5 * time.Minute
)

// ResetRetries resets the retry delay.
func (q *Queue) ResetRetries(key workload.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.tries, key)
	if it, ok := q.waiting[key]; ok {
		q.place(it) // a new change does not count as failing
	}
}
