package controller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// Receiver is notified of changes if another program reloads the workloads.
type Receiver interface {
	// Send returns nil if the receiver has accepted all notifications. It returns ErrRefused if the
	// receiver rejects the content of the message: the message may be too large, or the receiver
	// may not know one of the workloads.
	Send(ctx context.Context, notifications []Notification) error
}

// ErrRefused means that a receiver might accept a part of a message.
const ErrRefused = sentinel("the webhook receiver rejects the message")

// Notification contains the changes that concern one workload.
type Notification struct {
	Workload workload.Workload
	Decision reload.Decision
}

const (
	// Changes are collected for this time and sent together, because one change may concern a
	// thousand workloads.
	notifyDelay    = time.Second
	notifyDelayMax = 10 * time.Second
	// maxNotifications bounds one message.
	maxNotifications = 250
	// notifyWorkers is how many workloads are decided on for a message, or have its acceptance
	// recorded, at the same time.
	notifyWorkers = 16
	// aloneFor is how long each workload gets a message of its own after the receiver has rejected
	// a message about several.
	aloneFor = time.Hour
	// sendingEnds is how long a message in flight may take when the controller stops. Whether the
	// receiver accepted a message that was cut off is unknown, so it is sent again.
	sendingEnds = 3 * time.Second
)

// queueForReceiver queues a workload for the next notification of the receiver.
func (c *Controller) queueForReceiver(key workload.Key) {
	c.notifications.Add(key, notifyDelay, notifyDelayMax)
}

// serveReceiver sends one message after the other, so that a receiver that hangs delays only other
// messages. The queue contains only workloads: the content of a message is decided when it is sent.
func (c *Controller) serveReceiver(writing context.Context, stop <-chan struct{}) {
	sending, cancel := context.WithCancel(writing)
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-stop:
		case <-ended:
			return
		}
		timer := c.clock.NewTimer(sendingEnds)
		defer timer.Stop()
		select {
		case <-timer.C():
			cancel()
		case <-ended:
		}
	}()
	c.notifications.ServeMany(stop, c.atOnce, func(keys []workload.Key) []workqueue.Result {
		return c.sendMessages(writing, sending, stop, keys)
	})
}

// sendMessages notifies the receiver of workloads, and records in each ledger that the receiver
// accepted it. After stop, nothing is sent, and acceptance is recorded as long as a message may be
// in flight.
func (c *Controller) sendMessages(writing, sending context.Context, stop <-chan struct{}, keys []workload.Key) []workqueue.Result {
	all := make([]message, len(keys))
	inParallel(len(keys), stop, func(i int) { all[i] = c.messageOf(sending, keys[i]) })
	var taken, open []*message
	for i := range all {
		switch m := &all[i]; {
		case !m.needed:
		case c.wasAccepted(m):
			taken = append(taken, m)
		default:
			open = append(open, m)
		}
	}
	if len(open) > 0 && !closed(stop) && c.send(sending, open) {
		taken = append(taken, open...)
	}
	inParallel(len(taken), sending.Done(), func(i int) { taken[i].result = c.recordAccepted(writing, taken[i]) })
	results := make([]workqueue.Result, 0, len(all))
	for i := range all {
		results = append(results, all[i].result)
	}
	return results
}

// send sends one message about several workloads, and reports whether the receiver accepted it.
func (c *Controller) send(ctx context.Context, open []*message) bool {
	notifications := make([]Notification, 0, len(open))
	began := c.clock.Now() // a receiver may roll a workload before it responds
	for _, m := range open {
		m.sentAt = began
		notifications = append(notifications, Notification{m.facts.Workload, m.decision})
	}
	switch err := c.opts.Receiver.Send(ctx, notifications); {
	case err == nil:
		c.noteAccepted(open)
		return true
	case errors.Is(err, ErrRefused) && len(open) > 1:
		c.sendEachAlone(open)
	default:
		for _, m := range open {
			m.result = workqueue.FailedWith(nil) // the receiver reports its errors itself
		}
	}
	return false
}

