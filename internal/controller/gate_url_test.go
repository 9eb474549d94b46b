package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
)

// fixedAnswer is a program that gives each question the same answer.
type fixedAnswer struct {
	waits error
	asked []string
}

// Ask implements GateURL.
func (g *fixedAnswer) Ask(_ context.Context, q Question) error {
	g.asked = append(g.asked, q.Query)
	return g.waits
}

// Receiver implements GateURL.
func (g *fixedAnswer) Receiver() string { return "https://gate" }

func withGateURL(t *testing.T, waits string) (*stage, *fixedAnswer) {
	t.Helper()
	s := newStage(t)
	s.lead()
	g := &fixedAnswer{}
	if waits != "" {
		g.waits = errors.New(waits)
	}
	s.opts().GateURL = g
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.heard("adopted", "web Watching")
	return s, g
}

func (s *stage) heldByGateURL(about string, reloads, wait int) {
	s.Helper()
	if got := s.controller.HeldBy(gate.URL); s.marked != reloads || got != wait {
		s.Errorf("%s: %d reloads and %d that wait, want %d and %d", about, s.marked, got, reloads, wait)
	}
}

func TestAReloadStartsWhenTheGateURLAllowsIt(t *testing.T) {
	s, g := withGateURL(t, "")
	writes := s.patched
	s.server.Advance(5 * time.Second)
	s.edit("web", "2")
	s.play(1100 * time.Millisecond) // the settle period: the answer starts the reload at once
	s.heldByGateURL("a change", 1, 0)
	s.heard("a change")
	if s.patched != writes+1 || len(g.asked) != 1 {
		t.Errorf("%d writes and the questions %q, want one of each", s.patched-writes, g.asked)
	}
	for _, part := range []string{"namespace=shop", "workload=deployment%2Fweb", "source=configmap%2Fweb", "changes=1", "digest="} {
		if !strings.Contains(g.asked[0], part) {
			t.Errorf("asked %s, which lacks %s", g.asked[0], part)
		}
	}
	s.play(time.Hour)
	if len(g.asked) != 1 {
		t.Errorf("asked %q while nothing changes", g.asked)
	}
}

func TestAReloadWaitsUntilTheGateURLChangesItsMind(t *testing.T) {
	s, g := withGateURL(t, "it answered 409 Conflict: 2 alerts fire")
	s.editAndPlay("2")
	s.heldByGateURL("it does not allow it", 0, 1)
	s.heard("it does not allow it", "web ReloadHeld: The reload for ConfigMap 'web' waits, because https://gate does not allow it (--gate-url): it answered 409 Conflict: 2 alerts fire. Reroll asks again every few seconds")
	writes := s.patched
	s.play(10 * time.Minute)
	if n := len(g.asked); n < 50 || n > 61 || s.patched != writes {
		t.Errorf("%d questions and %d writes in ten minutes", n, s.patched-writes)
	}
	s.heard("further answers")
	s.editAndPlay("3")
	s = s.restarted()
	s.play(5 * time.Second)
	s.heldByGateURL("after a restart", 0, 1)
	g.waits = nil
	s.play(20 * time.Second)
	s.heldByGateURL("it allows it", 1, 0)
}

func TestAGateURLThatHangsHoldsNoWorkerAndNothingElse(t *testing.T) {
	s, _ := withGateURL(t, "")
	writes := s.patched
	s.gateURLHangs = true
	s.editAndPlay("2")
	if s.marked != 0 || s.patched != writes+1 || s.controller.Writing() { // the ledger notes that it waits
		t.Errorf("%d reloads, %d writes, a worker waits: %t", s.marked, s.patched-writes, s.controller.Writing())
	}
	s.annotateWeb(annotations.Urgent, "true")
	s.play(5 * time.Second)
	s.heldByGateURL("an urgent change is not asked about", 1, 0)
	s.gateURLHangs = false
	s.play(5 * time.Second)
	s.heldByGateURL("the answer comes too late", 1, 0)
}

