package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/workload"
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
	if s.marked != 0 || s.patched != writes || s.queue.InHand() {
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

func TestAnAnswerAboutOtherDataCountsForNothingAfterwards(t *testing.T) {
	j := newJudging(clocktesting.NewFakeClock(time.Now()))
	key := named("web")
	j.check(Question{Workload: key, Query: "digest=1"}, true)
	if q, ok := j.next(); ok {
		j.answered(q, "")
	}
	if a := j.check(Question{Workload: key, Query: "digest=1"}, true); !a.Open() {
		t.Errorf("the same data: %+v", a)
	}
	if a := j.check(Question{Workload: key, Query: "digest=2"}, true); a.Open() {
		t.Error("other data may be rolled")
	}
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

// Thousands of questions of some namespaces are never answered. Those of another one are asked at
// once.
func TestAJudgeThatHangsForSomeNamespacesDelaysNoOther(t *testing.T) {
	j := newJudging(clocktesting.NewFakeClock(time.Now()))
	ask := func(ns string, i int) {
		j.check(Question{Workload: workload.Key{Kind: "Deployment", Namespace: ns, Name: fmt.Sprint(i)}}, true)
	}
	for i := range 1000 {
		for ns := range judgeWorkers/judgeShare - 1 {
			ask(fmt.Sprint("hangs-", ns), i)
		}
	}
	hanging := 0
	for {
		if _, ok := j.next(); !ok {
			break
		}
		hanging++
	}
	if hanging != judgeWorkers-judgeShare {
		t.Fatalf("%d questions are asked at the same time", hanging)
	}
	ask("other", 1)
	if q, ok := j.next(); !ok || q.Workload.Namespace != "other" {
		t.Errorf("%v, %t", q, ok)
	}
}

// Whatever comes in whatever order, each question is answered, and nothing is left.
func TestEachQuestionIsAsked(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		j := newJudging(clocktesting.NewFakeClock(time.Now()))
		wanted, inFlight := map[workload.Key]bool{}, []Question{}
		for step := range 600 {
			key := workload.Key{Namespace: fmt.Sprint(random.IntN(5)), Name: fmt.Sprint(random.IntN(6))}
			switch choice := random.IntN(4); {
			case step < 300 && choice == 0:
				wanted[key] = j.check(Question{Workload: key, Query: fmt.Sprint(random.IntN(3))}, true).Asked
			case step < 300 && choice == 1:
				j.forget(key)
				delete(wanted, key)
			case choice < 3 && len(inFlight) > 0:
				q := inFlight[0]
				inFlight = inFlight[1:]
				j.answered(q, "")
				if wanted[q.Workload] {
					wanted[q.Workload] = j.check(j.about[q.Workload].Question, true).Asked // the answer wakes the workload
				}
			default:
				if q, ok := j.next(); ok {
					inFlight = append(inFlight, q)
				}
			}
		}
		for key, asked := range wanted {
			if asked {
				t.Fatalf("seed %d: %v was never answered", seed, key)
			}
		}
		if len(j.turns) > 0 || len(j.waiting) > 0 || len(j.asking) > 0 {
			t.Fatalf("seed %d: left over: %v %v %v", seed, j.turns, j.waiting, j.asking)
		}
	}
}
