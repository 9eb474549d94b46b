package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// tries are those in a row that did not succeed.
type tries struct {
	all int
	// failed are those that met no mere conflict.
	failed int
}

// triesOf is how many looks in a row did not succeed.
func (q *queue) triesOf(key workload.Key) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tries[key].all
}

// retry asks for another look after a conflict, later each time.
func (q *queue) retry(key workload.Key) { q.again(key, false) }

// failed asks for another look after a failure, later each time. It tells when, and how many failures in a row there
// were before this one.
func (q *queue) failed(key workload.Key) (delay time.Duration, before int) {
	delay, t := q.again(key, true)
	return delay, t.failed
}

// again also tells what there was before.
func (q *queue) again(key workload.Key, failed bool) (time.Duration, tries) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := q.tries[key]
	now := before
	now.all++
	if failed {
		now.failed++
	}
	q.tries[key] = now
	delay := lastRetry
	if before.all < 16 {
		delay = min(firstRetry<<before.all, lastRetry)
	}
	return q.setLater(key, delay), before
}

const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 5 * time.Minute
)

// succeeded lets the next failure start from the shortest delay again.
func (q *queue) succeeded(key workload.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.tries, key)
	if it, ok := q.waiting[key]; ok {
		q.place(it) // what has come meanwhile is none that fails
	}
}
