package main

import (
	"context"
	"fmt"
	"time"
)

// restart edits ConfigMaps while no controller runs. The time runs from the start of the process.
// Each workload has a pod: whether a change was missed is told by the pods, and without any there
// is nothing to roll.
func restart(ctx context.Context, s *stage) ([]section, error) {
	names := numbered("owner", s.opts.missed)
	if err := s.makeRunning(ctx, names); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	sh := newSheet()
	for n := range s.opts.runs {
		if err := s.controller.Stop(ctx); err != nil {
			return nil, err
		}
		if err := inParallel(ctx, names, func(ctx context.Context, name string) error { return s.edit(ctx, work, name, n) }); err != nil {
			return nil, err
		}
		counted, err := s.audit.begin()
		if err != nil {
			return nil, err
		}
		s.eyes.begin()
		began := time.Now()
		if err := s.launch(); err != nil {
			return nil, err
		}
		w := &window{counted: counted, pid: s.controller.PID(), began: began}
		used, err := s.finish(ctx, w, len(names), perRollout*len(names))
		if err != nil {
			return nil, err
		}
		if err := s.addOnce(sh, used, followedReloads(len(names)), len(names), began, func(string) time.Time { return began }); err != nil {
			return nil, err
		}
	}
	sec := section{Title: fmt.Sprintf("restart: %d ConfigMaps edited while no controller ran, of workloads with a pod each, from the start of the process", s.opts.missed)}
	sec.Rows = append(sh.figures(), sh.kindRows()...)
	return []section{sec}, nil
}
