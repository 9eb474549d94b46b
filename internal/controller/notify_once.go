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
		c.report.Notify(n)
	}
}

// isNewNotice remembers a notice, and reports whether it was not emitted before.
func (c *Controller) isNewNotice(key workload.Key, n notice.Notice) bool {
	known := false
	c.with(key, func(r *record) {
		for g := r.given; g != nil; g = g.next {
			known = known || g.about == n.About.UID && g.reason == n.Reason && g.text == n.Text
		}
		if !known {
			r.given = &given{n.About.UID, n.Reason, n.Text, r.given}
		}
	})
	return !known
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
