package controller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
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
	for {
		key, ok := c.notifications.Next(stop)
		if !ok {
			return
		}
		keys := append([]workload.Key{key}, c.notifications.Due(c.atOnce()-1)...)
		c.sendMessages(writing, sending, stop, keys)
		for _, key := range keys {
			c.notifications.Done(key)
		}
	}
}

// sendMessages notifies the receiver of workloads, and records in each ledger that the receiver
// accepted it. After stop, nothing is sent, and acceptance is recorded as long as a message may be
// in flight.
func (c *Controller) sendMessages(writing, sending context.Context, stop <-chan struct{}, keys []workload.Key) {
	found := make([]*message, len(keys))
	inParallel(len(keys), stop, func(i int) {
		if t, ok := c.messageOf(sending, keys[i]); ok {
			found[i] = &t
		}
	})
	var taken, open []message
	for _, t := range found {
		switch {
		case t == nil:
		case c.wasAccepted(t):
			taken = append(taken, *t)
		default:
			open = append(open, *t)
		}
	}
	if len(open) > 0 && !closed(stop) {
		notifications := make([]Notification, 0, len(open))
		for _, t := range open {
			notifications = append(notifications, Notification{t.facts.Workload, t.decision})
		}
		began := c.clock.Now() // a receiver may roll a workload before it responds
		for i := range open {
			open[i].sentAt = began
		}
		err := c.opts.Receiver.Send(sending, notifications)
		switch {
		case err == nil:
			c.noteAccepted(open)
			taken = append(taken, open...)
		case errors.Is(err, ErrRefused) && len(open) > 1:
			c.sendEachAlone(open)
		default:
			for _, t := range open {
				c.notifications.Failed(t.facts.Workload.Key)
			}
		}
	}
	inParallel(len(taken), sending.Done(), func(i int) { c.recordAccepted(writing, taken[i]) })
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
func (c *Controller) sendEachAlone(refused []message) {
	c.aloneUntil = c.clock.Now().Add(aloneFor)
	c.log.Info("the webhook receiver rejected a message about several workloads; sending one message for each workload",
		"workloads", len(refused), "for", aloneFor.String())
	for _, t := range refused {
		c.notifications.Add(t.facts.Workload.Key, 0, 0)
	}
}

// message is a notification about a workload, its decision, and when it was sent.
type message struct {
	facts    reload.Facts
	decision reload.Decision
	sentAt   time.Time
}

// messageOf decides again, because the workload may have waited for long. It returns false if there
// is nothing to notify now.
func (c *Controller) messageOf(ctx context.Context, key workload.Key) (message, bool) {
	facts, ok := c.state.Facts(key)
	if !ok || c.leavesOut(&facts.Workload) {
		c.notifications.ResetRetries(key)
		return message{}, false
	}
	if !c.leads() {
		c.notifications.Add(key, leadAgain, leadAgain)
		return message{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, requestsTake)
	defer cancel()
	d, err := c.decide(ctx, &facts)
	if err != nil || d.Action != reload.Reload {
		c.queue.Add(key, 0, 0) // which also reports an error
		return message{}, false
	}
	return message{facts: facts, decision: d}, true
}

// accepted is a message about a workload that the receiver accepted and that is not in the ledger
// yet, and when it was sent.
type accepted struct {
	uid     types.UID
	content string
	sentAt  time.Time
}

func (t *message) accepted() accepted {
	return accepted{t.facts.Workload.UID, t.decision.Ledger.Content(), t.sentAt}
}

// wasAccepted also sets the time at which the message was sent.
func (c *Controller) wasAccepted(t *message) bool {
	known := c.recordOf(t.facts.Workload.Key).accepted
	t.sentAt = known.sentAt
	return known == t.accepted()
}

func (c *Controller) noteAccepted(all []message) {
	for i := range all {
		c.with(all[i].facts.Workload.Key, func(r *record) { r.accepted = all[i].accepted() })
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
func (c *Controller) recordAccepted(ctx context.Context, t message) {
	w := &t.facts.Workload
	ctx, cancel := context.WithTimeout(ctx, requestsTake)
	defer cancel()
	d := t.decision.Notified(w, t.sentAt)
	err := c.write(ctx, &t.facts, d)
	if (apierrors.IsConflict(err) || apierrors.IsNotFound(err)) && c.notifications.TriesOf(w.Key) < toleratedConflicts {
		c.notifications.Retry(w.Key) // the watch reports a newer version, or the deletion
		return
	}
	if err != nil {
		retryIn, before := c.notifications.Failed(w.Key)
		c.report.Failed(w, d, err, retryIn, before > 0)
		return
	}
	c.with(w.Key, func(r *record) { r.accepted = accepted{} })
	c.notifications.ResetRetries(w.Key)
}
