// Package workqueue decides when a workload is due: after the settle period of its sources, after a
// wait, or for a retry. It does not know the work.
//
// Unlike the queue of client-go, it postpones an item with each further change up to a limit, keeps
// failing items from using all workers, and adopts only if nothing else is due.
package workqueue

import (
	"container/heap"
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Queue contains the workloads to reconcile, each until it is due. A workload that a worker has is
// not handed out again before Done.
type Queue struct {
	clock clock.Clock

	mu      sync.Mutex
	waiting map[workload.Key]*item
	order   byDue
	// failing are the workloads whose last try failed. Only some of them are handed out at a time.
	failing byDue
	// low are the workloads that only have to be adopted: they are handed out if nothing else is
	// due.
	low  byDue
	busy map[workload.Key]struct{}
	// retried are the busy workloads that were handed out from failing, and mostRetried bounds
	// their number.
	retried     map[workload.Key]struct{}
	mostRetried int
	tries       map[workload.Key]tries
	wake        chan struct{}

	// queued is called for each workload that is queued, and waited when it is handed out, with by
	// how much that was later than it was due.
	queued func()
	waited func(late time.Duration)
	// began is when the workers started.
	began time.Time
}

// item is one workload that waits.
type item struct {
	key   workload.Key
	first time.Time
	due   time.Time
	// low reports that the workload is only to be adopted.
	low bool
	// heap is the heap that contains the item, and at its position there; -1 while the workload is
	// busy.
	heap *byDue
	at   int
}

// New returns an empty queue for one worker.
func New(c clock.Clock) *Queue {
	return &Queue{
		clock:       c,
		waiting:     map[workload.Key]*item{},
		busy:        map[workload.Key]struct{}{},
		retried:     map[workload.Key]struct{}{},
		mostRetried: math.MaxInt,
		tries:       map[workload.Key]tries{},
		wake:        make(chan struct{}, 1),
		queued:      func() {},
		waited:      func(time.Duration) {},
	}
}

// Observe sets functions that are called for each queued workload, and for each one that is handed
// out, with how long it was due.
func (q *Queue) Observe(queued func(), waited func(late time.Duration)) {
	q.queued, q.waited = queued, waited
}

// NewShared returns a queue for several workers. At most a quarter of them are busy with workloads
// whose last try failed: each of those may take until its requests time out, and there may be a
// thousand of them.
func NewShared(c clock.Clock, workers int) *Queue {
	q := New(c)
	q.mostRetried = max(workers/4, 1)
	return q
}

// Begin records that the workers start. Workloads that became due earlier, on a standby, do not
// count as late until now.
func (q *Queue) Begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.began = q.clock.Now()
}

// Add queues a workload until the settle period is over, but no longer than most after it was first
// queued.
func (q *Queue) Add(key workload.Key, settle, most time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.set(key, settle, most, false)
}

// Later queues a workload for another try after a while. If the workload is due earlier, nothing
// changes: a change does not wait for another reason to reconcile.
func (q *Queue) Later(key workload.Key, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.setLater(key, wait)
}

// setLater returns how long the workload really waits.
func (q *Queue) setLater(key workload.Key, wait time.Duration) time.Duration {
	now := q.clock.Now()
	if it, ok := q.waiting[key]; ok && it.due.Before(now.Add(wait)) {
		return it.due.Sub(now)
	}
	q.set(key, wait, wait, false)
	return wait
}

// AddLow queues a workload until nothing else is due. A workload that is already queued is not
// changed.
func (q *Queue) AddLow(key workload.Key, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.waiting[key]; !ok {
		q.set(key, wait, wait, true)
	}
}

func (q *Queue) set(key workload.Key, settle, most time.Duration, low bool) {
	now := q.clock.Now()
	it, ok := q.waiting[key]
	if !ok {
		it = &item{key: key, first: now, at: -1}
		q.waiting[key] = it
		q.queued()
	} else if now.Add(settle).Before(it.due) {
		it.first = now // until now it did not wait for the settle period
	}
	it.low = low
	it.due = now.Add(settle)
	if last := it.first.Add(max(most, settle)); last.Before(it.due) {
		it.due = last
	}
	q.place(it)
}

