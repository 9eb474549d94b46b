package report

import (
	"slices"
	"time"
)

// perMinute is how many messages a receiver gets in a minute at most. Chats refuse more than about one a second, and
// nobody reads them.
const perMinute = 10

// pace knows when messages were sent in the last minute.
type pace struct{ taken []time.Time }

// take notes that one was sent until now.
func (p *pace) take(now time.Time) {
	p.forget(now)
	p.taken = append(p.taken, now)
}

// free is how many may be sent now.
func (p *pace) free(now time.Time) int {
	p.forget(now)
	return max(perMinute-len(p.taken), 0)
}

// wait is how long it takes until one may be sent.
func (p *pace) wait(now time.Time) time.Duration {
	if p.free(now) > 0 {
		return 0
	}
	return p.taken[len(p.taken)-perMinute].Add(time.Minute).Sub(now)
}

func (p *pace) forget(now time.Time) {
	p.taken = slices.DeleteFunc(p.taken, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
}
