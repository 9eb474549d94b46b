package controller

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// GateURL is the program of --gate-url, outside of the cluster, which is asked before each reload.
type GateURL interface {
	// Ask returns nil if the reload may start, and otherwise why it waits.
	Ask(ctx context.Context, q Question) error
	// Receiver is the part of its address that is not secret.
	Receiver() string
}

// Question is about one reload.
type Question struct {
	Workload workload.Key
	// Query contains the workload, its changed sources and their digests, for a URL.
	Query string
}

// mostAsked is the largest number of sources in a question, because the length of a URL is limited.
const mostAsked = 20

// questionOf returns the question about a reload. The digest of a Secret is made with the key of
// the installation, so it reveals no value.
func questionOf(f *reload.Facts, d *reload.Decision) Question {
	key := f.Workload.Key
	query := url.Values{
		"namespace": {key.Namespace}, "workload": {strings.ToLower(key.Object()) + "/" + key.Name},
		"changes": {strconv.Itoa(len(d.Changes))},
	}
	for i := max(0, len(d.Changes)-mostAsked); i < len(d.Changes); i++ {
		src, sum := &d.Changes[i].Source, ""
		if !d.Changes[i].Deleted {
			sum = src.Digest.String()
		}
		query.Add("source", strings.ToLower(src.Key.Kind.String())+"/"+src.Key.Name)
		query.Add("digest", sum)
	}
	return Question{Workload: key, Query: query.Encode()}
}

// gateURL returns the function that checks what the program answered, nil without one. It sends no
// request, because the caller holds locks: the answer wakes the workload.
func (c *Controller) gateURL() func(*reload.Facts, *reload.Decision, bool) gate.Answer {
	if c.opts.GateURL == nil {
		return nil
	}
	return func(f *reload.Facts, d *reload.Decision, ask bool) gate.Answer {
		a := c.gateURLQuestions.check(questionOf(f, d), ask)
		if a.Asked {
			a.Why = c.opts.GateURL.Receiver() + " has not answered yet (--gate-url)"
		}
		return a
	}
}

// serveGateURL asks the program until the context ends.
func (c *Controller) serveGateURL(ctx context.Context) {
	for ctx.Err() == nil {
		if c.askGateURL(ctx) {
			continue
		}
		select {
		case <-c.gateURLQuestions.wake:
		case <-ctx.Done():
		}
	}
}

// askGateURL asks one question, and returns false if none may be asked now.
func (c *Controller) askGateURL(ctx context.Context) bool {
	q, ok := c.gateURLQuestions.next()
	if ok {
		c.takeAnswer(q, c.opts.GateURL.Ask(ctx, q))
	}
	return ok
}

// takeAnswer is called with the answer of the program. It wakes the workload if its reload may
// start, or begins to wait.
func (c *Controller) takeAnswer(q Question, err error) {
	why := ""
	if err != nil {
		why = c.opts.GateURL.Receiver() + " does not allow it (--gate-url): " + err.Error()
	}
	if c.gateURLQuestions.answered(q, why) {
		c.queue.Add(q.Workload, 0, 0)
	}
	if why != "" {
		c.log.Debug("waiting: "+why, "workload", q.Workload.String(), "gate", string(gate.URL))
		c.questions.Later(q.Workload, gateURLAgain)
	}
}

// askAboutAgain asks once more about a reload that the program lets wait. Only another answer wakes
// the workload, because each reconciliation may list its Pods.
func (c *Controller) askAboutAgain(_ context.Context, key workload.Key) workqueue.Result {
	c.gateURLQuestions.again(key)
	return workqueue.Finished()
}

// notifyHeldByGateURL emits on a workload why the program lets its reload wait, once each
// time. Other reasons that follow are logged.
func (c *Controller) notifyHeldByGateURL(w *workload.Workload, d *reload.Decision, answer gate.Answer) {
	if awaits := c.recordOf(w.Key).awaits; awaits.by == answer.By && awaits.asked == answer.Asked {
		return
	}
	n := notice.HeldByGateURL(w, d.Changes[len(d.Changes)-1].Source.Key, answer.Why)
	n.Once = answer.Why
	c.notifyWait(d, answer, n)
}
