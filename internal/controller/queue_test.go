package controller

import (
	"runtime"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/workload"
)

const (
	settle = time.Second
	most   = 10 * time.Second
)

func newTestQueue() (*queue, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	return newQueue(clock), clock
}

func named(name string) workload.Key {
	return workload.Key{Kind: "Deployment", Namespace: "shop", Name: name}
}

// due takes out everything that is due now, and is done with it at once.
func due(q *queue) []string {
	var names []string
	for {
		key, _, ok := q.pop()
		if !ok {
			return names
		}
		names = append(names, key.Name)
		q.done(key)
	}
}

func TestTenChangesWithinAMomentAreOneLook(t *testing.T) {
	q, clock := newTestQueue()
	for range 10 {
		q.add(named("web"), settle, most)
		clock.Step(settle / 2)
		if got := due(q); got != nil {
			t.Fatalf("looked at %v while its sources were not quiet", got)
		}
	}
	clock.Step(settle)
	if got := due(q); len(got) != 1 {
		t.Errorf("looked at %v, want one look", got)
	}
	clock.Step(most)
	if got := due(q); got != nil {
		t.Errorf("looked at %v again, without a reason", got)
	}
}

func TestASourceThatIsNeverQuietIsLookedAtOncePerSettleMax(t *testing.T) {
	q, clock := newTestQueue()
	looks := 0
	for range 300 { // half a minute of changes, ten a second
		q.add(named("web"), settle, most)
		clock.Step(100 * time.Millisecond)
		looks += len(due(q))
	}
	if looks != 2 && looks != 3 {
		t.Errorf("looked %d times in 30 s, want one look each %s", looks, most)
	}
}

func TestWithoutAQuietPeriodItIsDueAtOnce(t *testing.T) {
	q, _ := newTestQueue()
	q.add(named("web"), 0, most)
	if got := due(q); len(got) != 1 {
		t.Errorf("looked at %v", got)
	}
}

func TestAWorkloadThatIsBusyIsNotHandedOutAgain(t *testing.T) {
	q, clock := newTestQueue()
	q.add(named("web"), 0, most)
	key, _, _ := q.pop()
	q.add(named("web"), 0, most)
	clock.Step(most)
	if got := due(q); got != nil {
		t.Fatalf("%v is looked at twice at the same time", got)
	}
	q.done(key)
	if got := due(q); len(got) != 1 {
		t.Errorf("the change that came meanwhile is lost: %v", got)
	}
}

func TestWhatIsDueFirstComesFirst(t *testing.T) {
	q, clock := newTestQueue()
	q.add(named("third"), 3*time.Second, most)
	q.add(named("first"), time.Second, most)
	q.add(named("second"), 2*time.Second, most)
	clock.Step(most)
	got := due(q)
	if len(got) != 3 || got[0] != "first" || got[1] != "second" || got[2] != "third" {
		t.Errorf("came in the order %v", got)
	}
}

func TestWhatIsDueBeforeSomebodyLooksIsLateFromThenOn(t *testing.T) {
	q, clock := newTestQueue()
	var late []time.Duration
	q.waited = func(by time.Duration) { late = append(late, by) }
	q.add(named("before"), settle, most)
	clock.Step(time.Hour)
	q.begin()
	q.add(named("after"), settle, most)
	clock.Step(settle + 2*time.Second)
	due(q)
	if len(late) != 2 || late[0] != settle+2*time.Second || late[1] != 2*time.Second {
		t.Errorf("late by %v", late)
	}
}

func TestRetriesComeLaterEachTimeUpToFiveMinutesForEver(t *testing.T) {
	q, clock := newTestQueue()
	last := time.Duration(0)
	for try := range 40 {
		delay, before := q.failed(named("web"))
		if before != try {
			t.Fatalf("try %d counts %d failures before it", try, before)
		}
		if delay < last || delay > 5*time.Minute {
			t.Fatalf("try %d waits %s after one of %s", try, delay, last)
		}
		last = delay
		clock.Step(delay)
		if got := due(q); len(got) != 1 {
			t.Fatalf("try %d: it is not looked at again", try)
		}
	}
	if last != 5*time.Minute {
		t.Errorf("the last delay is %s", last)
	}
	q.succeeded(named("web"))
	if delay, before := q.failed(named("web")); delay != firstRetry || before != 0 {
		t.Errorf("after a success the first delay is %s", delay)
	}
}

