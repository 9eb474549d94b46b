package intake

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

func forbidden(verb string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", fmt.Errorf("cannot %s", verb))
}

// within checks that each delay is at least what is wanted and less than twice that.
func within(t *testing.T, got []time.Duration, least ...time.Duration) {
	t.Helper()
	if len(got) != len(least) {
		t.Fatalf("%d delays, want %d: %s", len(got), len(least), got)
	}
	for i := range got {
		if got[i] < least[i] || got[i] >= 2*least[i] {
			t.Errorf("delay %d is %s, want %s to %s; all: %s", i+1, got[i], least[i], 2*least[i], got)
		}
	}
}

func TestDelaysGrowWithEachFailureAndEndWithSuccess(t *testing.T) {
	const ms = time.Millisecond
	down := slices.Repeat([]answer{fail(errors.New("down"))}, 10)
	answers := append(slices.Clone(down), ending(endMark(9), modified("a", 10).later(time.Second)))
	answers = append(answers, down[:3]...)
	answers = append(answers, page(20, ""), ending(modified("a", 11)), page(20, ""), open())
	s := play(t, 150*time.Second, answers...)
	within(t, s.gaps("stream"),
		200*ms, 400*ms, 800*ms, 1600*ms, 3200*ms, 6400*ms, 12800*ms, 15*time.Second, 15*time.Second, 15*time.Second)
	// The stream succeeds and ends, asking for the newest version fails three times, then the watch
	// succeeds and ends.
	within(t, s.gaps("newest"), 400*ms, 800*ms, 1600*ms, 200*ms)
	if gap := s.at[slices.Index(s.lines, "newest")] - s.at[slices.Index(s.lines, "live a@10")]; gap < 200*ms || gap >= 400*ms {
		t.Errorf("the first delay after a success is %s", gap)
	}
}

// A complete snapshot ends what was wrong before it, also if nothing happens after it.
func TestTheDelayAfterASnapshotIsTheFirst(t *testing.T) {
	answers := append(slices.Repeat([]answer{fail(errors.New("down"))}, 5), ending(endMark(9)), page(20, ""), open())
	s := play(t, time.Minute, answers...)
	if gap := s.at[slices.Index(s.lines, "newest")] - s.at[slices.Index(s.lines, "whole")]; gap < firstDelay || gap >= 2*firstDelay {
		t.Errorf("the delay is %s", gap)
	}
}

func TestWhatTheServerAsksForIsWaited(t *testing.T) {
	tests := map[string]struct {
		asked int
		least time.Duration
	}{
		"less than our own delay": {0, firstDelay},
		"a while":                 {7, 7 * time.Second},
		"no more than 5 minutes":  {86400, 5 * time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			busy := fail(fmt.Errorf("watch secrets: %w", apierrors.NewTooManyRequests("too many requests", test.asked)))
			s := play(t, time.Hour, ending(endMark(9), modified("a", 10)), page(20, ""), busy, page(20, ""), open(failure(expired())), busy, open(endMark(20)))
			for _, gap := range []time.Duration{s.gaps("newest")[0], s.gaps("stream from 10")[0]} {
				if gap < test.least || gap > test.least+2*time.Second {
					t.Errorf("tried again after %s, want %s", gap, test.least)
				}
			}
			s.expectFirst(t, "stream", "whole", "live a@10", "newest", "watch from 10", "failed: watch from version 10: watch secrets: too many requests",
				"newest", "watch from 10", "failed: the server closed the watch: too old resource version: 10 (20)",
				"stream from 10", "failed: open the initial stream: watch secrets: too many requests", "stream from 10", "whole")
		})
	}
}

func TestEachFailureIsReportedOnceUntilAWatchWorks(t *testing.T) {
	var failures []answer
	for i := range 20 {
		failures = append(failures,
			fail(forbidden("watch")),
			fail(fmt.Errorf("read tcp 10.0.0.1:%d->10.0.0.2:443: connection reset by peer", 40000+i)))
	}
	answers := append(slices.Clone(failures), open(endMark(9), modified("a", 10), failure(expired())))
	answers = append(answers, failures...)
	answers = append(answers, open(endMark(20)))
	s := play(t, time.Hour, answers...)
	want := []string{
		"open the initial stream: secrets is forbidden: cannot watch",
		"open the initial stream: read tcp 10.0.0.1:40000->10.0.0.2:443: connection reset by peer",
		"the server closed the watch: too old resource version: 10 (20)",
		"open the initial stream: secrets is forbidden: cannot watch",
		"open the initial stream: read tcp 10.0.0.1:40000->10.0.0.2:443: connection reset by peer",
	}
	if got := s.told(); len(got) < len(want) || cmp.Diff(want, got[:len(want)]) != "" {
		t.Errorf("- should be told, + was told:\n%s", cmp.Diff(want, got))
	}
	if got := len(s.gaps("stream")); got != 81 {
		t.Errorf("tried again %d times, want 81", got)
	}
}

func TestAnIgnoredFailureIsReportedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t}
		f := s.feed(clock.RealClock{})
		asked := 0
		f.Ignore = func(error) bool { asked++; return asked < 3 }
		for range 4 {
			f.pause(t.Context(), &f.tries, errors.New("down"))
		}
		if got := s.told(); asked != 4 || len(got) != 1 {
			t.Errorf("asked %d times, told %q", asked, got)
		}
	})
}

// Some failures have a new text each time.
func TestReportedFailuresAreBounded(t *testing.T) {
	var failures reportedFailures
	for i := range 10 * maxReported {
		if !failures.first(errors.New(strings.Repeat("x", i))) {
			t.Fatalf("text %d is not new", i)
		}
	}
	if len(failures.texts) > maxReported {
		t.Errorf("%d texts are kept", len(failures.texts))
	}
}

// A server may give a complete snapshot, and refuse its version each time.
func TestUselessSnapshotsBackOff(t *testing.T) {
	s := play(t, 3*time.Minute, slices.Repeat([]answer{open(endMark(9), failure(expired()))}, 100)...)
	within(t, s.gaps("stream")[:8], firstDelay, 2*firstDelay, 4*firstDelay, 8*firstDelay, 16*firstDelay, 32*firstDelay, 64*firstDelay, lastDelay)
	if told := s.told(); len(told) != 1 {
		t.Errorf("told %q", told)
	}
}

// A server behind a broken proxy may accept each watch, and end it at once.
func TestWatchesThatEndAtOnceBackOff(t *testing.T) {
	answers := append([]answer{open(endMark(9), event{})}, slices.Repeat([]answer{page(9, ""), ending()}, 100)...)
	s := play(t, 2*time.Minute, answers...)
	within(t, s.gaps("watch")[:6], 2*firstDelay, 4*firstDelay, 8*firstDelay, 16*firstDelay, 32*firstDelay, 64*firstDelay)
	if told := s.told(); len(told) != 1 || !strings.Contains(told[0], "without an event") {
		t.Errorf("told %q", told)
	}
	if len(s.gaps("stream")) != 0 {
		t.Errorf("a snapshot was taken, though nothing was missed: %q", s.lines)
	}
}

// One that brings something first is not an endless loop without a pause either.
func TestWatchesThatEndAfterAnEventAreNotOpenedWithoutAPause(t *testing.T) {
	answers := append([]answer{open(endMark(9), event{})}, slices.Repeat([]answer{page(9, ""), ending(bookmark(9))}, 1000)...)
	s := play(t, time.Minute, answers...)
	for _, gap := range s.gaps("watch") {
		if gap < firstDelay {
			t.Fatalf("opened again after %s", gap)
		}
	}
}

// Whatever it is doing, it ends with its context, and so does all that it began: the bubble of play
// fails if not.
func TestRunEndsWithItsContext(t *testing.T) {
	tests := map[string][]answer{
		"while a stream is opened":        {},
		"in an initial stream":            {open(added("a", 7))},
		"in a list":                       {fail(unprocessable())},
		"after a page":                    {fail(unprocessable()), page(10, "p2")},
		"while it follows":                {open(endMark(9))},
		"while a watch is opened again":   {ending(endMark(9), modified("a", 10)), page(20, "")},
		"while it asks for the newest":    {ending(endMark(9), modified("a", 10))},
		"while it waits for another try":  {fail(apierrors.NewTooManyRequests("busy", 100))},
		"while it waits, after a success": {open(endMark(9), failure(apierrors.NewTooManyRequests("busy", 100)))},
	}
	for name, answers := range tests {
		t.Run(name, func(t *testing.T) { play(t, 30*time.Second, answers...) })
	}
}

// The same without a bubble.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 50 {
		s := &script{t: t, began: time.Now(), answers: []answer{open(added("a", 7), endMark(9), modified("a", 10))}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		feed := s.feed(clock.RealClock{})
		feed.Handler = stopAt{s, cancel}
		go func() {
			defer close(ended)
			feed.Run(ctx)
		}()
		<-ended
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d after 50 feeds", before, runtime.NumGoroutine())
		}
	}
}

// stopAt ends a feed with its first live event.
type stopAt struct {
	*script
	stop context.CancelFunc
}

func (s stopAt) Put(change watch.EventType, obj kruntime.Object, live bool) {
	s.script.Put(change, obj, live)
	if live {
		s.stop()
	}
}
