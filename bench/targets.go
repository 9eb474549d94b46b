package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// target is the most that a figure may be.
type target struct {
	scenario, figure string
	// most is of the ratio to the limit, or of the figure itself if it is plain.
	most  float64
	plain bool
	// checked reports whether -check holds it against twice as much. It does so with what a slow
	// machine does not change: ratios to what was measured in the same run, requests, memory.
	checked bool
	// little is the target in a check, of the ratio, where that of a whole run says nothing about
	// the little that a check plays with.
	little float64
	// exact reports whether a check holds the figure against the target itself: it is the same on
	// every machine, or far below.
	exact bool
	// grows reports whether the figure is how far something has grown, and 1 that it has not: in a
	// check it may grow by twice as much.
	grows bool
}

// reloading are the scenarios in which each rollout is one PATCH and one Event, and nothing is
// read: the workloads have no pods.
func reloading() []string {
	return []string{"fan-out", "gates", "latency", "storm", "burst", "metadata", "large", "namespaces", "soak", "curve"}
}

// targets are all of them.
func targets() []target {
	all := []target{
		{scenario: "fan-out", figure: lastRow, most: 1.3, checked: true},
		{scenario: "gates", figure: gatedRow, most: 1.05, checked: true},
		{scenario: "gates", figure: gatedCPURow, most: 1.05, checked: true},
		{scenario: "latency", figure: "p50", most: 3, checked: true},
		{scenario: "latency", figure: "p99", most: 10, checked: true},
		{scenario: "storm", figure: perPeriodRow, most: 1, checked: true},
		{scenario: "soak", figure: perPeriodRow, most: 1, checked: true},
		{scenario: "storm", figure: notedRow, most: 0.05, checked: true},
		{scenario: "soak", figure: notedRow, most: 0.05, checked: true},
		// The few edits of a check come faster than any quiet period ends.
		{scenario: "storm", figure: rolloutsRow, checked: true, little: 1},
		{scenario: "burst", figure: rolloutsRow, most: 1, checked: true},
		{scenario: "metadata", figure: rolloutsRow, most: 0, plain: true, checked: true},
		{scenario: "secrets", figure: peakRow, most: 50, plain: true, checked: true, exact: true},
		{scenario: "secrets", figure: steadyRow, most: 35, plain: true, checked: true, exact: true},
		{scenario: "start", figure: rolloutsRow, most: 0, plain: true, checked: true},
		{scenario: "start", figure: readyRow, most: 10, plain: true},
		{scenario: "start", figure: peakRow, most: 100, plain: true, checked: true, little: 1.5},
		{scenario: "start", figure: steadyRow, most: 70, plain: true, checked: true, little: 1.5},
		{scenario: "start", figure: smallReadyRow, most: 2, plain: true, checked: true, exact: true},
		{scenario: "start", figure: binaryRow, most: 35, plain: true, checked: true, exact: true},
		{scenario: "start", figure: imageRow, most: 12, plain: true, checked: true, exact: true},
		{scenario: "start", figure: emptyRow, most: 25, plain: true, checked: true, little: 1.25},
		{scenario: "start", figure: shareRow, most: 0.3, plain: true, checked: true},
		{scenario: "start", figure: readsRow, most: 0, plain: true, checked: true},
		// After the few edits of a check the memory is still that of a start.
		{scenario: "soak", figure: memoryEndsRow, most: 1.1, checked: true},
		{scenario: "soak", figure: goroutinesEndsRow, most: 1.1, checked: true, grows: true},
		{scenario: "curve", figure: curveCPURow, most: 1.25, checked: true},
		{scenario: "curve", figure: curveTimeRow, most: 1.25, checked: true},
	}
	for _, scenario := range reloading() {
		all = append(all,
			target{scenario: scenario, figure: patches.String(), most: 1, checked: true},
			target{scenario: scenario, figure: events.String(), most: 1, checked: true},
			target{scenario: scenario, figure: readsRow, most: 0, plain: true, checked: true})
	}
	// Of pods it is told when the last old one is gone, which they are read for. After a restart
	// they are read before, too: they alone tell whether a change was missed.
	for _, of := range []struct {
		scenario string
		lists    float64
	}{{"followed", 1}, {"restart", 2}} {
		all = append(all,
			target{scenario: of.scenario, figure: patches.String(), most: 1, checked: true},
			target{scenario: of.scenario, figure: events.String(), most: perRollout, checked: true},
			target{scenario: of.scenario, figure: podLists.String(), most: of.lists, checked: true})
	}
	return all
}

// loose is by how much a target may be missed in a check.
const loose = 2

// addTargets notes the targets beside the figures that have one.
func addTargets(sec *section, check bool) {
	for _, t := range targets() {
		if t.scenario != sec.Scenario {
			continue
		}
		for i := range sec.Rows {
			r := &sec.Rows[i]
			if r.Figure == t.figure {
				r.Target = t.bound(check)
			}
		}
	}
}

// bound is nil if there is none, in a check or outside of one.
func (t target) bound(check bool) *bound {
	switch {
	case !check && t.most == 0 && t.little > 0, check && !t.checked:
		return nil
	case !check, t.exact:
		return &bound{Most: t.most, Plain: t.plain, Check: check}
	case t.little > 0:
		return &bound{Most: t.little * loose, Check: true}
	case t.grows:
		return &bound{Most: 1 + (t.most-1)*loose, Check: true}
	default:
		return &bound{Most: t.most * loose, Plain: t.plain, Check: true}
	}
}

// bound is what a row is held against.
type bound struct {
	Most float64 `json:"most"`
	// Plain reports whether it is for the figure itself, and not for the ratio.
	Plain bool `json:"plain,omitempty"`
	// Check reports whether it is that of a check.
	Check bool `json:"check,omitempty"`
}

// missed is nil if the figure keeps its bound. In a check, times are those of the best run: what a
// machine does that has other work to do comes and goes, and what is wrong with the controller
// shows in every run.
func (r row) missed() error {
	if r.Target == nil {
		return nil
	}
	value := r.Value.Median
	if r.Target.Check && slices.Contains([]string{"s", "ms", "%"}, r.Unit) {
		value = r.Value.Min
	}
	what := strings.TrimRight(" "+r.Unit, " ")
	if !r.Target.Plain && r.Limit != nil && r.Limit.Median > 0 {
		value, what = value/r.Limit.Median, " times its limit ("+r.LimitIs+")"
	}
	if value <= r.Target.Most {
		return nil
	}
	return fmt.Errorf("%s: %.3g%s, must be at most %.3g", r.Figure, value, what, r.Target.Most)
}

// misses reports whether a figure is beyond its bound.
func (s section) misses() bool {
	return slices.ContainsFunc(s.Rows, func(r row) bool { return r.missed() != nil })
}

// check returns all bounds that are broken. A figure that was not measured is no proof of anything.
func (r report) check(opts options) error {
	var errs []error
	for _, t := range targets() {
		if !t.checked || !opts.plays(t.scenario) {
			continue
		}
		held := false
		for _, sec := range r.Sections {
			if sec.Scenario != t.scenario {
				continue
			}
			i := slices.IndexFunc(sec.Rows, func(r row) bool { return r.Figure == t.figure && r.Target != nil })
			if i < 0 {
				continue
			}
			held = true
			if err := sec.Rows[i].missed(); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", t.scenario, err))
			}
		}
		if !held {
			errs = append(errs, fmt.Errorf("%s: %s was not measured", t.scenario, t.figure))
		}
	}
	if len(errs) == 0 {
		fmt.Printf("\nevery figure is within %d times its target\n", loose)
	}
	return errors.Join(errs...)
}
