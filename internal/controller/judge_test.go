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

// onStage is a judge that says the same to everybody.
type onStage struct {
	waits error
	asked []string
}

// Ask implements Judge.
func (j *onStage) Ask(_ context.Context, q Question) error {
	j.asked = append(j.asked, q.Query)
	return j.waits
}

// Receiver implements Judge.
func (j *onStage) Receiver() string { return "https://judge" }

func judged(t *testing.T, waits string) (*stage, *onStage) {
	t.Helper()
	s := newStage(t)
	s.acting.Store(true)
	j := &onStage{}
	if waits != "" {
		j.waits = errors.New(waits)
	}
	s.opts.Judge = j
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.heard("adopted", "web Watching")
	return s, j
}

func (s *stage) heldByJudge(about string, reloads, wait int) {
	s.Helper()
	if got := s.HeldBy(gate.Judge); s.marked != reloads || got != wait {
		s.Errorf("%s: %d reloads and %d that wait, want %d and %d", about, s.marked, got, reloads, wait)
	}
}

func TestAReloadStartsWhenTheJudgeAllowsIt(t *testing.T) {
	s, j := judged(t, "")
	writes := s.patched
	s.editAndPlay("2")
	s.heldByJudge("a change", 1, 0)
	s.heard("a change")
	if s.patched != writes+1 || len(j.asked) != 1 {
		t.Errorf("%d writes and the questions %q, want one of each", s.patched-writes, j.asked)
	}
	for _, part := range []string{"namespace=shop", "workload=deployment%2Fweb", "source=configmap%2Fweb", "changes=1", "digest="} {
		if !strings.Contains(j.asked[0], part) {
			t.Errorf("asked %s, which lacks %s", j.asked[0], part)
		}
	}
	s.play(time.Hour)
	if len(j.asked) != 1 {
		t.Errorf("asked %q while nothing changes", j.asked)
	}
}

func TestAReloadWaitsUntilTheJudgeChangesItsMind(t *testing.T) {
	s, j := judged(t, "it answered 409 Conflict: 2 alerts fire")
	s.editAndPlay("2")
	s.heldByJudge("it does not allow it", 0, 1)
	s.heard("it does not allow it", "web ReloadHeld: The reload for ConfigMap 'web' waits, because https://judge does not allow it (--gate-url): it answered 409 Conflict: 2 alerts fire. Reroll asks again every few seconds")
	writes := s.patched
	s.play(10 * time.Minute)
	if n := len(j.asked); n < 50 || n > 61 || s.patched != writes {
		t.Errorf("%d questions and %d writes in ten minutes", n, s.patched-writes)
	}
	s.heard("further answers")
	s.editAndPlay("3")
	s = s.restarted()
	s.play(5 * time.Second)
	s.heldByJudge("after a restart", 0, 1)
	j.waits = nil
	s.play(20 * time.Second)
	s.heldByJudge("it allows it", 1, 0)
}

func TestAJudgeThatHangsHoldsNoWorkerAndNothingElse(t *testing.T) {
	s, _ := judged(t, "")
	writes := s.patched
	s.judgeHangs = true
	s.editAndPlay("2")
	if s.marked != 0 || s.patched != writes+1 || s.queue.InHand() { // the ledger notes that it waits
		t.Errorf("%d reloads, %d writes, a worker waits: %t", s.marked, s.patched-writes, s.queue.InHand())
	}
	s.annotateWeb(annotations.Urgent, "true")
	s.play(5 * time.Second)
	s.heldByJudge("an urgent change is not asked about", 1, 0)
	s.judgeHangs = false
	s.play(5 * time.Second)
	s.heldByJudge("the answer comes too late", 1, 0)
}

