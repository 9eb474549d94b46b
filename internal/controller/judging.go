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

// judgeAgain is how long an answer counts.
const judgeAgain = 10 * time.Second

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
	// asked reports whether the question was not answered yet.
	asked bool
}

func newJudging(c clock.PassiveClock) *judging {
	return &judging{
		clock: c, wake: make(chan struct{}, judgeWorkers),
		about: map[workload.Key]*judgment{}, waiting: map[string][]workload.Key{}, asking: map[string]int{},
	}
}

// check returns the latest answer to a question. If that is too old, the judge is asked again, and
// meanwhile a reload that waits stays as it is.
func (j *judging) check(q Question, ask bool) gate.Answer {
	j.mu.Lock()
	defer j.mu.Unlock()
	now, known := j.about[q.Workload]
	if !ask {
		if !known || now.why == "" {
			return gate.Answer{}
		}
		return gate.Answer{By: gate.Judge, Why: now.why}
	}
	if !known {
		now = &judgment{}
		j.about[q.Workload] = now
	}
	if now.Query == q.Query && !now.asked && j.clock.Now().Before(now.until) {
		if now.why == "" {
			return gate.Answer{}
		}
		return gate.Answer{By: gate.Judge, Until: now.until, Why: now.why}
	}
	now.Question = q
	if !now.asked {
		now.asked = true
		j.push(q.Workload)
	}
	if now.why == "" {
		return gate.Answer{By: gate.Judge, Asked: true, Why: "until the URL of --gate-url has answered"}
	}
	return gate.Answer{By: gate.Judge, Why: now.why}
}

func (j *judging) push(key workload.Key) {
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
		if now, wanted := j.about[key]; wanted && now.asked {
			j.asking[ns]++
			return now.Question, true
		}
		i = -1 // the workload was deleted, and the turns have moved
	}
	return Question{}, false
}

// answered keeps the answer to a question. If the question has changed meanwhile, the answer counts
// as no answer, and the judge is asked again.
func (j *judging) answered(q Question, why string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	ns := q.Workload.Namespace
	if j.asking[ns]--; j.asking[ns] == 0 {
		delete(j.asking, ns)
	}
	if now, wanted := j.about[q.Workload]; wanted {
		now.asked, now.why = false, why
		if now.until = (time.Time{}); now.Query == q.Query {
			now.until = j.clock.Now().Add(judgeAgain)
		}
	}
}

// forget forgets a workload that starts now, or was deleted.
func (j *judging) forget(key workload.Key) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.about, key)
}
