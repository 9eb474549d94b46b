package controller

import (
	"bytes"
	"math/rand/v2"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Some controllers start in a freeze, which ends within a minute or two. A change that waits is
// judged as any other when all is at rest.

// freeze freezes all namespaces from the start of a controller, by its clock.
func (h *history) freeze(r *rand.Rand) {
	h.frozenUntil = time.Time{}
	if r.IntN(4) > 0 {
		return
	}
	h.frozenUntil = h.clock.Now().Add(time.Duration(10+r.IntN(90)) * time.Second).Truncate(time.Second)
	h.c.putFreeze(annotations.Frozen{Until: h.frozenUntil, By: "alice", Reason: "incident"}.String())
	h.say("frozen until %s", clockTime(h.frozenUntil))
}

// judgeFreeze checks that no reload starts in a freeze.
func (h *history) judgeFreeze(key workload.Key, body []byte) {
	if h.kind != "" || !bytes.Contains(body, []byte(`"template"`)) || h.frozenUntil.IsZero() {
		return
	}
	h.count("freezes")
	if now := h.clock.Now(); now.Before(h.frozenUntil) {
		h.oracle.fail("%s is rolled at %s, although reloads are frozen until %s", key, clockTime(now), clockTime(h.frozenUntil))
	}
}
