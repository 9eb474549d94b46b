package workqueue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/workload"
)

// newFailing is a queue for eight workers, two of which may retry failing workloads, with a number
// of due workloads that have failed.
func newFailing(failing int) (*Queue, *clocktesting.FakeClock) {
	fake := clocktesting.NewFakeClock(time.Unix(1000, 0))
	q := NewShared(fake, 8)
	for i := range failing {
		q.Failed(keyOf(fmt.Sprintf("fails-%d", i)))
	}
	fake.Step(FirstRetry)
	return q, fake
}

// handedOut are all workloads that may be handed out now; they stay busy.
func handedOut(q *Queue) (keys []workload.Key, failing int) {
	keys = q.Due(1000)
	for _, key := range keys {
		if strings.HasPrefix(key.Name, "fails") {
			failing++
		}
	}
	return keys, failing
}

func TestFailingWorkloadsUseAQuarterOfTheWorkers(t *testing.T) {
	q, fake := newFailing(20)
	first, failing := handedOut(q)
	if len(first) != 2 || failing != 2 {
		t.Fatalf("%v are looked at, %d of them failed before", first, failing)
	}
	for i := range 6 {
		q.Add(keyOf(fmt.Sprintf("web-%d", i)), 0, 0)
	}
	if fresh, failing := handedOut(q); len(fresh) != 6 || failing != 0 {
		t.Errorf("%v are looked at, while two are busy with those that fail", fresh)
	}
	// All of them have their turn, whatever else there is.
	looked := 2
	for looked < 20 {
		for _, key := range first {
			q.Failed(key)
			q.Done(key)
		}
		fake.Step(time.Millisecond)
		q.Add(keyOf("busy"), 0, 0)
		all, failing := handedOut(q)
		if failing != 2 {
			t.Fatalf("%v are looked at after %d that failed", all, looked)
		}
		looked += failing
		first = slices.DeleteFunc(all, func(key workload.Key) bool { return key == keyOf("busy") })
		q.Done(keyOf("busy"))
	}
}

func TestFewWorkersAlsoRetryFailingWorkloads(t *testing.T) {
	for _, workers := range []int{1, 2, 3} {
		q := NewShared(clocktesting.NewFakeClock(time.Unix(1000, 0)), workers)
		q.Add(keyOf("fails"), 0, 0)
		q.busy[keyOf("fails")] = struct{}{}
		q.Failed(keyOf("fails"))
		q.Done(keyOf("fails"))
		if _, failing := handedOut(q); failing != 1 {
			t.Errorf("with %d workers nobody looks at it", workers)
		}
	}
}

// Whether a workload is failing depends on its last try, and not on when it was queued.
func TestAChangeDuringAReconciliationCountsByItsResult(t *testing.T) {
	for about, tc := range map[string]struct {
		failed int
		during func(q *Queue, key workload.Key)
		out    bool
	}{
		"the first failure":        {0, func(q *Queue, key workload.Key) { q.Add(key, 0, 0); q.Failed(key) }, false},
		"a conflict":               {0, func(q *Queue, key workload.Key) { q.Add(key, 0, 0); q.Retry(key) }, true},
		"a success after failures": {3, func(q *Queue, key workload.Key) { q.Add(key, 0, 0); q.ResetRetries(key) }, true},
		"a conflict after those":   {3, func(q *Queue, key workload.Key) { q.Add(key, 0, 0); q.Retry(key) }, false},
		"it was to be adopted":     {0, func(q *Queue, key workload.Key) { q.AddLow(key, 0); q.Failed(key) }, false},
	} {
		t.Run(about, func(t *testing.T) {
			q, _ := newFailing(20)
			web := keyOf("web")
			q.busy[web], q.tries[web] = struct{}{}, tries{tc.failed, tc.failed}
			handedOut(q)
			tc.during(q, web)
			q.Done(web)
			if keys, _ := handedOut(q); slices.Contains(keys, web) != tc.out {
				t.Errorf("%v are looked at", keys)
			}
		})
	}
}

func TestARecoveredWorkloadDoesNotWaitForFailingOnes(t *testing.T) {
	q, fake := newFailing(20)
	handedOut(q)
	q.Failed(keyOf("web"))
	fake.Step(FirstRetry)
	if keys, _ := handedOut(q); len(keys) != 0 {
		t.Fatalf("%v are looked at", keys)
	}
	q.ResetRetries(keyOf("web"))
	if keys, _ := handedOut(q); len(keys) != 1 {
		t.Errorf("%v are looked at", keys)
	}
}

func TestAWorkerWakesWhenAFailingWorkloadMayBeRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := newFailing(3)
		busy, _ := handedOut(q)
		stop, got := make(chan struct{}), make(chan workload.Key, 1)
		defer close(stop)
		go func() {
			key, _ := q.Next(stop)
			got <- key
		}()
		synctest.Wait()
		if len(busy) != 2 || len(got) != 0 {
			t.Fatalf("%v are busy, and %d more", busy, len(got))
		}
		q.Done(busy[0])
		synctest.Wait()
		if len(got) != 1 {
			t.Error("nobody looks at the third")
		}
	})
}