// failOften leaves web with the longest delay before it.
func failOften(q *queue, clock *clocktesting.FakeClock) {
	for range 20 {
		q.failed(named("web"))
		clock.Step(lastRetry)
		due(q)
	}
}

func TestAFailureDoesNotDelayWhatChangedMeanwhile(t *testing.T) {
	q, clock := newTestQueue()
	failOften(q, clock)
	q.busy[named("web")] = struct{}{}
	q.add(named("web"), settle, most)
	q.failed(named("web"))
	q.done(named("web"))
	clock.Step(settle)
	if got := due(q); len(got) != 1 {
		t.Errorf("%v is due after the quiet period, want web", got)
	}
}

func TestALaterLookPostponesNothing(t *testing.T) {
	for about, tc := range map[string]struct {
		asks func(q *queue)
		due  time.Duration
	}{
		"alone":                      {func(q *queue) { q.later(named("web"), time.Hour) }, time.Hour},
		"a change came before":       {func(q *queue) { q.add(named("web"), settle, most); q.later(named("web"), time.Hour) }, settle},
		"a change comes after":       {func(q *queue) { q.later(named("web"), time.Hour); q.add(named("web"), settle, most) }, settle},
		"the quiet takes longer":     {func(q *queue) { q.add(named("web"), settle, most); q.later(named("web"), settle/2) }, settle / 2},
		"it is to be adopted before": {func(q *queue) { q.addBehind(named("web"), settle); q.later(named("web"), time.Hour) }, settle},
		"two of them":                {func(q *queue) { q.later(named("web"), time.Minute); q.later(named("web"), time.Hour) }, time.Minute},
	} {
		t.Run(about, func(t *testing.T) {
			q, clock := newTestQueue()
			q.busy[named("web")] = struct{}{}
			tc.asks(q)
			q.done(named("web"))
			clock.Step(tc.due - 1)
			if got := due(q); got != nil {
				t.Fatalf("looked at %v before %s", got, tc.due)
			}
			clock.Step(1)
			if got := due(q); len(got) != 1 {
				t.Errorf("looked at %v after %s", got, tc.due)
			}
		})
	}
}

func TestAQuietPeriodBeginsAfterTheWaitForSomethingElse(t *testing.T) {
	q, clock := newTestQueue()
	failOften(q, clock)
	q.failed(named("web"))
	clock.Step(most + time.Second)
	q.add(named("web"), settle, most)
	if got := due(q); len(got) != 0 {
		t.Errorf("%v is looked at in the middle of a burst", got)
	}
}

func TestAConflictIsNoFailureThatWasTold(t *testing.T) {
	q, clock := newTestQueue()
	q.retry(named("web"))
	clock.Step(firstRetry)
	if got := due(q); len(got) != 1 {
		t.Fatalf("after a conflict it is not looked at again")
	}
	// Nobody has heard of it yet, and it is not tried sooner than after two of its kind.
	if delay, before := q.failed(named("web")); delay != 2*firstRetry || before != 0 {
		t.Errorf("the first failure after a conflict waits %s and counts %d before it", delay, before)
	}
	clock.Step(2 * firstRetry)
	due(q)
	if delay, before := q.failed(named("web")); delay != 4*firstRetry || before != 1 {
		t.Errorf("the second failure waits %s and counts %d before it", delay, before)
	}
}

func TestNextWaitsForWhatIsDueAndEndsWithStop(t *testing.T) {
	q, clock := newTestQueue()
	stop := make(chan struct{})
	got := make(chan string)
	go func() {
		for {
			key, ok := q.next(stop)
			if !ok {
				close(got)
				return
			}
			got <- key.Name
			q.done(key)
		}
	}()
	q.add(named("web"), settle, most)
	for !clock.HasWaiters() {
		runtime.Gosched() // until the worker sleeps on the clock
	}
	clock.Step(settle)
	if name := <-got; name != "web" {
		t.Errorf("got %s", name)
	}
	close(stop)
	if _, open := <-got; open {
		t.Error("it hands out something after the end")
	}
}
