package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/workload"
)

// newFailing is a queue for eight, two of which may look at what fails, and so many that are due and have failed.
func newFailing(failing int) (*queue, *clocktesting.FakeClock) {
	fake := clocktesting.NewFakeClock(time.Unix(1000, 0))
	q := newQueueFor(fake, 8)
	for i := range failing {
		q.failed(named(fmt.Sprintf("fails-%d", i)))
	}
	fake.Step(firstRetry)
	return q, fake
}

// handedOut are all that may be looked at now, and stay so.
func handedOut(q *queue) (keys []workload.Key, failing int) {
	keys = q.due(1000)
	for _, key := range keys {
		if strings.HasPrefix(key.Name, "fails") {
			failing++
		}
	}
	return keys, failing
}

func TestThoseThatFailTakeAQuarterOfTheWorkers(t *testing.T) {
	q, fake := newFailing(20)
	first, failing := handedOut(q)
	if len(first) != 2 || failing != 2 {
		t.Fatalf("%v are looked at, %d of them failed before", first, failing)
	}
	for i := range 6 {
		q.add(named(fmt.Sprintf("web-%d", i)), 0, 0)
	}
	if fresh, failing := handedOut(q); len(fresh) != 6 || failing != 0 {
		t.Errorf("%v are looked at, while two are busy with those that fail", fresh)
	}
	// All of them have their turn, whatever else there is.
	looked := 2
	for looked < 20 {
		for _, key := range first {
			q.failed(key)
			q.done(key)
		}
		fake.Step(time.Millisecond)
		q.add(named("busy"), 0, 0)
		all, failing := handedOut(q)
		if failing != 2 {
			t.Fatalf("%v are looked at after %d that failed", all, looked)
		}
		looked += failing
		first = slices.DeleteFunc(all, func(key workload.Key) bool { return key == named("busy") })
		q.done(named("busy"))
	}
}

func TestFewWorkersLookAtThoseThatFailToo(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		q := newQueueFor(clocktesting.NewFakeClock(time.Unix(1000, 0)), workers)
		q.add(named("fails"), 0, 0)
		q.busy[named("fails")] = struct{}{}
		q.failed(named("fails"))
		q.done(named("fails"))
		if _, failing := handedOut(q); failing != 1 {
			t.Errorf("with %d workers nobody looks at it", workers)
		}
	}
}

// What fails is told by its last look, and not by when it came to wait.
func TestWhatComesDuringALookCountsByHowThatEnds(t *testing.T) {
	for about, tc := range map[string]struct {
		failed int
		during func(q *queue, key workload.Key)
		out    bool
	}{
		"the first failure":        {0, func(q *queue, key workload.Key) { q.add(key, 0, 0); q.failed(key) }, false},
		"a conflict":               {0, func(q *queue, key workload.Key) { q.add(key, 0, 0); q.retry(key) }, true},
		"a success after failures": {3, func(q *queue, key workload.Key) { q.add(key, 0, 0); q.succeeded(key) }, true},
		"a conflict after those":   {3, func(q *queue, key workload.Key) { q.add(key, 0, 0); q.retry(key) }, false},
		"it was to be adopted":     {0, func(q *queue, key workload.Key) { q.addBehind(key, 0); q.failed(key) }, false},
	} {
		t.Run(about, func(t *testing.T) {
			q, _ := newFailing(20)
			web := named("web")
			q.busy[web], q.tries[web] = struct{}{}, tries{tc.failed, tc.failed}
			handedOut(q)
			tc.during(q, web)
			q.done(web)
			if keys, _ := handedOut(q); slices.Contains(keys, web) != tc.out {
				t.Errorf("%v are looked at", keys)
			}
		})
	}
}

func TestWhatFailsNoMoreWaitsForNoneThatDoes(t *testing.T) {
	q, fake := newFailing(20)
	handedOut(q)
	q.failed(named("web"))
	fake.Step(firstRetry)
	if keys, _ := handedOut(q); len(keys) != 0 {
		t.Fatalf("%v are looked at", keys)
	}
	q.succeeded(named("web"))
	if keys, _ := handedOut(q); len(keys) != 1 {
		t.Errorf("%v are looked at", keys)
	}
}

func TestOneIsWokenWhenAnotherOfThoseThatFailMayBeLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := newFailing(3)
		busy, _ := handedOut(q)
		stop, got := make(chan struct{}), make(chan workload.Key, 1)
		defer close(stop)
		go func() {
			key, _ := q.next(stop)
			got <- key
		}()
		synctest.Wait()
		if len(busy) != 2 || len(got) != 0 {
			t.Fatalf("%v are busy, and %d more", busy, len(got))
		}
		q.done(busy[0])
		synctest.Wait()
		if len(got) != 1 {
			t.Error("nobody looks at the third")
		}
	})
}

// deadWebhook is a rule of the cluster that nobody answers for. It is asked about every workload but web.
type deadWebhook struct {
	*stage
	patched chan time.Time
}

// Patch implements API.
func (a *deadWebhook) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	if key.Name != "web" {
		time.Sleep(10 * time.Second)
		return nil, errors.New("failed calling webhook: context deadline exceeded")
	}
	a.patched <- time.Now()
	return a.stage.Patch(ctx, kind, key, patch)
}

func TestWorkloadsThatFailHoldUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		const failing = 200
		for i := range failing {
			s.add(fmt.Sprintf("fails-%d", i), true, "")
		}
		s.add("web", true, "")
		s.play(time.Minute)
		api := &deadWebhook{s, make(chan time.Time, 10)}
		s.api, s.report = api, noReport{}
		s.Controller.clock, s.queue.clock = clock.RealClock{}, clock.RealClock{}

		stop := make(chan struct{})
		var running sync.WaitGroup
		for range workers {
			running.Go(func() { s.queue.serve(stop, func(key workload.Key) result { return s.reconcile(t.Context(), key) }) })
		}
		for i := range failing {
			s.edit(fmt.Sprintf("fails-%d", i), "2")
		}
		time.Sleep(5 * time.Minute)
		edited := time.Now()
		s.edit("web", "2")
		if took := (<-api.patched).Sub(edited); took > 2*time.Second {
			t.Errorf("it was written after %s, while %d others fail", took, s.queue.depth())
		}
		close(stop)
		running.Wait()
	})
}
