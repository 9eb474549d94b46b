package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// gateAgain is how long a reload waits for the clock until its gates are checked again, because
// clocks may be set, and an opening that is too far away is not known.
const gateAgain = time.Hour

// whenOpen returns an error that says when to check the gates of a reload again.
func whenOpen(answer gate.Answer, now time.Time) error {
	until, byClock := answer.Until, isForClock(answer.By)
	if at := answer.Override.At; !at.IsZero() && (until.IsZero() || at.Before(until)) {
		until, byClock = at, true
	}
	switch {
	case byClock && until.IsZero():
		return retryAfter(gateAgain)
	case byClock:
		return retryAfter(min(until.Sub(now), gateAgain))
	case answer.Until.IsZero():
		return errLater // another workload has to finish first
	default:
		return retryAfter(answer.Until.Sub(now))
	}
}

// isForClock reports whether a gate opens at a time that users choose.
func isForClock(by gate.Name) bool { return by == gate.Window || by == gate.Freeze }

// notifyClosed emits on a workload that its reload waits for the clock, once each time.
func (c *Controller) notifyClosed(w *workload.Workload, d *reload.Decision, answer gate.Answer) {
	if c.recordOf(w.Key).awaits.by == answer.By {
		return
	}
	opens := ""
	if !answer.Until.IsZero() {
		opens = answer.When(time.UTC)
	}
	c.notifyWait(d, answer, notice.HeldByClock(w, d.Changes[len(d.Changes)-1].Source.Key, answer.Why, opens))
}
