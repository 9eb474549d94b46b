package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/reroll-dev/reroll/test/harness"
)

// idle looks at a controller that has nothing to do, and at one that has nothing to look after.
func (s *stage) idle(ctx context.Context) (section, error) {
	sec := section{Title: fmt.Sprintf("idle: %s, %d workloads", s.opts.idle, len(s.names()))}
	for _, c := range []*harness.Controller{s.controller, s.empty} {
		if err := awaitIdle(ctx, c); err != nil {
			return sec, err
		}
	}
	s.tell("idle, %s", s.opts.idle)
	controllers := [2]struct {
		pid   int
		audit auditLog
		lines func() int
	}{
		{s.controller.PID(), s.audit, func() int { return len(s.controller.Log.Lines()) }},
		{s.empty.PID(), s.emptyAudit, func() int { return len(s.empty.Log.Lines()) }},
	}
	var counted [2]*tally
	var before, after [2]usage
	var lines [2]int
	var asked [2]requests
	for i, c := range controllers {
		lines[i] = c.lines()
		var err error
		if counted[i], err = c.audit.begin(); err != nil {
			return sec, err
		}
		if before[i], err = usageOf(c.pid); err != nil {
			return sec, err
		}
	}
	window := time.NewTimer(s.opts.idle)
	defer window.Stop()
	select {
	case <-window.C:
	case <-ctx.Done():
		return sec, context.Cause(ctx)
	}
	for i, c := range controllers {
		var err error
		if after[i], err = usageOf(c.pid); err != nil {
			return sec, err
		}
		lines[i] = c.lines() - lines[i]
		if asked[i], err = counted[i].read(); err != nil {
			return sec, err
		}
	}
	if seen := s.eyes.seen(); seen.rollouts > 0 {
		return sec, fmt.Errorf("the work was not done right: nothing was edited since the restarts, and %d workloads rolled %d times", seen.workloads, seen.rollouts)
	}
	once := func(name, unit string, of func(i int) float64) row {
		return figure(name, unit, []float64{of(0)}).against(over([]float64{of(1)}), "empty controller")
	}
	sec.Rows = []row{
		once("processor time", "ms", func(i int) float64 { return milliseconds(after[i].cpu - before[i].cpu) }),
		once("renewals of the lease", "", func(i int) float64 { return float64(asked[i][renewal]) }),
		once("other requests", "", func(i int) float64 { return float64(asked[i].total(renewal)) }),
		once("lines in the log", "", func(i int) float64 { return float64(lines[i]) }),
		once("memory, at the end", "MiB", func(i int) float64 { return after[i].rss }),
	}
	return sec, nil
}

// awaitIdle waits until a controller acts and has looked at everything. It is ready earlier.
func awaitIdle(ctx context.Context, c *harness.Controller) error {
	holds := regexp.MustCompile(`"msg":"holding the lease"`)
	return harness.Await(ctx, "the controller to have looked at everything", func(ctx context.Context) error {
		if err := c.Running(); err != nil {
			return err
		}
		if c.Log.Count(holds) == 0 {
			return errors.New("it does not hold the lease yet")
		}
		waiting, err := c.Metric(ctx, "reloader_workqueue_depth", nil)
		if err == nil && waiting.Sum > 0 {
			err = fmt.Errorf("%.0f workloads wait", waiting.Sum)
		}
		return err
	})
}
