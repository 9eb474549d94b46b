package workqueue

import (
	"slices"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

func TestManyAreServedAtATimeAndEachHasItsOwnOutcome(t *testing.T) {
	q, clock := newTestQueue()
	for _, name := range []string{"a", "b", "c"} {
		q.Add(keyOf(name), 0, 0)
		clock.Step(time.Millisecond)
	}
	q.Add(keyOf("later"), settle, most)
	stop := make(chan struct{})
	var served [][]string
	reported := 0
	q.ServeMany(stop, func() int { return 2 }, func(keys []workload.Key) []Result {
		var names []string
		for _, key := range keys {
			names = append(names, key.Name)
		}
		if served = append(served, names); len(served) == 2 {
			close(stop)
			return []Result{FailedWith(func(time.Duration, bool) { reported++ })}
		}
		return []Result{FailedWith(nil), Finished()}
	})
	if want := [][]string{{"a", "b"}, {"c"}}; !slices.EqualFunc(served, want, slices.Equal[[]string]) {
		t.Errorf("served %v, must serve %v", served, want)
	}
	if reported != 1 || q.InHand() {
		t.Errorf("reported %d failures, must report one; in hand: %t", reported, q.InHand())
	}
	for name, want := range map[string]int{"a": 1, "b": 0, "c": 1} {
		if tries := q.TriesOf(keyOf(name)); tries != want {
			t.Errorf("%s was tried %d times, must be %d", name, tries, want)
		}
	}
	clock.Step(FirstRetry)
	if got := due(q); !slices.Contains(got, "a") || !slices.Contains(got, "c") || slices.Contains(got, "b") {
		t.Errorf("%v are tried again, must be a and c", got)
	}
}
