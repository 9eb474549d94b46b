package workqueue

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

func newTestQueue() (*Queue, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	return New(clock), clock
}

func keyOf(name string) workload.Key {
	return workload.Key{Kind: "Deployment", Namespace: "shop", Name: name}
}

// due takes out everything that is due now, and is done with it at once.
func due(q *Queue) []string {
	var names []string
	for {
		key, _, ok := q.Pop()
		if !ok {
			return names
		}
		names = append(names, key.Name)
		q.Done(key)
	}
}

func TestTenChangesWithinAMomentAreOneLook(t *testing.T) {
	q, clock := newTestQueue()
	for range 10 {
		q.Add(keyOf("web"), settle, most)
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

func TestABusySourceIsReconciledOncePerSettleMax(t *testing.T) {
	q, clock := newTestQueue()
	looks := 0
	for range 300 { // half a minute of changes, ten a second
		q.Add(keyOf("web"), settle, most)
		clock.Step(100 * time.Millisecond)
		looks += len(due(q))
	}
	if looks != 2 && looks != 3 {
		t.Errorf("looked %d times in 30 s, want one look each %s", looks, most)
	}
}

func TestWithoutAQuietPeriodItIsDueAtOnce(t *testing.T) {
	q, _ := newTestQueue()
	q.Add(keyOf("web"), 0, most)
	if got := due(q); len(got) != 1 {
		t.Errorf("looked at %v", got)
	}
}

func TestABusyWorkloadIsNotHandedOutAgain(t *testing.T) {
	q, clock := newTestQueue()
	q.Add(keyOf("web"), 0, most)
	key, _, _ := q.Pop()
	q.Add(keyOf("web"), 0, most)
	clock.Step(most)
	if got := due(q); got != nil {
		t.Fatalf("%v is looked at twice at the same time", got)
	}
	q.Done(key)
	if got := due(q); len(got) != 1 {
		t.Errorf("the change that came meanwhile is lost: %v", got)
	}
}

func TestWorkloadsAreHandedOutInTheOrderOfTheirDueTimes(t *testing.T) {
	q, clock := newTestQueue()
	q.Add(keyOf("third"), 3*time.Second, most)
	q.Add(keyOf("first"), time.Second, most)
	q.Add(keyOf("second"), 2*time.Second, most)
	clock.Step(most)
	got := due(q)
	if len(got) != 3 || got[0] != "first" || got[1] != "second" || got[2] != "third" {
		t.Errorf("came in the order %v", got)
	}
}

func TestLatenessCountsFromTheStartOfTheWorkers(t *testing.T) {
	q, clock := newTestQueue()
	var late []time.Duration
	q.waited = func(by time.Duration) { late = append(late, by) }
	q.Add(keyOf("before"), settle, most)
	clock.Step(time.Hour)
	q.Begin()
	q.Add(keyOf("after"), settle, most)
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
		delay, before := q.Failed(keyOf("web"))
		if before != try {
			t.Fatalf("try %d counts %d failures before it", try, before)
		}
		if delay < last || delay == last && delay < 5*time.Minute || delay > 5*time.Minute {
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
	q.ResetRetries(keyOf("web"))
	if delay, before := q.Failed(keyOf("web")); delay != FirstRetry || before != 0 {
		t.Errorf("after a success the first delay is %s", delay)
	}
}

// failOften leaves web with the longest delay before it.
func failOften(q *Queue, clock *clocktesting.FakeClock) {
	for range 20 {
		q.Failed(keyOf("web"))
		clock.Step(LastRetry)
		due(q)
	}
}

func TestAFailureDoesNotDelayWhatChangedMeanwhile(t *testing.T) {
	q, clock := newTestQueue()
	failOften(q, clock)
	q.busy[keyOf("web")] = struct{}{}
	q.Add(keyOf("web"), settle, most)
	q.Failed(keyOf("web"))
	q.Done(keyOf("web"))
	clock.Step(settle)
	if got := due(q); len(got) != 1 {
		t.Errorf("%v is due after the quiet period, want web", got)
	}
}

func TestALaterLookPostponesNothing(t *testing.T) {
	for about, tc := range map[string]struct {
		asks func(q *Queue)
		due  time.Duration
	}{
		"alone":                      {func(q *Queue) { q.Later(keyOf("web"), time.Hour) }, time.Hour},
		"a change came before":       {func(q *Queue) { q.Add(keyOf("web"), settle, most); q.Later(keyOf("web"), time.Hour) }, settle},
		"a change comes after":       {func(q *Queue) { q.Later(keyOf("web"), time.Hour); q.Add(keyOf("web"), settle, most) }, settle},
		"the quiet takes longer":     {func(q *Queue) { q.Add(keyOf("web"), settle, most); q.Later(keyOf("web"), settle/2) }, settle / 2},
		"it is to be adopted before": {func(q *Queue) { q.AddLow(keyOf("web"), settle); q.Later(keyOf("web"), time.Hour) }, settle},
		"two of them":                {func(q *Queue) { q.Later(keyOf("web"), time.Minute); q.Later(keyOf("web"), time.Hour) }, time.Minute},
	} {
		t.Run(about, func(t *testing.T) {
			q, clock := newTestQueue()
			q.busy[keyOf("web")] = struct{}{}
			tc.asks(q)
			q.Done(keyOf("web"))
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
	q.Failed(keyOf("web"))
	clock.Step(most + time.Second)
	q.Add(keyOf("web"), settle, most)
	if got := due(q); len(got) != 0 {
		t.Errorf("%v is looked at in the middle of a burst", got)
	}
}

func TestAConflictIsNotReportedAsAFailure(t *testing.T) {
	q, clock := newTestQueue()
	q.Retry(keyOf("web"))
	clock.Step(FirstRetry)
	if got := due(q); len(got) != 1 {
		t.Fatalf("after a conflict it is not looked at again")
	}
	// Nobody has heard of it yet, and it is not tried sooner than after two of its kind.
	if delay, before := q.Failed(keyOf("web")); delay != 2*FirstRetry || before != 0 {
		t.Errorf("the first failure after a conflict waits %s and counts %d before it", delay, before)
	}
	clock.Step(2 * FirstRetry)
	due(q)
	if delay, before := q.Failed(keyOf("web")); delay != 4*FirstRetry || before != 1 {
		t.Errorf("the second failure waits %s and counts %d before it", delay, before)
	}
}

func TestNextWaitsUntilAWorkloadIsDueOrStop(t *testing.T) {
	q, clock := newTestQueue()
	stop := make(chan struct{})
	got := make(chan string)
	go func() {
		for {
			key, ok := q.Next(stop)
			if !ok {
				close(got)
				return
			}
			got <- key.Name
			q.Done(key)
		}
	}()
	q.Add(keyOf("web"), settle, most)
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

// What is busy comes to wait by the look itself, and is not taken away from it.
func TestABusyWorkloadIsNotDropped(t *testing.T) {
	q, _ := newTestQueue()
	q.Add(keyOf("web"), 0, 0)
	key, _, _ := q.Pop()
	q.Add(key, 0, 0)
	q.Drop(key)
	q.Done(key)
	if got := due(q); len(got) != 1 {
		t.Errorf("looked at %v", got)
	}
	q.Drop(key)
	q.Add(key, settle, most)
	q.AddLow(keyOf("other"), settle)
	q.Drop(key)
	q.Drop(keyOf("other"))
	if q.Depth() != 0 || len(q.order)+len(q.low) != 0 {
		t.Errorf("%d wait", q.Depth())
	}
}