// The answer comes while a reload that waits lists the runs of the schedule, one of which has the
// change.
func TestAnAnswerThatComesMeanwhileStartsNoNeedlessRun(t *testing.T) {
	s := newJobStage(t)
	s.acting.Store(true)
	s.cronJob("report", func(*batchv1.CronJob) {})
	s.opts.Judge, s.judgeHangs = &onStage{}, true
	s.reads = func(*batchv1.Job) { s.askJudge(t.Context()) }
	s.server.Advance(time.Minute)
	s.edit("load", "2")
	s.server.Advance(time.Minute)
	s.scheduled("report-1")
	s.play(time.Minute)
	if s.lists == 0 || slices.ContainsFunc(s.writes, func(w string) bool { return strings.HasPrefix(w, "create ") }) {
		t.Errorf("%d lists, and written: %v", s.lists, s.writes)
	}
}

// The data changes while the judge is asked about the data before.
func TestAnAnswerAboutOtherDataCountsForNothing(t *testing.T) {
	s, j := judged(t, "")
	s.judgeHangs = true
	s.editAndPlay("2")
	q, ok := s.judging.next()
	if !ok {
		t.Fatal("nothing is asked")
	}
	s.editAndPlay("3")
	j.waits = errors.New("no")
	s.judging.answered(q, "")
	s.queue.Add(q.Workload, 0, 0)
	s.judgeHangs = false
	s.play(5 * time.Second)
	s.heldByJudge("it allowed the data before", 0, 1)
}

func TestACertificateThatExpiresPassesTheJudge(t *testing.T) {
	s := withCertificate(t, ninety(t, 30))
	s.opts.Window = ""
	s.opts.Judge = &onStage{waits: errors.New("no")}
	s.renew(ninety(t, 90))
	s.heldByJudge("renewed", 0, 1)
	s.says = nil
	s.clock.SetTime(time.Date(2026, 3, 22, 11, 59, 0, 0, time.UTC))
	s.play(2 * time.Minute)
	s.heldByJudge("a tenth of its lifetime before", 1, 0)
	s.heard("a tenth of its lifetime before", "web GateOverridden: https://judge does not allow it (--gate-url): no")
}

// After a restart, each reconciliation of a workload that waits lists its Pods.
func TestAReloadThatWaitsForTheJudgeCausesNoRequests(t *testing.T) {
	s, j := judged(t, "it answered 409 Conflict: 1 alert fires")
	s.oldPods = true
	s.editAndPlay("2")
	s = s.restarted()
	s.oldPods = true
	s.play(5 * time.Second)
	s.heldByJudge("after a restart", 0, 1)
	listed, writes := s.asked, s.patched
	for i := range 60 {
		j.waits = fmt.Errorf("it answered 409 Conflict: %d alerts fire", i)
		s.play(10 * time.Second)
	}
	if s.asked != listed || s.patched != writes {
		t.Errorf("%d lists and %d writes in ten minutes", s.asked-listed, s.patched-writes)
	}
	if n := len(j.asked); n < 50 {
		t.Errorf("asked %d times", n)
	}
	j.waits = nil
	s.play(judgeAgain + time.Second)
	s.heldByJudge("it allows it", 1, 0)
}

// The judge is down, and there may be many other questions: the ledger shows that the reload waits.
// So a restart loses no change, and everybody can see it.
func TestAReloadWithoutAnAnswerIsHeldAfterAMoment(t *testing.T) {
	s, j := judged(t, "")
	s.judgeHangs = true
	writes := s.patched
	s.server.Advance(5 * time.Second)
	s.edit("web", "2")
	s.play(settleTime + judgeMoment - time.Millisecond)
	s.heldByJudge("just asked", 0, 0)
	s.heard("just asked")
	s.play(10 * time.Millisecond)
	s.heldByJudge("a moment later", 0, 1)
	s.heard("a moment later", "web ReloadHeld: The reload for ConfigMap 'web' waits, because https://judge has not answered yet (--gate-url)")
	if s.patched != writes+1 {
		t.Errorf("%d writes, want the note in the ledger", s.patched-writes)
	}
	j.waits = errors.New("no response within 5s")
	s.judgeHangs = false
	s.play(5 * time.Second)
	s.heard("the answer", "web ReloadHeld: The reload for ConfigMap 'web' waits, because https://judge does not allow it (--gate-url): no response within 5s")
	s.judgeHangs = true
	s.editAndPlay("1") // a Pod may have started with the data in between
	s = s.restarted()
	s.opts.Judge = &onStage{}
	s.play(5 * time.Second)
	s.heldByJudge("after a restart", 1, 0)
}

