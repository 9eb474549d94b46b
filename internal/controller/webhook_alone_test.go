package controller

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// A gateway has a largest message, a receiver may take one workload at a time, or one of them
// spoils the message for it. None of that keeps back a workload which the receiver would take.
func TestARejectedMessageIsSentForEachWorkload(t *testing.T) {
	const workloads = 100
	for about, tc := range map[string]struct {
		judges func([]Notification) error
		// never is the workload that is not taken, and asked how often is asked at most.
		never string
		asked int
	}{
		"one at a time":  {func(notifications []Notification) error { return refusedIf(len(notifications) > 1) }, "", workloads + 1},
		"a largest size": {func(notifications []Notification) error { return refusedIf(len(notifications) > 40) }, "", workloads + 1},
		"one that it does not know": {func(notifications []Notification) error {
			return refusedIf(slices.ContainsFunc(notifications, func(n Notification) bool { return n.Workload.Key.Name == "web-7" }))
		}, "web-7", workloads + 50},
		"all of it, for another reason": {func([]Notification) error { return errors.New("it answered 500") }, "*", 30},
	} {
		t.Run(about, func(t *testing.T) {
			s, l := newToldStage(t)
			for i := range workloads {
				s.add(fmt.Sprintf("web-%d", i), true, "")
			}
			s.play(time.Minute)
			l.judges = tc.judges
			for i := range workloads {
				s.edit(fmt.Sprintf("web-%d", i), "2")
			}
			s.tell(10 * time.Minute)
			told := map[string]int{}
			for i := range l.taken {
				told[l.taken[i].Workload.Key.Name]++
			}
			for i := range workloads {
				name, want := fmt.Sprintf("web-%d", i), 1
				if tc.never == "*" || tc.never == name {
					want = 0
				}
				if told[name] != want {
					t.Errorf("%s was told %d times, want %d", name, told[name], want)
				}
			}
			if l.asked > tc.asked {
				t.Errorf("it was asked %d times, want at most %d", l.asked, tc.asked)
			}
		})
	}
}

func refusedIf(refused bool) error {
	if refused {
		return fmt.Errorf("it answered 413: %w", ErrRefused)
	}
	return nil
}

// What has kept messages small may be gone some day.
func TestMessagesAreLargeAgainAfterAWhile(t *testing.T) {
	s, l := newToldStage(t)
	s.add("other", true, "")
	s.play(3 * time.Second)
	l.judges = func(notifications []Notification) error { return refusedIf(len(notifications) > 1) }
	both := func(value string) (asked int) {
		asked = l.asked
		s.edit("web", value)
		s.edit("other", value)
		s.tell(10 * time.Second)
		return l.asked - asked
	}
	if asked := both("2"); asked != 3 {
		t.Errorf("the first time it was asked %d times, want 3: both, and one each", asked)
	}
	if asked := both("3"); asked != 2 {
		t.Errorf("the second time it was asked %d times, want 2", asked)
	}
	l.judges = nil
	s.tell(aloneFor)
	if asked := both("4"); asked != 1 || len(l.taken) != 6 {
		t.Errorf("later it was asked %d times, want 1; %d were taken", asked, len(l.taken))
	}
}
