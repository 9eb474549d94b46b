package controller

import (
	"bytes"
	"math/rand/v2"
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Some controllers start reloads only in windows, which open and close within minutes. A change
// that waits is judged as any other when all is at rest.

// drawnWindow is a window, and when it is open by the clock of the controller. That is written down
// without any arithmetic of windows.
type drawnWindow struct {
	text string
	open func(t time.Time) bool
}

func drawWindow(r *rand.Rand) drawnWindow {
	windows := []drawnWindow{
		{`allow "*/2 * * * *" 1m UTC`, func(t time.Time) bool { return t.Minute()%2 == 0 }},
		{`deny "*/3 * * * *" 2m UTC`, func(t time.Time) bool { return t.Minute()%3 == 2 }},
		{`allow "0-29 * * * *" 1m UTC; deny "*/5 * * * *" 90s UTC`, func(t time.Time) bool {
			sinceFive := time.Duration(t.Minute()%5)*time.Minute + time.Duration(t.Second())*time.Second
			return t.Minute() < 30 && sinceFive >= 90*time.Second
		}},
	}
	if n := r.IntN(3 * len(windows)); n < len(windows) {
		return windows[n]
	}
	return drawnWindow{}
}

// judgeWindow checks that no reload starts while its window is closed.
func (h *history) judgeWindow(key workload.Key, body []byte) {
	if h.window.open == nil || h.kind != "" || !bytes.Contains(body, []byte(`"template"`)) {
		return
	}
	h.count("windows")
	if now := h.clock.Now().UTC(); !h.window.open(now) {
		h.oracle.fail("%s is rolled at %s, outside of %s", key, now.Format(time.TimeOnly), h.window.text)
	}
}