// While the window is closed, nobody needs the answer.
func TestTheJudgeIsNotAskedAboutAReloadThatAnotherGateHolds(t *testing.T) {
	s, j := judged(t, "no")
	s.editAndPlay("2")
	s.heldByJudge("it does not allow it", 0, 1)
	s.annotateWeb(annotations.Window, "deny 00:00-24:00 UTC")
	s.play(5 * time.Second)
	asked := len(j.asked)
	s.play(10 * time.Minute)
	if n := len(j.asked) - asked; n > 0 || s.HeldBy(gate.Window) != 1 {
		t.Errorf("asked %d times while its window is closed", n)
	}
	s.annotateWeb(annotations.Window, "")
	j.waits = nil
	s.play(5 * time.Second)
	s.heldByJudge("open", 1, 0)
}

func TestACertificateThatExpiresPassesAJudgeThatHangs(t *testing.T) {
	s := withCertificate(t, ninety(t, 30))
	s.opts.Window = ""
	s.opts.Judge, s.judgeHangs = &onStage{}, true
	s.clock.SetTime(time.Date(2026, 3, 22, 11, 59, 0, 0, time.UTC))
	s.renew(ninety(t, 90))
	s.heldByJudge("renewed", 0, 1)
	s.says = nil
	s.play(2 * time.Minute)
	s.heldByJudge("a tenth of its lifetime before", 1, 0)
	s.heard("a tenth of its lifetime before", "web GateOverridden: https://judge has not answered yet (--gate-url)")
}

// Each try finds another reason of the judge.
func TestTheOverrideOfAGateIsReportedOnce(t *testing.T) {
	s := withCertificate(t, ninety(t, 30))
	s.opts.Window = ""
	j := &onStage{waits: errors.New("0 alerts fire")}
	s.opts.Judge = j
	s.renew(ninety(t, 90))
	s.says = nil
	s.clock.SetTime(time.Date(2026, 3, 22, 11, 59, 50, 0, time.UTC))
	s.refuses = apierrors.NewInternalError(errors.New("down"))
	for i := range 30 {
		j.waits = fmt.Errorf("%d alerts fire", i)
		s.play(10 * time.Second)
	}
	if s.failed < 2 {
		t.Fatalf("%d writes failed", s.failed)
	}
	s.heard("a write that fails again and again", "web GateOverridden: alerts fire")
	s.refuses = nil
	tries := s.marked
	s.play(10 * time.Minute)
	s.heldByJudge("the write is answered", tries+1, 0)
}

// A place that becomes free is for one workload, which keeps it until the judge has answered.
func TestAFreePlaceCausesOneQuestion(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.MaxRolling: "1"}, "0", "0", "0", "0", "0", "0", "0", "0")
	j := &onStage{}
	s.opts.Judge = j
	s.edit("ca", "2")
	s.play(5 * time.Second)
	if len(s.reloadedWith) != 1 {
		t.Fatalf("reloaded at first: %v", s.reloadedWith)
	}
	for i := range len(s.names) - 1 {
		s.play(time.Minute) // the first answers are too old
		asked := len(j.asked)
		s.roll(s.rolling(), true)
		s.play(5 * time.Second)
		if n := len(j.asked) - asked; n != 1 || len(s.reloadedWith) != i+2 {
			t.Fatalf("place %d: %d questions, and reloaded %v", i+2, n, s.reloadedWith)
		}
	}
}
