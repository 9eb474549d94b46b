package controller

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

// missing is what a workload lacked at its latest reconciliation: the sources that it requires and
// that do not exist, and the expressions in its lists that match none. It is never changed.
type missing struct {
	// due is when each is reported; zero if it was, or if it was missing at the start.
	due map[policy.NamedSource]time.Time
}

// mostLacking bounds what is kept of one workload, whose annotations may name thousands of sources.
const mostLacking = 100

// noteMissing records what the workload lacks, and emits what stayed missing.
//
// Many tools create a workload some seconds before its sources, or replace a source by deleting and
// creating it. So a source is reported only if it stays missing for the longest wait for changes.
// What was missing when this replica first reconciled the workload is not reported, because each
// restart would repeat that. Newcomer is nil unless the annotations changed while the controller
// ran.
func (c *Controller) noteMissing(facts *reload.Facts, d reload.Decision, n *newcomer) {
	w := &facts.Workload
	lacks, unmatched := facts.Missing(), facts.Unmatched()
	if d.LeftTo != "" {
		lacks, unmatched = nil, nil // the other installation reports them
	}
	appeared := func(entry policy.NamedSource) bool { return facts.Seen.Compared || n.asksFor(entry) }
	var all []policy.NamedSource
	if d.LeftTo == "" {
		all = c.notAllowed(facts) // first, because they are few
	}
	c.askOwners(w, all, appeared)
	for _, m := range lacks {
		all = append(all, entryOf(&m))
	}
	all = append(all, unmatched...)
	all = all[:min(len(all), mostLacking)]
	before := c.recordOf(w.Key).missing
	if len(all) == 0 && before == nil {
		return
	}
	next, report, wait := before.then(all, c.clock.Now(), c.opts.Longest(w), appeared)
	c.with(w.Key, func(r *record) { r.missing = next })
	if wait > 0 {
		c.queue.Later(w.Key, wait)
	}
	if len(report) == 0 {
		return
	}
	lacks = slices.DeleteFunc(lacks, func(m reload.MissingSource) bool { return !slices.Contains(report, entryOf(&m)) })
	unmatched = slices.DeleteFunc(unmatched, func(entry policy.NamedSource) bool { return !slices.Contains(report, entry) })
	if len(lacks)+len(unmatched) > 0 {
		about := c.state.OptedInBy(w)
		c.report.Notify(notice.Missing(&about, lacks, unmatched))
	}
	c.notifyNotAllowed(w, report)
}

// then is what a workload lacks next, what of it is reported now, and how long to wait for the
// rest; 0 if there is none. Appeared reports whether the controller was running when an entry
// became missing.
func (m *missing) then(all []policy.NamedSource, now time.Time, stays time.Duration, appeared func(policy.NamedSource) bool) (next *missing, report []policy.NamedSource, wait time.Duration) {
	if len(all) == 0 {
		return nil, nil, 0
	}
	next = &missing{due: make(map[policy.NamedSource]time.Time, len(all))}
	for _, entry := range all {
		due, known := m.dueOf(entry)
		switch {
		case !known && appeared(entry):
			due = now.Add(stays)
		case !due.IsZero() && !due.After(now):
			due, report = time.Time{}, append(report, entry)
		}
		if next.due[entry] = due; due.After(now) && (wait == 0 || due.Sub(now) < wait) {
			wait = due.Sub(now)
		}
	}
	return next, report, wait
}

func (m *missing) dueOf(entry policy.NamedSource) (due time.Time, known bool) {
	if m == nil {
		return time.Time{}, false
	}
	due, known = m.due[entry]
	return due, known
}

// lacks reports whether a source of a kind is missing.
func (m *missing) lacks(kind source.Kind) bool {
	if m == nil {
		return false
	}
	for entry := range m.due {
		foreign := source.LocalKey{Kind: kind, Name: entry.Text}.IsForeign()
		if entry.Kind == kind && !entry.Expression && !foreign {
			return true
		}
	}
	return false
}

func entryOf(m *reload.MissingSource) policy.NamedSource {
	return policy.NamedSource{Kind: m.Key.Kind, Text: m.Key.Name}
}

// asksFor reports whether annotations that changed while the controller ran are the reason for
// which an entry is missing.
func (n *newcomer) asksFor(entry policy.NamedSource) bool {
	if n == nil {
		return false
	}
	_, before := n.named[entry]
	return !before
}

// LackingSource is how many workloads require a source of a kind that does not exist.
func (c *Controller) LackingSource(kind source.Kind) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, r := range c.records {
		if r.missing.lacks(kind) {
			n++
		}
	}
	return n
}