// Drop removes a workload, unless a worker has it, because that worker may queue it again.
func (q *Queue) Drop(key workload.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.waiting[key]
	if _, busy := q.busy[key]; !ok || busy {
		return
	}
	heap.Remove(it.heap, it.at)
	delete(q.waiting, key)
}

// place puts an item into the heap that fits its tries, unless its workload is busy.
func (q *Queue) place(it *item) {
	if _, busy := q.busy[it.key]; !busy {
		in := q.heapOf(it)
		if it.heap != in && it.at >= 0 {
			heap.Remove(it.heap, it.at)
		}
		if it.heap = in; it.at < 0 {
			heap.Push(in, it)
		} else {
			heap.Fix(in, it.at)
		}
	}
	q.rouse()
}

func (q *Queue) heapOf(it *item) *byDue {
	switch {
	case q.tries[it.key].failed > 0:
		return &q.failing
	case it.low:
		return &q.low
	default:
		return &q.order
	}
}

// rouse wakes a worker that sleeps until something is due.
func (q *Queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Next hands out the workload that is due first and waits until there is one. It returns false when
// stop closes.
func (q *Queue) Next(stop <-chan struct{}) (workload.Key, bool) {
	for {
		// Checked first, so that no worker starts another due workload after stop closes.
		select {
		case <-stop:
			return workload.Key{}, false
		default:
		}
		key, wait, ok := q.Pop()
		if ok {
			return key, true
		}
		var due <-chan time.Time
		var timer clock.Timer
		if wait > 0 {
			timer = q.clock.NewTimer(wait)
			due = timer.C()
		}
		select {
		case <-stop:
		case <-q.wake:
		case <-due:
		}
		if timer != nil {
			timer.Stop()
		}
	}
}

// Due hands out workloads that are due, at most the given number.
func (q *Queue) Due(most int) []workload.Key {
	var keys []workload.Key
	for len(keys) < most {
		key, _, ok := q.Pop()
		if !ok {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

// Pop hands out the workload that is due first. If none is, it returns how long until one is; 0 if
// the queue is empty.
func (q *Queue) Pop() (key workload.Key, wait time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	for _, h := range []*byDue{q.ahead(), &q.low} {
		if len(*h) == 0 {
			continue
		}
		first := (*h)[0]
		if left := first.due.Sub(now); left > 0 {
			if wait == 0 || left < wait {
				wait = left
			}
			continue
		}
		return q.take(h), 0, true
	}
	return key, wait, false
}

// ahead is the heap with the next workload, except for those of low priority. While mostRetried
// workers are busy with failing workloads, it skips other failing workloads.
func (q *Queue) ahead() *byDue {
	if len(q.failing) == 0 || len(q.retried) >= q.mostRetried || len(q.order) > 0 && !q.failing[0].due.Before(q.order[0].due) {
		return &q.order
	}
	return &q.failing
}

// take hands out the first workload of a heap.
func (q *Queue) take(h *byDue) workload.Key {
	it := (*h)[0]
	heap.Pop(h)
	delete(q.waiting, it.key)
	q.busy[it.key] = struct{}{}
	if h == &q.failing {
		q.retried[it.key] = struct{}{}
	}
	due := it.due
	if due.Before(q.began) {
		due = q.began
	}
	q.waited(q.clock.Since(due))
	if len(q.order)+len(q.failing)+len(q.low) > 0 {
		q.rouse() // another worker may have slept through the wake-up that this one took
	}
	return it.key
}

// Done returns a workload to the queue.
func (q *Queue) Done(key workload.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, key)
	if _, retried := q.retried[key]; retried {
		delete(q.retried, key)
		q.rouse() // another failing workload may be handed out
	}
	if it, ok := q.waiting[key]; ok {
		q.place(it)
	}
}

// Depth is how many workloads are queued or being worked on. At 0, no work is left.
func (q *Queue) Depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.waiting)
	for key := range q.busy {
		if _, both := q.waiting[key]; !both {
			n++
		}
	}
	return n
}

// InHand reports whether a worker has a workload.
func (q *Queue) InHand() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.busy) > 0
}
