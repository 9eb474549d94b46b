package controller

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/workload"
)

// given is the list of notices that were emitted, so that each is emitted once. It is a linked
// list, because a record without notices has to equal the zero value.
type given struct {
	about        types.UID
	reason, text string
	next         *given
}

// notifyOnce emits a notice unless it was emitted before. The record of a workload remembers it: of
// the object that the notice is about, or of its owner.
func (c *Controller) notifyOnce(key workload.Key, n notice.Notice) {
	if c.isNewNotice(key, n) {
		n.Once = n.Text
		c.report.Notify(n)
	}
}

// isNewNotice remembers a notice, and reports whether it was not emitted before.
func (c *Controller) isNewNotice(key workload.Key, n notice.Notice) bool {
	return c.isFirst(key, given{about: n.About.UID, reason: n.Reason, text: n.Text})
}

// isFirst remembers what is emitted, and reports whether it was not emitted before.
func (c *Controller) isFirst(key workload.Key, g given) (first bool) {
	c.with(key, func(r *record) {
		if first = !r.given.has(g); first {
			g.next = r.given
			r.given = &g
		}
	})
	return first
}

// isLatest is isFirst for what is emitted again when a later text has replaced it.
func (c *Controller) isLatest(key workload.Key, g given) bool {
	if c.recordOf(key).given.has(g) {
		return false
	}
	c.withdraw(key, g.reason)
	return c.isFirst(key, g)
}

func (g *given) has(other given) bool {
	for ; g != nil; g = g.next {
		if g.about == other.about && g.reason == other.reason && g.text == other.text {
			return true
		}
	}
	return false
}

// withdraw forgets the notices of one reason, because they are no longer true.
func (c *Controller) withdraw(key workload.Key, reason string) {
	c.with(key, func(r *record) { r.given = r.given.without(func(g *given) bool { return g.reason == reason }) })
}

func (g *given) without(which func(*given) bool) *given {
	if g == nil {
		return nil
	}
	if which(g) {
		return g.next.without(which)
	}
	g.next = g.next.without(which)
	return g
}
