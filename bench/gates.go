package main

import (
	"context"
	"fmt"
	"slices"
)

// openGates are flags with which every gate is asked and none is closed, and ungated are flags without
// any. A run has fewer reloads of a workload than the limit of reloads allows.
func openGates() []string {
	return []string{"--churn=30/1h", "--max-rolling=100%", "--halt-when-failing=50%/20", `--window=allow "* * * * *" 1m UTC`}
}

func ungated() []string { return []string{"--churn=off", "--halt-when-failing=off"} }

const (
	// gatedRow is beside the same without gates.
	gatedRow    = "last rollout, gates open"
	gatedCPURow = "processor time, gates open"
)

// gates edits one ConfigMap that many workloads use, with open gates and without any, in turns.
func gates(ctx context.Context, s *stage) ([]section, error) {
	if err := s.makeConfigMaps(ctx, work, []string{shared}, 0); err != nil {
		return nil, err
	}
	if err := s.makeDeployments(ctx, s.eyes, numbered("sharer", s.opts.fan), func(name string) deployment {
		return deployment{namespace: work, name: name, sources: []string{shared}, part: work}
	}); err != nil {
		return nil, err
	}
	with, without := newSheet(), newSheet()
	// What comes first on a cold cluster takes longer: it is not the limit, and not all of a figure.
	rounds := max(2*s.opts.runs-1, 2)
	for n := range rounds {
		order := []bool{true, false}
		if n%2 == 1 {
			slices.Reverse(order) // what comes second finds a longer audit log
		}
		for i, gated := range order {
			sh, flags := without, ungated()
			if gated {
				sh, flags = with, openGates()
			}
			if err := s.ready(ctx, append(flags, "--settle=0")...); err != nil {
				return nil, err
			}
			if err := s.fanOutOnce(ctx, sh, 2*n+i); err != nil {
				return nil, err
			}
			if err := s.controller.Stop(ctx); err != nil {
				return nil, err
			}
		}
	}
	sec := section{Title: fmt.Sprintf("gates: one ConfigMap, %d Deployments, with open gates and without any; %d runs", s.opts.fan, rounds)}
	sec.Rows = append(gatedRows(with, without), with.rows()...)
	return []section{sec}, nil
}

// gatedRows are the figures with open gates beside those without any.
func gatedRows(with, without *sheet) []row {
	beside := func(name, as string) row {
		return with.figure(name, as).against(over(without.values[name]), "without gates")
	}
	return []row{beside(lastRow, gatedRow), beside(cpuTimeRow, gatedCPURow)}
}
