package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/reroll-dev/reroll/test/harness"
)

const shareRow = "share of a core"

// idleOnce looks at a controller that has nothing to do, and at one that has nothing to look after,
// if there is one.
func (s *stage) idleOnce(ctx context.Context, sh *sheet, beside *empty) error {
	if s.ours != nil {
		if err := awaitIdle(ctx, s.ours); err != nil {
			return err
		}
	}
	if beside != nil {
		if err := awaitIdle(ctx, beside.running); err != nil {
			return err
		}
	}
	s.tell("idle, %s", s.opts.idle)
	w, err := s.begin()
	if err != nil {
		return err
	}
	var other *window
	if beside != nil {
		if other, err = s.beginOf(beside.running, beside.audit); err != nil {
			return err
		}
	}
	pause := time.NewTimer(s.opts.idle)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	used, err := w.end(ctx, 0)
	if err != nil {
		return err
	}
	if seen := s.eyes.seen(); seen.rollouts > 0 {
		err := fmt.Errorf("the work was not done right: nothing was edited, and %d workloads rolled %d times", seen.workloads, seen.rollouts)
		if err := s.right(err); err != nil {
			return err
		}
	}
	of := func(u spent, add func(name, unit string, value float64)) {
		add(shareRow, "%", 100*u.cpu.Seconds()/u.took.Seconds())
		add(steadyRow, "MiB", u.rss)
		add("renewals of the lease", "", float64(u.requests[renewal]))
	}
	of(used, sh.add)
	sh.asked = append(sh.asked, used.requests)
	if other == nil {
		return nil
	}
	if used, err = other.end(ctx, 0); err != nil {
		return err
	}
	of(used, func(name, _ string, value float64) { sh.beside(name, "empty controller", value) })
	if err := beside.watch.Running(); err != nil {
		return err
	}
	bare, err := usageOf(beside.watch.PID())
	sh.add(emptyRow, "MiB", used.rss)
	sh.beside(emptyRow, "one bare watch", bare.rss)
	return err
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
