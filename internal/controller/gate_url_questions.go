package controller

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/workload"
)

// gateURLWorkers is how many questions are asked at the same time, and gateURLShare how many of one
// namespace. A program that hangs for the workloads of some namespaces delays no other one.
const (
	gateURLWorkers = 32
	gateURLShare   = 4
)

// gateURLAgain is how long an answer counts. If it lets a reload wait, the program is asked again
// then.
const gateURLAgain = 10 * time.Second

// gateURLMoment is how long a reload waits for the first answer until it counts as held, with a
// note in its ledger.
const gateURLMoment = 2 * time.Second

// gateURLQuestions has the questions to the program of --gate-url, and its answers, one for each
// workload whose reload is about to start. The namespaces take turns.
type gateURLQuestions struct {
	clock clock.PassiveClock
	// wake wakes workers.
	wake chan struct{}

	// mu guards what follows. Code that holds it calls nothing.
	mu    sync.Mutex
	about map[workload.Key]*gateURLQuestion
	// waiting are the workloads whose question was not asked yet, by namespace, and turns are these
	// namespaces.
	waiting map[string][]workload.Key
	turns   []string
	// asking is how many questions of a namespace are being asked.
	asking map[string]int
}

// gateURLQuestion is the question about a workload, with the latest answer.
type gateURLQuestion struct {
	Question
	// why is why the reload waits by the latest answer, empty if it may start. Until is how long
	// the answer counts; zero if there was none.
	why   string
	until time.Time
	// asked reports whether the question waits to be asked, or is being asked. Since is since when
	// there is no answer; zero if there is one.
	asked bool
	since time.Time
	// dropped reports that nothing needs the answer any more. The question keeps its place in the
	// queue, so that no workload has two.
	dropped bool
}

func newGateURLQuestions(c clock.PassiveClock) *gateURLQuestions {
	return &gateURLQuestions{
		clock: c, wake: make(chan struct{}, gateURLWorkers),
		about: map[workload.Key]*gateURLQuestion{}, waiting: map[string][]workload.Key{}, asking: map[string]int{},
	}
}

// check returns the latest answer to a question, and asks it if that is too old and ask is true.
// Meanwhile a reload that waits stays as it is. If there is no answer yet, Until is when the reload
// counts as held.
func (g *gateURLQuestions) check(q Question, ask bool) gate.Answer {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, known := g.about[q.Workload]
	switch {
	case !ask && (!known || now.dropped):
		return gate.Answer{}
	case !known:
		now = &gateURLQuestion{}
		g.about[q.Workload] = now
	case now.dropped:
		*now = gateURLQuestion{asked: now.asked}
	}
	counts := now.Query == q.Query && !now.asked && g.clock.Now().Before(now.until)
	if ask && !counts {
		now.Question = q
		g.ask(now)
	}
	switch {
	case now.why != "":
		return gate.Answer{By: gate.URL, Why: now.why}
	case counts, !now.asked:
		return gate.Answer{}
	}
	if now.since.IsZero() {
		now.since = g.clock.Now()
	}
	answer := gate.Answer{By: gate.URL, Asked: true}
	if held := now.since.Add(gateURLMoment); g.clock.Now().Before(held) {
		answer.Until = held
	}
	return answer
}

// again asks once more about a workload that waits.
func (g *gateURLQuestions) again(key workload.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now, known := g.about[key]; known && !now.dropped && now.why != "" {
		g.ask(now)
	}
}

// unanswered reports whether there is no answer about a workload yet.
func (g *gateURLQuestions) unanswered(key workload.Key) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, known := g.about[key]
	return known && !now.dropped && now.asked && now.why == ""
}

// ask queues a question, unless it is queued or being asked.
func (g *gateURLQuestions) ask(now *gateURLQuestion) {
	if now.asked {
		return
	}
	now.asked = true
	key := now.Workload
	ns := key.Namespace
	if len(g.waiting[ns]) == 0 {
		g.turns = append(g.turns, ns)
	}
	g.waiting[ns] = append(g.waiting[ns], key)
	select {
	case g.wake <- struct{}{}:
	default: // all workers are going to look
	}
}

// next returns the next question to ask, and false if none may be asked now.
func (g *gateURLQuestions) next() (Question, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := 0; i < len(g.turns); i++ {
		ns := g.turns[i]
		if g.asking[ns] >= gateURLShare {
			continue
		}
		key := g.waiting[ns][0]
		g.turns = slices.Delete(g.turns, i, i+1)
		if rest := g.waiting[ns][1:]; len(rest) > 0 {
			g.waiting[ns] = rest
			g.turns = append(g.turns, ns)
		} else {
			delete(g.waiting, ns)
		}
		if now := g.about[key]; !now.dropped {
			g.asking[ns]++
			return now.Question, true
		}
		delete(g.about, key)
		i = -1 // the turns have moved
	}
	return Question{}, false
}

// answered keeps the answer to a question, and returns whether that may start a reload, or is the
// first answer to one that waits. An answer to a question that has changed meanwhile counts for
// nothing, and the program is asked again.
func (g *gateURLQuestions) answered(q Question, why string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ns := q.Workload.Namespace
	if g.asking[ns]--; g.asking[ns] == 0 {
		delete(g.asking, ns)
	}
	now := g.about[q.Workload]
	now.asked = false
	switch {
	case now.dropped:
		delete(g.about, q.Workload)
		return false
	case now.Query != q.Query:
		g.ask(now)
		return false
	}
	wakes := why == "" || now.why == ""
	now.why, now.until, now.since = why, g.clock.Now().Add(gateURLAgain), time.Time{}
	return wakes
}

// forget forgets a workload that starts now, that another gate holds, or that was deleted.
func (g *gateURLQuestions) forget(key workload.Key) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now, known := g.about[key]; known && now.asked {
		now.dropped = true
	} else {
		delete(g.about, key)
	}
}
