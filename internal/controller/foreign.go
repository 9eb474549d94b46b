package controller

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// excluded reports whether a namespace is excluded by its name.
func (c *Controller) excluded(namespace string) bool {
	left := c.opts.LeavesOut(namespace, nil)
	return left == rules.NotNamed || left == rules.Ignored
}

// leftOut reports whether a source of another namespace does not count, because its namespace is not
// watched.
func (c *Controller) leftOut(origin source.Key) bool {
	return c.excluded(origin.Namespace) || !c.selectsNamespace(origin.Namespace)
}

// notAllowed are the sources of other namespaces that a workload names in vain, as entries.
func (c *Controller) notAllowed(facts *reload.Facts) []policy.NamedSource {
	var all []policy.NamedSource
	for _, key := range facts.NotAllowed(c.leftOut) {
		all = append(all, policy.NamedSource{Kind: key.Kind, Text: key.Name})
	}
	return all
}

// notifyNotAllowed notifies the user of a workload of the sources of other namespaces that it names
// in vain. The labels of a namespace show only to those that one of its sources allows.
func (c *Controller) notifyNotAllowed(w *workload.Workload, report []policy.NamedSource) {
	var keys, unwatched []source.Key
	for _, entry := range report {
		key := source.LocalKey{Kind: entry.Kind, Name: entry.Text}.In(w.Key.Namespace)
		consents, _ := c.state.Consents(key.Origin(), w)
		switch {
		case !key.IsForeign():
		case c.excluded(key.Origin().Namespace), consents && c.leftOut(key.Origin()):
			unwatched = append(unwatched, key)
		default:
			keys = append(keys, key)
		}
	}
	if len(keys)+len(unwatched) > 0 {
		about := c.state.OptedInBy(w)
		c.report.Notify(notice.NotAllowed(&about, keys, unwatched, c.opts.ReferenceGrants))
	}
}

// askOwners notifies the users of sources of other namespaces that a workload names in vain. The
// workload may have named them long before they were created.
func (c *Controller) askOwners(w *workload.Workload, named []policy.NamedSource, appeared func(policy.NamedSource) bool) {
	var asks []policy.NamedSource
	sources := map[policy.NamedSource]source.Source{}
	for _, entry := range named {
		src, exists := c.state.Source(source.LocalKey{Kind: entry.Kind, Name: entry.Text}.In(w.Key.Namespace).Origin())
		consents, _ := c.state.Consents(src.Key, w)
		if exists && !consents && !c.leftOut(src.Key) {
			asks, sources[entry] = append(asks, entry), src
		}
	}
	before, now := c.recordOf(w.Key).asks, c.clock.Now()
	if len(asks) == 0 && before == nil {
		return
	}
	next, report, wait := before.then(asks, now, c.opts.Longest(w), appeared)
	for _, entry := range report {
		src := sources[entry]
		ask, again := c.mayAsk(src.Key, w.Key.Namespace)
		if ask {
			c.report.Notify(notice.AskedFor(&src, w, c.opts.ReferenceGrants))
		} else if !again.IsZero() {
			next.due[entry] = again
			if left := again.Sub(now); wait == 0 || left < wait {
				wait = left
			}
		}
	}
	c.with(w.Key, func(r *record) { r.asks = next })
	if wait > 0 {
		c.queue.Later(w.Key, wait)
	}
}

// mostAsksOfSource, mostAsksOfNamespace and mostAsksOfOne bound the events that users of other
// namespaces can cause within asksPeriod: on one source, in one namespace, and those of one
// namespace there. The last leaves room for others.
const (
	mostAsksOfSource    = 3
	mostAsksOfNamespace = 20
	mostAsksOfOne       = 5
	asksPeriod          = 24 * time.Hour
)

// consentEvents are the events about sources that workloads of other namespaces name without
// consent, by the namespace of the source.
type consentEvents struct {
	since  time.Time
	latest map[string][]consentEvent
}

type consentEvent struct{ source, by string }

// mayAsk reports whether an event about a source is emitted, and counts it. If there were too many,
// again is when it may be emitted; it is zero if there was one.
func (c *Controller) mayAsk(src source.Key, by string) (ask bool, again time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.clock.Now(); now.Sub(c.consents.since) >= asksPeriod {
		c.consents = consentEvents{now, map[string][]consentEvent{}}
	}
	latest := c.consents.latest[src.Namespace]
	one, ofSource, ofOne := consentEvent{src.Kind.String() + " " + src.Name, by}, 0, 0
	for _, event := range latest {
		if event.source == one.source {
			ofSource++
		}
		if event.by == by {
			ofOne++
		}
	}
	switch {
	case slices.Contains(latest, one):
		return false, time.Time{}
	case ofSource >= mostAsksOfSource, ofOne >= mostAsksOfOne, len(latest) >= mostAsksOfNamespace:
		return false, c.consents.since.Add(asksPeriod)
	}
	c.consents.latest[src.Namespace] = append(latest, one)
	return true, time.Time{}
}
