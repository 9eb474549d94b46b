package controller

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Some controllers ask a program outside of the cluster before each reload. It changes its mind,
// and may take long to answer. A change that waits is judged as any other when all is at rest.

// drawnGateURL is that program, with what it was asked and has answered.
type drawnGateURL struct {
	r *rand.Rand
	// asks reports whether the running controller asks, and open are the questions without an
	// answer.
	asks bool
	open []Question
	// allowed has, by workload, the question that was allowed last, and when. A later refusal
	// removes it.
	allowed map[workload.Key]allowed
}

// heldToGateURL counts the reloads of controllers that ask.
const heldToGateURL = "reloads that were asked about"

type allowed struct {
	query url.Values
	at    time.Time
}

// Ask implements GateURL. Histories answer later.
func (g *drawnGateURL) Ask(context.Context, Question) error { return nil }

// Receiver implements GateURL.
func (g *drawnGateURL) Receiver() string { return "https://gate" }

// drawGateURL draws whether a controller asks.
func (h *history) drawGateURL() GateURL {
	h.gateURL = drawnGateURL{r: rand.New(rand.NewPCG(h.seed, 3000+uint64(h.life))), allowed: map[workload.Key]allowed{}}
	if h.gateURL.asks = h.gateURL.r.IntN(8) == 0; !h.gateURL.asks {
		return nil
	}
	h.say("each reload is asked about")
	return &h.gateURL
}

// askAll begins to ask what is due, and answers some questions.
func (h *history) askAll() (some bool) {
	g := &h.gateURL
	if !g.asks {
		return false
	}
	some = duty{queue: h.c.questions, do: h.c.askAboutAgain}.all(context.Background())
	for {
		q, ok := h.c.gateURLQuestions.next()
		if !ok {
			break
		}
		some = true
		g.open = append(g.open, q)
	}
	for i, q := range slices.Backward(g.open) {
		if h.calm || g.r.IntN(3) > 0 {
			some = true
			g.open = slices.Delete(g.open, i, i+1)
			h.answer(q)
		}
	}
	return some
}

func (h *history) answer(q Question) {
	query, err := url.ParseQuery(q.Query)
	if err != nil {
		h.oracle.fail("%s is asked about by %q: %v", q.Workload, q.Query, err)
	}
	if h.gateURL.r.IntN(2) == 0 {
		h.say("gate URL: %s may be rolled", q.Workload)
		h.gateURL.allowed[q.Workload] = allowed{query, h.clock.Now()}
		h.c.takeAnswer(q, nil)
		return
	}
	h.say("gate URL: %s must wait", q.Workload)
	delete(h.gateURL.allowed, q.Workload)
	h.c.takeAnswer(q, errors.New("an alert fires"))
}

// judgeAnswer checks that a reload was allowed just now, and that the question had data that it
// brings.
func (h *history) judgeAnswer(key workload.Key, body []byte) {
	if !h.gateURL.asks || h.kind != "" || !bytes.Contains(body, []byte(`"template"`)) {
		return
	}
	h.count(heldToGateURL)
	now := h.clock.Now()
	given, ok := h.gateURL.allowed[key]
	if !ok || now.Sub(given.at) > gateURLAgain {
		h.oracle.fail("%s is rolled at %s, and the latest answer does not allow it: %v", key, clockTime(now), given)
		return
	}
	_, _, after, err := h.ledgersOf(key, body)
	if err != nil {
		return
	}
	for _, sum := range after.Entries {
		if slices.Contains(given.query["digest"], sum.String()) {
			return
		}
	}
	if !slices.Contains(given.query["digest"], "") {
		h.oracle.fail("%s is rolled with %v, and was asked about with %v", key, after.Entries, given.query["digest"])
	}
}