// The answer comes while a reload that waits lists the runs of the schedule, one of which has the
// change.
func TestAnAnswerThatComesMeanwhileStartsNoNeedlessRun(t *testing.T) {
	s := newJobStage(t)
	s.lead()
	s.cronJob("report", func(*batchv1.CronJob) {})
	s.opts().GateURL, s.gateURLHangs = &fixedAnswer{}, true
	s.reads = func(*batchv1.Job) { s.controller.askGateURL(t.Context()) }
	s.server.Advance(time.Minute)
	s.edit("load", "2")
	s.server.Advance(time.Minute)
	s.scheduled("report-1")
	s.play(time.Minute)
	if s.lists == 0 || slices.ContainsFunc(s.writes, func(w string) bool { return strings.HasPrefix(w, "create ") }) {
		t.Errorf("%d lists, and written: %v", s.lists, s.writes)
	}
}

// The data changes while the program is asked about the data before.
func TestAnAnswerAboutOtherDataCountsForNothing(t *testing.T) {
	s, g := withGateURL(t, "")
	s.gateURLHangs = true
	s.editAndPlay("2")
	q, ok := s.controller.gateURLQuestions.next()
	if !ok {
		t.Fatal("nothing is asked")
	}
	s.editAndPlay("3")
	g.waits = errors.New("no")
	s.controller.gateURLQuestions.answered(q, "")
	s.controller.queue.Add(q.Workload, 0, 0)
	s.gateURLHangs = false
	s.play(5 * time.Second)
	s.heldByGateURL("it allowed the data before", 0, 1)
}

func TestACertificateThatExpiresPassesTheGateURL(t *testing.T) {
	s := withCertificate(t, ninety(t, 30))
	s.opts().Window = ""
	s.opts().GateURL = &fixedAnswer{waits: errors.New("no")}
	s.renew(ninety(t, 90))
	s.heldByGateURL("renewed", 0, 1)
	s.says = nil
	s.clock.SetTime(time.Date(2026, 3, 22, 11, 59, 0, 0, time.UTC))
	s.play(2 * time.Minute)
	s.heldByGateURL("a tenth of its lifetime before", 1, 0)
	s.heard("a tenth of its lifetime before", "web GateOverridden: https://gate does not allow it (--gate-url): no")
}

// After a restart, each reconciliation of a workload that waits lists its Pods.
func TestAReloadThatWaitsForTheGateURLCausesNoRequests(t *testing.T) {
	s, g := withGateURL(t, "it answered 409 Conflict: 1 alert fires")
	s.oldPods = true
	s.editAndPlay("2")
	s = s.restarted()
	s.oldPods = true
	s.play(5 * time.Second)
	s.heldByGateURL("after a restart", 0, 1)
	listed, writes := s.asked, s.patched
	for i := range 60 {
		g.waits = fmt.Errorf("it answered 409 Conflict: %d alerts fire", i)
		s.play(10 * time.Second)
	}
	if s.asked != listed || s.patched != writes {
		t.Errorf("%d lists and %d writes in ten minutes", s.asked-listed, s.patched-writes)
	}
	if n := len(g.asked); n < 50 {
		t.Errorf("asked %d times", n)
	}
	g.waits = nil
	s.play(gateURLAgain + time.Second)
	s.heldByGateURL("it allows it", 1, 0)
}

// The program is down, and there may be many other questions: the ledger shows that the reload
// waits. So a restart loses no change, and everybody can see it.
func TestAReloadWithoutAnAnswerIsHeldAfterAMoment(t *testing.T) {
	s, g := withGateURL(t, "")
	s.gateURLHangs = true
	writes := s.patched
	s.server.Advance(5 * time.Second)
	s.edit("web", "2")
	s.play(settleTime + gateURLMoment - time.Millisecond)
	s.heldByGateURL("just asked", 0, 0)
	s.heard("just asked")
	s.play(10 * time.Millisecond)
	s.heldByGateURL("a moment later", 0, 1)
	s.heard("a moment later", "web ReloadHeld: The reload for ConfigMap 'web' waits, because https://gate has not answered yet (--gate-url)")
	if s.patched != writes+1 {
		t.Errorf("%d writes, want the note in the ledger", s.patched-writes)
	}
	g.waits = errors.New("no response within 5s")
	s.gateURLHangs = false
	s.play(5 * time.Second)
	s.heard("the answer", "web ReloadHeld: The reload for ConfigMap 'web' waits, because https://gate does not allow it (--gate-url): no response within 5s")
	s.gateURLHangs = true
	s.editAndPlay("1") // a Pod may have started with the data in between
	s = s.restarted()
	s.opts().GateURL = &fixedAnswer{}
	s.play(5 * time.Second)
	s.heldByGateURL("after a restart", 1, 0)
}

