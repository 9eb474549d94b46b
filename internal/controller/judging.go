package controller

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/workload"
)

// judgeWorkers is how many questions are asked at the same time, and judgeShare how many of one
// namespace. A judge that hangs for the workloads of some namespaces delays no other one.
const (
	judgeWorkers = 32
	judgeShare   = 4
)

// judgeAgain is how long an answer counts. If it lets a reload wait, the judge is asked again then.
const judgeAgain = 10 * time.Second

// judgeMoment is how long a reload waits for the first answer until it counts as held, with a note
// in its ledger.
const judgeMoment = 2 * time.Second

// judging has the questions to the judge, and its answers, one for each workload whose reload is
// about to start. The namespaces take turns.
type judging struct {
	clock clock.PassiveClock
	// wake wakes workers.
	wake chan struct{}

	// mu guards what follows. Code that holds it calls nothing.
	mu    sync.Mutex
	about map[workload.Key]*judgment
	// waiting are the workloads whose question was not asked yet, by namespace, and turns are these
	// namespaces.
	waiting map[string][]workload.Key
	turns   []string
	// asking is how many questions of a namespace are being asked.
	asking map[string]int
}

// judgment is the question about a workload, with the latest answer.
type judgment struct {
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

func newJudging(c clock.PassiveClock) *judging {
	return &judging{
		clock: c, wake: make(chan struct{}, judgeWorkers),
		about: map[workload.Key]*judgment{}, waiting: map[string][]workload.Key{}, asking: map[string]int{},
	}
}

// check returns the latest answer to a question, and asks it if that is too old and ask is true.
// Meanwhile a reload that waits stays as it is. If there is no answer yet, Until is when the reload
// counts as held.
func (j *judging) check(q Question, ask bool) gate.Answer {
	j.mu.Lock()
	defer j.mu.Unlock()
	now, known := j.about[q.Workload]
	switch {
	case !ask && (!known || now.dropped):
		return gate.Answer{}
	case !known:
		now = &judgment{}
		j.about[q.Workload] = now
	case now.dropped:
		*now = judgment{asked: now.asked}
	}
	counts := now.Query == q.Query && !now.asked && j.clock.Now().Before(now.until)
	if ask && !counts {
		now.Question = q
		j.ask(now)
	}
	switch {
	case now.why != "":
		return gate.Answer{By: gate.Judge, Why: now.why}
	case counts, !now.asked:
		return gate.Answer{}
	}
	if now.since.IsZero() {
		now.since = j.clock.Now()
	}
	answer := gate.Answer{By: gate.Judge, Asked: true}
	if held := now.since.Add(judgeMoment); j.clock.Now().Before(held) {
		answer.Until = held
	}
	return answer
}

// again asks once more about a workload that waits.
func (j *judging) again(key workload.Key) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if now, known := j.about[key]; known && !now.dropped && now.why != "" {
		j.ask(now)
	}
}

// unanswered reports whether there is no answer about a workload yet.
func (j *judging) unanswered(key workload.Key) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	now, known := j.about[key]
	return known && !now.dropped && now.asked && now.why == ""
}

// ask queues a question, unless it is queued or being asked.
func (j *judging) ask(now *judgment) {
	if now.asked {
		return
	}
	now.asked = true
	key := now.Workload
	ns := key.Namespace
	if len(j.waiting[ns]) == 0 {
		j.turns = append(j.turns, ns)
	}
	j.waiting[ns] = append(j.waiting[ns], key)
	select {
	case j.wake <- struct{}{}:
	default: // all workers are going to look
	}
}

// next returns the next question to ask, and false if none may be asked now.
func (j *judging) next() (Question, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := 0; i < len(j.turns); i++ {
		ns := j.turns[i]
		if j.asking[ns] >= judgeShare {
			continue
		}
		key := j.waiting[ns][0]
		j.turns = slices.Delete(j.turns, i, i+1)
		if rest := j.waiting[ns][1:]; len(rest) > 0 {
			j.waiting[ns] = rest
			j.turns = append(j.turns, ns)
		} else {
			delete(j.waiting, ns)
		}
		if now := j.about[key]; !now.dropped {
			j.asking[ns]++
			return now.Question, true
		}
		delete(j.about, key)
		i = -1 // the turns have moved
	}
	return Question{}, false
}

// answered keeps the answer to a question, and returns whether that may start a reload, or is the
// first answer to one that waits. An answer to a question that has changed meanwhile counts for
// nothing, and the judge is asked again.
func (j *judging) answered(q Question, why string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	ns := q.Workload.Namespace
	if j.asking[ns]--; j.asking[ns] == 0 {
		delete(j.asking, ns)
	}
	now := j.about[q.Workload]
	now.asked = false
	switch {
	case now.dropped:
		delete(j.about, q.Workload)
		return false
	case now.Query != q.Query:
		j.ask(now)
		return false
	}
	wakes := why == "" || now.why == ""
	now.why, now.until, now.since = why, j.clock.Now().Add(judgeAgain), time.Time{}
	return wakes
}

// forget forgets a workload that starts now, that another gate holds, or that was deleted.
func (j *judging) forget(key workload.Key) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if now, known := j.about[key]; known && now.asked {
		now.dropped = true
	} else {
		delete(j.about, key)
	}
}
