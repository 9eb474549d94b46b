package controller

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// A restart repeats no notice of a wait as long as its event exists.

func TestARestartRepeatsNoNoticeOfAStop(t *testing.T) {
	s := failed(t)
	next := s.again()
	next.followsAll()
	next.play(5 * time.Minute)
	if next.controller.StoppedSources() != 1 {
		t.Error("it does not know of the stop")
	}
	next.heard("a restart")
	next.change("3")
	next = next.again()
	next.followsAll()
	next.roll("w0", false)
	next.play(11 * time.Minute)
	next.heard("the next data fails, too", "ca WavesStopped", "w1 ReloadHeld")

	next = next.again()
	next.followsAll()
	next.play(2 * time.Minute)
	next.heard("another restart")
	next.roll("w0", true)
	next.play(10 * time.Minute)
	next.want("it recovers", "w1")
}

func TestAStopThatBeginsAgainIsAnotherOne(t *testing.T) {
	s := failed(t)
	s = s.again()
	s.followsAll()
	s.play(time.Minute)
	s.heard("a restart")
	s.source(annotations.Soak, "5m")
	s.roll("w0", true)
	s.play(time.Minute)
	if s.controller.StoppedSources() != 0 {
		t.Error("it has not recovered")
	}
	s.down("w0")
	s.play(20 * time.Minute)
	s.heard("it is down before the soak time is over", "ca WavesStopped", "w1 ReloadHeld")
}

func TestARestartRepeatsNoNoticeOfAHalt(t *testing.T) {
	s, pins := halting(t)
	s.change("3")
	s.says = nil
	for _, about := range []string{"a restart", "another restart"} {
		next := s.again()
		next.followsAll()
		next.controller.accept(next.Context())
		before := next.controller.storm.before
		if !before {
			t.Errorf("%s: the halt is forgotten", about)
		}
		// The Pods are not listed yet.
		if halted, _ := next.controller.publishHalt(next.Context(), before); !halted || !pins.Is() {
			t.Errorf("%s: the halt ends", about)
		}
		next.play(time.Minute)
		if halted, _ := next.controller.publishHalt(next.Context(), before); !halted || !next.controller.ReloadsHalted() {
			t.Errorf("%s: the halt has ended", about)
		}
		next.heard(about)
	}
}

// After a restart, only the Pods show whether a reload has failed.
func TestAHaltGoesOnUntilThePodsAreListed(t *testing.T) {
	s, pins := halting(t)
	next := s.again()
	next.followsAll()
	next.controller.accept(next.Context())
	if next.controller.ReloadsHalted() || !next.controller.storm.Unsure() {
		t.Fatal("the failures are known before the Pods are listed")
	}
	if halted, done := next.controller.publishHalt(next.Context(), next.controller.storm.before); !halted || done || !pins.Is() {
		t.Errorf("the halt goes on: %t; published: %t", halted, pins.Is())
	}
	next.play(time.Minute)
	if !next.controller.ReloadsHalted() {
		t.Error("the halt has ended when the Pods are listed")
	}
}

func TestARestartRepeatsNoNoticeOfAClosedWindow(t *testing.T) {
	s := newStage(t)
	s.opts().Window = evening
	s.lead()
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.says = nil
	s.editAndPlay("2")
	s.heard("a change at noon", "web ReloadHeld")
	s = s.restarted()
	s.editAndPlay("3")
	s.heard("another change after a restart")
	s = s.restarted()
	s.play(2 * time.Hour)
	s = s.restarted()
	s.play(time.Minute)
	s.heard("the event has expired", "web ReloadHeld")
}
