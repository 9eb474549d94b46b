package controller

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A notice about a workload is emitted once in this process because its record remembers that. Across
// restarts, the name of the event does, which Notice.Once sets. Some notices need no such memory, or
// another one:
//   - A closed gate is compared with the gate that the record awaits, because the notice is due again
//     when the reload waits again.
//   - What is missing, and reloads that are too many, have times at which they are due.
//   - A Job that is recreated loses its record, so ownJobs remembers what was reported of it.
//   - What concerns a namespace, a kind or another installation has no record of a workload.

// emitted is the list of notices that were emitted, so that each is emitted once. It is a linked
// list, because a record without notices has to equal the zero value.
type emitted struct {
	about        types.UID
	reason, text string
	next         *emitted
}

// notifyOnce emits a notice unless it was emitted before. Its text identifies it, unless Once does.
// The record of a workload remembers it: of the object that the notice is about, or of its owner.
func (c *Controller) notifyOnce(key workload.Key, n notice.Notice) {
	n.Once = cmp.Or(n.Once, n.Text)
	if c.isNewNotice(key, n) {
		c.report.Notify(n)
	}
}

// isNewNotice remembers a notice, and reports whether it was not emitted before.
func (c *Controller) isNewNotice(key workload.Key, n notice.Notice) bool {
	return c.isFirst(key, emitted{about: n.About.UID, reason: n.Reason, text: cmp.Or(n.Once, n.Text)})
}

// isFirst remembers what is emitted, and reports whether it was not emitted before.
func (c *Controller) isFirst(key workload.Key, e emitted) (first bool) {
	c.with(key, func(r *record) {
		if first = !r.emitted.has(e); first {
			e.next = r.emitted
			r.emitted = &e
		}
	})
	return first
}

// isLatest is isFirst for what is emitted again when a later text has replaced it.
func (c *Controller) isLatest(key workload.Key, e emitted) bool {
	if c.recordOf(key).emitted.has(e) {
		return false
	}
	c.withdraw(key, e.reason)
	return c.isFirst(key, e)
}

func (e *emitted) has(other emitted) bool {
	for ; e != nil; e = e.next {
		if e.about == other.about && e.reason == other.reason && e.text == other.text {
			return true
		}
	}
	return false
}

// withdraw forgets the notices of one reason, because they are no longer true.
func (c *Controller) withdraw(key workload.Key, reason string) {
	c.with(key, func(r *record) { r.emitted = r.emitted.without(func(e *emitted) bool { return e.reason == reason }) })
}

func (e *emitted) without(which func(*emitted) bool) *emitted {
	if e == nil {
		return nil
	}
	if which(e) {
		return e.next.without(which)
	}
	e.next = e.next.without(which)
	return e
}
