package controller

import (
	"container/heap"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/reload"
)

// queue holds the workloads that have to be looked at, each until it has been quiet for a while. One that is being
// looked at is not handed out again before that is done.
type queue struct {
	clock clock.Clock

	mu      sync.Mutex
	waiting map[reload.WorkloadKey]*item
	order   byDue
	// behind are those that are only to be adopted: they come when nothing else is due.
	behind byDue
	busy   map[reload.WorkloadKey]struct{}
	tries  map[reload.WorkloadKey]tries
	wake   chan struct{}

	// queued is called for each workload that comes to wait, and waited when it is handed out, with by how much that
	// was later than it was due.
	queued func()
	waited func(late time.Duration)
	// began is since when there is somebody who looks.
	began time.Time
}

// item is one workload that waits.
type item struct {
	key   reload.WorkloadKey
	first time.Time
	due   time.Time
	// heap is where it stands, order or behind.
	heap *byDue
	at   int // where it stands in the heap; -1 while it is not there because the workload is busy
}

func newQueue(c clock.Clock) *queue {
	return &queue{
		clock:   c,
		waiting: map[reload.WorkloadKey]*item{},
		busy:    map[reload.WorkloadKey]struct{}{},
		tries:   map[reload.WorkloadKey]tries{},
		wake:    make(chan struct{}, 1),
		queued:  func() {},
		waited:  func(time.Duration) {},
	}
}

// begin says that somebody looks from now on. What was due before, in an instance that stood by, is not late until now.
func (q *queue) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.began = q.clock.Now()
}

// add asks for a look at a workload when it has been quiet for settle, but no later than most after the first time it
// was asked for.
func (q *queue) add(key reload.WorkloadKey, settle, most time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.set(key, settle, most, &q.order)
}

// later asks for another look at a workload after a while. One that is due before that stays as it is: what changed meanwhile
// does not wait for another reason to look.
func (q *queue) later(key reload.WorkloadKey, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.setLater(key, wait)
}

// setLater returns how long is waited indeed.
func (q *queue) setLater(key reload.WorkloadKey, wait time.Duration) time.Duration {
	now := q.clock.Now()
	if it, ok := q.waiting[key]; ok && it.due.Before(now.Add(wait)) {
		return it.due.Sub(now)
	}
	q.set(key, wait, wait, &q.order)
	return wait
}

// addBehind asks for a look at a workload later on, when nothing else is due. One that waits already stays as it is.
func (q *queue) addBehind(key reload.WorkloadKey, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.waiting[key]; !ok {
		q.set(key, wait, wait, &q.behind)
	}
}

func (q *queue) set(key reload.WorkloadKey, settle, most time.Duration, in *byDue) {
	now := q.clock.Now()
	it, ok := q.waiting[key]
	if ok && it.heap != in && it.at >= 0 {
		heap.Remove(it.heap, it.at)
	}
	if !ok {
		it = &item{key: key, first: now, at: -1}
		q.waiting[key] = it
		q.queued()
	} else if now.Add(settle).Before(it.due) {
		it.first = now // until now it waited for something else than quiet
	}
	it.heap = in
	it.due = now.Add(settle)
	if last := it.first.Add(max(most, settle)); last.Before(it.due) {
		it.due = last
	}
	q.place(it)
}

// tries are those in a row that did not succeed.
type tries struct {
	all int
	// failed are those that met no mere conflict.
	failed int
}

// triesOf is how many looks in a row did not succeed.
func (q *queue) triesOf(key reload.WorkloadKey) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.tries[key].all
}

// retry asks for another look after a conflict, later each time.
func (q *queue) retry(key reload.WorkloadKey) { q.again(key, false) }

// failed asks for another look after a failure, later each time. It tells when, and how many failures in a row there
// were before this one.
func (q *queue) failed(key reload.WorkloadKey) (delay time.Duration, before int) {
	delay, t := q.again(key, true)
	return delay, t.failed
}

// again also tells what there was before.
func (q *queue) again(key reload.WorkloadKey, failed bool) (time.Duration, tries) {
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
func (q *queue) succeeded(key reload.WorkloadKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.tries, key)
}

// drop takes a workload out, unless it is being looked at: it may have come to wait by that.
func (q *queue) drop(key reload.WorkloadKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.waiting[key]
	if _, busy := q.busy[key]; !ok || busy {
		return
	}
	heap.Remove(it.heap, it.at)
	delete(q.waiting, key)
}

// place puts an item where its time says, unless its workload is busy.
func (q *queue) place(it *item) {
	switch _, busy := q.busy[it.key]; {
	case busy:
	case it.at < 0:
		heap.Push(it.heap, it)
	default:
		heap.Fix(it.heap, it.at)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next hands out the workload that is due first and waits until there is one. It returns false when stop closes.
func (q *queue) next(stop <-chan struct{}) (reload.WorkloadKey, bool) {
	for {
		// Asked first: what is due still when it closes is begun by nobody.
		select {
		case <-stop:
			return reload.WorkloadKey{}, false
		default:
		}
		key, wait, ok := q.pop()
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

// due hands out more of those that are due, if there are any.
func (q *queue) due(most int) []reload.WorkloadKey {
	var keys []reload.WorkloadKey
	for len(keys) < most {
		key, _, ok := q.pop()
		if !ok {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

func (q *queue) pop() (key reload.WorkloadKey, wait time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	for _, h := range []*byDue{&q.order, &q.behind} {
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

// take hands out what is first in a heap.
func (q *queue) take(h *byDue) reload.WorkloadKey {
	it := (*h)[0]
	heap.Pop(h)
	delete(q.waiting, it.key)
	q.busy[it.key] = struct{}{}
	due := it.due
	if due.Before(q.began) {
		due = q.began
	}
	q.waited(q.clock.Since(due))
	if len(q.order)+len(q.behind) > 0 {
		// Another worker may have slept through the wake-up that this one took.
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
	return it.key
}

// done says that a workload has been looked at.
func (q *queue) done(key reload.WorkloadKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, key)
	if it, ok := q.waiting[key]; ok {
		q.place(it)
	}
}

// depth is how many workloads wait or are being looked at: at 0 there is nothing left to do.
func (q *queue) depth() int {
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

// inHand tells whether a workload is being looked at.
func (q *queue) inHand() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.busy) > 0
}

type byDue []*item

func (h byDue) Len() int           { return len(h) }
func (h byDue) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h byDue) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push implements heap.Interface.
func (h *byDue) Push(x any) {
	it := x.(*item)
	it.at = len(*h)
	*h = append(*h, it)
}

// Pop implements heap.Interface.
func (h *byDue) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	it.at = -1
	(*h)[last] = nil
	*h = (*h)[:last]
	return it
}