// inParallel calls do for each index, notifyWorkers of them at the same time, and starts no more
// when stop closes.
func inParallel(much int, stop <-chan struct{}, do func(i int)) {
	var running sync.WaitGroup
	var begun atomic.Int64
	for range min(much, notifyWorkers) {
		running.Go(func() {
			for !closed(stop) {
				i := int(begun.Add(1)) - 1
				if i >= much {
					return
				}
				do(i)
			}
		})
	}
	running.Wait()
}

func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// atOnce is how many workloads are in one message.
func (c *Controller) atOnce() int {
	if c.clock.Now().Before(c.aloneUntil) {
		return 1
	}
	return maxNotifications
}

// sendEachAlone sends a message for each workload at once, so that one workload that the receiver
// rejects, or a message that is too large, does not block the others.
func (c *Controller) sendEachAlone(refused []*message) {
	c.aloneUntil = c.clock.Now().Add(aloneFor)
	c.log.Info("the webhook receiver rejected a message about several workloads; sending one message for each workload",
		"workloads", len(refused), "for", aloneFor.String())
	for _, m := range refused {
		m.result = workqueue.WaitFor(0)
	}
}

// message is a notification about a workload, its decision, and when it was sent.
type message struct {
	// needed reports whether there is something to notify now.
	needed   bool
	facts    reload.Facts
	decision reload.Decision
	sentAt   time.Time
	// result is the outcome so far.
	result workqueue.Result
}

// messageOf decides again, because the workload may have waited for long.
func (c *Controller) messageOf(ctx context.Context, key workload.Key) message {
	facts, ok := c.state.Facts(key)
	if !ok || c.leavesOut(&facts.Workload) {
		return message{result: workqueue.Finished()}
	}
	if !c.leads() {
		return message{result: workqueue.WaitFor(leadAgain)}
	}
	ctx, cancel := context.WithTimeout(ctx, requestsTake)
	defer cancel()
	d, err := c.decide(ctx, &facts)
	if err != nil || d.Action != reload.Reload {
		c.queue.Add(key, 0, 0) // which also reports an error
		return message{result: workqueue.Pending()}
	}
	return message{needed: true, facts: facts, decision: d}
}

// accepted is a message about a workload that the receiver accepted and that is not in the ledger
// yet, and when it was sent.
type accepted struct {
	uid     types.UID
	content string
	sentAt  time.Time
}

func (m *message) accepted() accepted {
	return accepted{m.facts.Workload.UID, m.decision.Ledger.Content(), m.sentAt}
}

// wasAccepted also sets the time at which the message was sent.
func (c *Controller) wasAccepted(m *message) bool {
	known := c.recordOf(m.facts.Workload.Key).accepted
	m.sentAt = known.sentAt
	return known == m.accepted()
}

func (c *Controller) noteAccepted(all []*message) {
	for _, m := range all {
		c.with(m.facts.Workload.Key, func(r *record) { r.accepted = m.accepted() })
	}
}

// forgetAccepted forgets an accepted message about a workload when the decision is no longer to
// notify, because the same data may change again later. If only a run has to end first, the message
// stays valid.
func (c *Controller) forgetAccepted(key workload.Key, d reload.Decision) {
	if d.Action == reload.Reload || d.Action == reload.AwaitRun {
		return
	}
	c.with(key, func(r *record) { r.accepted = accepted{} })
}

// recordAccepted writes the ledger of a workload, so that the receiver is not notified again.
func (c *Controller) recordAccepted(ctx context.Context, m *message) workqueue.Result {
	w := &m.facts.Workload
	ctx, cancel := context.WithTimeout(ctx, requestsTake)
	defer cancel()
	d := m.decision.Notified(w, m.sentAt)
	err := c.write(ctx, &m.facts, d)
	switch {
	case isConflict(err) && c.notifications.TriesOf(w.Key) < toleratedConflicts:
		return workqueue.Conflicted() // the watch reports a newer version, or the deletion
	case err != nil:
		return workqueue.FailedWith(func(retryIn time.Duration, again bool) { c.report.Failed(w, d, err, retryIn, again) })
	}
	c.with(w.Key, func(r *record) { r.accepted = accepted{} })
	return workqueue.Finished()
}