// While the window is closed, nobody needs the answer.
func TestTheGateURLIsNotAskedAboutAReloadThatAnotherGateHolds(t *testing.T) {
	s, g := withGateURL(t, "no")
	s.editAndPlay("2")
	s.heldByGateURL("it does not allow it", 0, 1)
	s.annotateWeb(annotations.Window, "deny 00:00-24:00 UTC")
	s.play(5 * time.Second)
	asked := len(g.asked)
	s.play(10 * time.Minute)
	if n := len(g.asked) - asked; n > 0 || s.controller.HeldBy(gate.Window) != 1 {
		t.Errorf("asked %d times while its window is closed", n)
	}
	s.annotateWeb(annotations.Window, "")
	g.waits = nil
	s.play(5 * time.Second)
	s.heldByGateURL("open", 1, 0)
}

func TestACertificateThatExpiresPassesAGateURLThatHangs(t *testing.T) {
	s := withCertificate(t, ninety(t, 30))
	s.opts().Window = ""
	s.opts().GateURL, s.gateURLHangs = &fixedAnswer{}, true
	s.clock.SetTime(time.Date(2026, 3, 22, 11, 59, 0, 0, time.UTC))
	s.renew(ninety(t, 90))
	s.heldByGateURL("renewed", 0, 1)
	s.says = nil
	s.play(2 * time.Minute)
	s.heldByGateURL("a tenth of its lifetime before", 1, 0)
	s.heard("a tenth of its lifetime before", "web GateOverridden: https://gate has not answered yet (--gate-url)")
}

// Each try finds another reason of the program.
func TestTheOverrideOfAGateIsReportedOnce(t *testing.T) {
	s := withCertificate(t, ninety(t, 30))
	s.opts().Window = ""
	freeze := func(reason string) {
		text := fmt.Sprintf(`{"until":"2026-12-31T00:00:00Z","reason":%q}`, reason)
		s.controller.freeze.Store(&text)
	}
	freeze("sale")
	s.renew(ninety(t, 90))
	s.says = nil
	s.clock.SetTime(time.Date(2026, 3, 22, 11, 59, 50, 0, time.UTC))
	s.refuses = apierrors.NewInternalError(errors.New("down"))
	for i := range 30 {
		freeze(fmt.Sprintf("sale %d", i))
		s.play(10 * time.Second)
	}
	if s.failed < 2 {
		t.Fatalf("%d writes failed", s.failed)
	}
	s.heard("a write that fails again and again, with another reason each time", "web GateOverridden: sale ")
	s.refuses = nil
	tries := s.marked
	s.play(10 * time.Minute)
	if s.marked != tries+1 {
		t.Errorf("%d reloads when the write is answered, want 1", s.marked-tries)
	}
}

// A place that becomes free is for one workload, which keeps it until the program has answered.
func TestAFreePlaceCausesOneQuestion(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.MaxRolling: "1"}, "0", "0", "0", "0", "0", "0", "0", "0")
	g := &fixedAnswer{}
	s.opts().GateURL = g
	s.edit("ca", "2")
	s.play(5 * time.Second)
	if len(s.reloadedWith) != 1 {
		t.Fatalf("reloaded at first: %v", s.reloadedWith)
	}
	for i := range len(s.names) - 1 {
		s.play(time.Minute) // the first answers are too old
		asked := len(g.asked)
		s.roll(s.rolling(), true)
		s.play(5 * time.Second)
		if n := len(g.asked) - asked; n != 1 || len(s.reloadedWith) != i+2 {
			t.Fatalf("place %d: %d questions, and reloaded %v", i+2, n, s.reloadedWith)
		}
	}
}
