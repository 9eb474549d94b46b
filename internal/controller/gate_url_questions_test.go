package controller

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/workload"
)

func TestAnAnswerAboutOtherDataCountsForNothingAfterwards(t *testing.T) {
	g := newGateURLQuestions(clocktesting.NewFakeClock(time.Now()))
	key := named("web")
	g.check(Question{Workload: key, Query: "digest=1"}, true)
	if q, ok := g.next(); ok {
		g.answered(q, "")
	}
	if a := g.check(Question{Workload: key, Query: "digest=1"}, true); !a.Open() {
		t.Errorf("the same data: %+v", a)
	}
	if a := g.check(Question{Workload: key, Query: "digest=2"}, true); a.Open() {
		t.Error("other data may be rolled")
	}
}

// Thousands of questions of some namespaces are never answered. Those of another one are asked at
// once.
func TestAGateURLThatHangsForSomeNamespacesDelaysNoOther(t *testing.T) {
	g := newGateURLQuestions(clocktesting.NewFakeClock(time.Now()))
	ask := func(ns string, i int) {
		g.check(Question{Workload: workload.Key{Kind: "Deployment", Namespace: ns, Name: fmt.Sprint(i)}}, true)
	}
	for i := range 1000 {
		for ns := range gateURLWorkers/gateURLShare - 1 {
			ask(fmt.Sprint("hangs-", ns), i)
		}
	}
	hanging := 0
	for {
		if _, ok := g.next(); !ok {
			break
		}
		hanging++
	}
	if hanging != gateURLWorkers-gateURLShare {
		t.Fatalf("%d questions are asked at the same time", hanging)
	}
	ask("other", 1)
	if q, ok := g.next(); !ok || q.Workload.Namespace != "other" {
		t.Errorf("%v, %t", q, ok)
	}
}

// Whatever comes in whatever order, each question is answered, and nothing is left. No workload has
// two questions at the same time.
func TestEachQuestionIsAsked(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		g := newGateURLQuestions(clocktesting.NewFakeClock(time.Now()))
		wanted, inFlight := map[workload.Key]string{}, []Question{}
		for step := range 600 {
			key := workload.Key{Namespace: fmt.Sprint(random.IntN(5)), Name: fmt.Sprint(random.IntN(6))}
			switch choice := random.IntN(4); {
			case step < 300 && choice == 0:
				q := Question{Workload: key, Query: fmt.Sprint(random.IntN(3))}
				if delete(wanted, key); !g.check(q, true).Open() {
					wanted[key] = q.Query
				}
			case step < 300 && choice == 1:
				g.forget(key)
				delete(wanted, key)
			case choice < 3 && len(inFlight) > 0:
				q := inFlight[0]
				inFlight = inFlight[1:]
				if g.answered(q, "") && wanted[q.Workload] == q.Query {
					delete(wanted, q.Workload)
				}
			default:
				q, ok := g.next()
				if ok && slices.ContainsFunc(inFlight, func(p Question) bool { return p.Workload == q.Workload }) {
					t.Fatalf("seed %d: %v is asked about twice at the same time", seed, q.Workload)
				}
				if ok {
					inFlight = append(inFlight, q)
				}
			}
			if n := queuedIn(g); n > len(g.about) {
				t.Fatalf("seed %d: %d questions wait about %d workloads", seed, n, len(g.about))
			}
		}
		if len(wanted) > 0 {
			t.Fatalf("seed %d: never answered: %v", seed, wanted)
		}
		if len(g.turns) > 0 || len(g.waiting) > 0 || len(g.asking) > 0 {
			t.Fatalf("seed %d: left over: %v %v %v", seed, g.turns, g.waiting, g.asking)
		}
	}
}

func queuedIn(g *gateURLQuestions) (n int) {
	for _, keys := range g.waiting {
		n += len(keys)
	}
	return n
}
