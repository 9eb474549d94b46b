package controller

import (
	"container/heap"
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/workload"
)

// queue holds the workloads that have to be looked at, each until it has been quiet for a while. One that is being
// looked at is not handed out again before that is done.
type queue struct {
	clock clock.Clock

	mu      sync.Mutex
	waiting map[workload.Key]*item
	order   byDue
	// failing are those whose last look failed. They come when they are due, but only some of them at the same time.
	failing byDue
	// behind are those that are only to be adopted: they come when nothing else is due.
	behind byDue
	busy   map[workload.Key]struct{}
	// retried are those of the busy ones that were handed out from failing, and mostRetried how many those may be.
	retried     map[workload.Key]struct{}
	mostRetried int
	tries       map[workload.Key]tries
	wake        chan struct{}

	// queued is called for each workload that comes to wait, and waited when it is handed out, with by how much that
	// was later than it was due.
	queued func()
	waited func(late time.Duration)
	// began is since when there is somebody who looks.
	began time.Time
}

// item is one workload that waits.
type item struct {
	key   workload.Key
	first time.Time
	due   time.Time
	// behind tells that it is only to be adopted.
	behind bool
	// heap is where it stands, and at is where in it; -1 while it is not there because the workload is busy.
	heap *byDue
	at   int
}

func newQueue(c clock.Clock) *queue {
	return &queue{
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

// newQueueFor is for several who look at the same time. No more than a quarter of them are busy with workloads whose last look
// failed: each of those may take until its requests time out, and there may be a thousand of them.
func newQueueFor(c clock.Clock, workers int) *queue {
	q := newQueue(c)
	q.mostRetried = max(workers/4, 1)
	return q
}

// begin says that somebody looks from now on. What was due before, in an instance that stood by, is not late until now.
func (q *queue) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.began = q.clock.Now()
}

// add asks for a look at a workload when it has been quiet for settle, but no later than most after the first time it
// was asked for.
func (q *queue) add(key workload.Key, settle, most time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.set(key, settle, most, false)
}

// later asks for another look at a workload after a while. One that is due before that stays as it is: what changed meanwhile
// does not wait for another reason to look.
func (q *queue) later(key workload.Key, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.setLater(key, wait)
}

// setLater returns how long is waited indeed.
func (q *queue) setLater(key workload.Key, wait time.Duration) time.Duration {
	now := q.clock.Now()
	if it, ok := q.waiting[key]; ok && it.due.Before(now.Add(wait)) {
		return it.due.Sub(now)
	}
	q.set(key, wait, wait, false)
	return wait
}

// addBehind asks for a look at a workload later on, when nothing else is due. One that waits already stays as it is.
func (q *queue) addBehind(key workload.Key, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.waiting[key]; !ok {
		q.set(key, wait, wait, true)
	}
}

func (q *queue) set(key workload.Key, settle, most time.Duration, behind bool) {
	now := q.clock.Now()
	it, ok := q.waiting[key]
	if !ok {
		it = &item{key: key, first: now, at: -1}
		q.waiting[key] = it
		q.queued()
	} else if now.Add(settle).Before(it.due) {
		it.first = now // until now it waited for something else than quiet
	}
	it.behind = behind
	it.due = now.Add(settle)
	if last := it.first.Add(max(most, settle)); last.Before(it.due) {
		it.due = last
	}
	q.place(it)
}

// drop takes a workload out, unless it is being looked at: it may have come to wait by that.
func (q *queue) drop(key workload.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it, ok := q.waiting[key]
	if _, busy := q.busy[key]; !ok || busy {
		return
	}
	heap.Remove(it.heap, it.at)
	delete(q.waiting, key)
}

// place puts an item where its time and its tries say, unless its workload is busy.
func (q *queue) place(it *item) {
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

func (q *queue) heapOf(it *item) *byDue {
	switch {
	case q.tries[it.key].failed > 0:
		return &q.failing
	case it.behind:
		return &q.behind
	default:
		return &q.order
	}
}

// rouse wakes one who sleeps until something is due.
func (q *queue) rouse() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next hands out the workload that is due first and waits until there is one. It returns false when stop closes.
func (q *queue) next(stop <-chan struct{}) (workload.Key, bool) {
	for {
		// Asked first: what is due still when it closes is begun by nobody.
		select {
		case <-stop:
			return workload.Key{}, false
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
func (q *queue) due(most int) []workload.Key {
	var keys []workload.Key
	for len(keys) < most {
		key, _, ok := q.pop()
		if !ok {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

func (q *queue) pop() (key workload.Key, wait time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.clock.Now()
	for _, h := range []*byDue{q.ahead(), &q.behind} {
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

// ahead is where the one stands that comes first of those that are not behind. As long as no more of those that fail may be
// handed out, they are passed over: one of them has to be done with first.
func (q *queue) ahead() *byDue {
	if len(q.failing) == 0 || len(q.retried) >= q.mostRetried || len(q.order) > 0 && !q.failing[0].due.Before(q.order[0].due) {
		return &q.order
	}
	return &q.failing
}

// take hands out what is first in a heap.
func (q *queue) take(h *byDue) workload.Key {
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
	if len(q.order)+len(q.failing)+len(q.behind) > 0 {
		q.rouse() // another worker may have slept through the wake-up that this one took
	}
	return it.key
}

// done says that a workload has been looked at.
func (q *queue) done(key workload.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, key)
	if _, retried := q.retried[key]; retried {
		delete(q.retried, key)
		q.rouse() // another one of those may be handed out
	}
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
