package main

import (
	"context"
	"fmt"
)

// point is the cost of one change with so many workloads.
type point struct {
	Workloads int     `json:"workloads"`
	CPU       float64 `json:"cpuMs"` // of the controller, for one change
	P50       float64 `json:"p50Ms"`
	Bare      float64 `json:"barePatchP50Ms,omitempty"`
	Memory    float64 `json:"rssMiB"`
}

// curve changes sources one at a time, among ever more workloads and sources. Those that are only
// there are paused, so that Kubernetes makes nothing of them.
func curve(ctx context.Context, s *stage) ([]section, error) {
	edited := numbered("owner", s.opts.crowdEdits)
	if err := s.makeOwn(ctx, edited, false); err != nil {
		return nil, err
	}
	if err := s.awaitRollout(ctx, s.eyes, work); err != nil {
		return nil, err
	}
	loop, err := s.addBare(ctx, edited, func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	sec := section{Title: fmt.Sprintf("curve: %d changes one at a time, each of a ConfigMap that one of so many Deployments uses", s.opts.crowdEdits)}
	crowd := numbered("crowd", s.opts.crowds[len(s.opts.crowds)-1])
	made, nth := 0, 0
	sheets := make([]*sheet, len(s.opts.crowds))
	for i, workloads := range s.opts.crowds {
		more := crowd[made:max(made, workloads-len(edited))]
		made += len(more)
		if err := s.makeOwn(ctx, more, true); err != nil {
			return nil, err
		}
		// What is new while it runs it welcomes by an Event each, which would be in the way of
		// those that are counted.
		if err := s.ready(ctx, "--settle=0"); err != nil {
			return nil, err
		}
		// The first edits of a cluster, and of a controller, take longer. The first point is the limit
		// of the last, and may have a single run.
		nth++
		if err := s.latencyOnce(ctx, newSheet(), loop, edited, nth); err != nil {
			return nil, err
		}
		sheets[i] = newSheet()
		for range s.opts.runs {
			nth++
			if err := s.latencyOnce(ctx, sheets[i], loop, edited, nth); err != nil {
				return nil, err
			}
		}
		if err := s.controller.Stop(ctx); err != nil {
			return nil, err
		}
		sec.Points = append(sec.Points, sheets[i].point(workloads, len(edited)))
	}
	sec.Rows = curveRows(sheets, s.opts.crowds, len(edited))
	return []section{sec}, nil
}

func (sh *sheet) point(workloads, changes int) point {
	p := point{
		Workloads: workloads, CPU: 1000 * over(sh.values[cpuTimeRow]).Median / float64(changes),
		P50: over(sh.values["p50"]).Median, Memory: over(sh.values[endRow]).Median,
	}
	if l, ok := sh.limits["p50"]; ok {
		p.Bare = over(l.values).Median
	}
	return p
}

const (
	endRow       = "memory, at the end"
	curveCPURow  = "processor time, with most"
	curveTimeRow = "p50, with most"
)

// curveRows are the figures at each point, and then how the last stands beside the first.
func curveRows(sheets []*sheet, crowds []int, changes int) []row {
	var rows []row
	perChange := func(sh *sheet) []float64 {
		var ms []float64
		for _, seconds := range sh.values[cpuTimeRow] {
			ms = append(ms, 1000*seconds/float64(changes))
		}
		return ms
	}
	for i, sh := range sheets {
		at := fmt.Sprintf(", of %d", crowds[i])
		rows = append(rows,
			sh.figure("p50", "p50"+at),
			sh.figure("p99", "p99"+at),
			figure("processor time"+at, "ms", perChange(sh)),
			sh.figure(peakRow, "peak"+at),
			sh.figure(endRow, "memory"+at))
	}
	first, last := sheets[0], sheets[len(sheets)-1]
	fewest := fmt.Sprintf("with %d workloads", crowds[0])
	rows = append(rows,
		figure(curveCPURow, "ms", perChange(last)).against(over(perChange(first)), fewest),
		figure(curveTimeRow, "ms", last.values["p50"]).against(over(first.values["p50"]), fewest))
	return append(append(rows, last.figure(rolloutsRow, rolloutsRow)), last.requestRows()...)
}
