package report

import (
	"slices"
	"time"
)

// perMinute is the maximum number of messages to a receiver in a minute. Chats reject more than
// about one per second, and nobody reads so many.
const perMinute = 10

// pace contains the times of the messages in the last minute.
type pace struct{ taken []time.Time }

// take records a message that was sent until now.
func (p *pace) take(now time.Time) {
	p.forget(now)
	p.taken = append(p.taken, now)
}

// free is how many messages may be sent now.
func (p *pace) free(now time.Time) int {
	p.forget(now)
	return max(perMinute-len(p.taken), 0)
}

// wait is how long it takes until a message may be sent.
func (p *pace) wait(now time.Time) time.Duration {
	if p.free(now) > 0 {
		return 0
	}
	return p.taken[len(p.taken)-perMinute].Add(time.Minute).Sub(now)
}

func (p *pace) forget(now time.Time) {
	p.taken = slices.DeleteFunc(p.taken, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
}
