package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/test/harness"
)

// The requests that a reload is made of, and those that an instance makes to stay the one that acts.
//
//nolint:gochecknoglobals // they cannot be constants, and nobody changes them
var (
	patches = request{Verb: "patch", Resource: "deployments"}
	events  = request{Verb: "create", Resource: "events"}
	renewal = request{Verb: "update", Resource: "leases"}
)

// writers are the numbers of PATCHes in flight that the bare loop is tried with. The fastest is the limit.
func writers() []int { return []int{8, 16, 32, 64} }

// fanOut edits one ConfigMap that many workloads use.
func (s *stage) fanOut(ctx context.Context) ([]section, error) {
	least := s.opts.workloads
	sec := section{Title: fmt.Sprintf("fan-out: one ConfigMap, %d Deployments, from the edit's answer", least)}
	var first, last, cpu, peak, rollouts, patched, published, others []float64
	bareFirst, bareLast := map[int][]float64{}, map[int][]float64{}
	for n := range s.opts.runs {
		s.tell("fan-out, run %d of %d", n+1, s.opts.runs)
		f, err := s.fanOutOnce(ctx, n)
		if err != nil {
			return nil, err
		}
		first, last = append(first, milliseconds(f.first)), append(last, f.last.Seconds())
		cpu, peak = append(cpu, f.cpu.Seconds()), append(peak, f.peak)
		rollouts = append(rollouts, float64(f.rollouts))
		patched = append(patched, float64(f.requests[patches]))
		published = append(published, float64(f.requests[events]))
		others = append(others, float64(f.requests.total(patches, events, renewal)))
		for _, w := range writers() {
			f, err := s.bareOnce(ctx, w)
			if err != nil {
				return nil, fmt.Errorf("the bare loop of %d writers: %w", w, err)
			}
			bareFirst[w], bareLast[w] = append(bareFirst[w], milliseconds(f.first)), append(bareLast[w], f.last.Seconds())
		}
	}
	best := writers()[0]
	for _, w := range writers() {
		if over(bareLast[w]).Median < over(bareLast[best]).Median {
			best = w
		}
	}
	loop := fmt.Sprintf("%d bare writers", best)
	one := over([]float64{float64(least)})
	sec.Rows = []row{
		figure("first rollout", "ms", first).against(over(bareFirst[best]), loop),
		figure("last rollout", "s", last).against(over(bareLast[best]), loop),
		figure("rollouts", "", rollouts).against(one, "one each"),
		figure("PATCHes of Deployments", "", patched).against(one, "one each"),
		figure("Events created", "", published).against(over([]float64{float64(perReload * s.opts.workloads)}), "Reloaded, Rolled"),
		figure("other requests", "", others).against(over([]float64{0}), "none"),
		figure("processor time", "s", cpu),
		figure("memory, peak", "MiB", peak),
	}
	for _, w := range writers() {
		sec.Rows = append(sec.Rows, figure(fmt.Sprintf("last, %d bare writers", w), "s", bareLast[w]))
	}
	return []section{sec}, nil
}

// fan is what came of one change for many.
type fan struct {
	first, last time.Duration
	rollouts    int
	cpu         time.Duration
	peak        float64
	requests    requests
}

func (s *stage) fanOutOnce(ctx context.Context, nth int) (fan, error) {
	var f fan
	counted, err := s.audit.begin()
	if err != nil {
		return f, err
	}
	pid := s.controller.PID()
	if err := forgetPeak(pid); err != nil {
		return f, err
	}
	before, err := usageOf(pid)
	if err != nil {
		return f, err
	}
	s.eyes.begin()
	if err := s.edit(ctx, shared, nth); err != nil {
		return f, err
	}
	answered := time.Now()
	if err := s.eyes.awaitRollouts(ctx, s.opts.workloads); err != nil {
		return f, errors.Join(err, s.controller.Running())
	}
	if err := s.awaitRest(ctx, s.eyes, s.namespace.Name); err != nil {
		return f, err
	}
	if f.requests, err = awaitEvents(ctx, counted, s.opts.workloads); err != nil {
		return f, err
	}
	after, err := usageOf(pid)
	if err != nil {
		return f, err
	}
	seen := s.eyes.seen()
	f.first, f.last, f.rollouts = seen.first.Sub(answered), seen.last.Sub(answered), seen.rollouts
	f.cpu, f.peak = after.cpu-before.cpu, after.peak
	return f, seen.check(s.opts.workloads)
}

// check fails if not all workloads have rolled, or one did more than once.
func (s seen) check(workloads int) error {
	if s.workloads != workloads || s.rollouts != workloads {
		return fmt.Errorf("the work was not done right: %d workloads rolled %d times, %d had to, once each", s.workloads, s.rollouts, workloads)
	}
	return nil
}

// eventsTake bounds the wait for Events, which are published behind the reloads. To lose one is no fault of the work.
const eventsTake = 30 * time.Second

// perReload is how many Events each reload is: Reloaded, and Rolled.
const perReload = 2

// awaitEvents waits until the Events of so many reloads were created, and returns all requests.
func awaitEvents(ctx context.Context, counted *tally, reloads int) (requests, error) {
	var asked requests
	bounded, cancel := context.WithTimeout(ctx, eventsTake)
	defer cancel()
	var failed error
	err := harness.Await(bounded, "the Events", func(context.Context) error {
		if asked, failed = counted.read(); failed != nil {
			return nil //nolint:nilerr // to look again will not help
		}
		if asked[events] < perReload*reloads {
			return fmt.Errorf("%d of %d", asked[events], perReload*reloads)
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	return asked, failed
}

// bareOnce does the same work by the bare loop, on the twins.
func (s *stage) bareOnce(ctx context.Context, writers int) (fan, error) {
	var f fan
	writes, err := s.bare.prepare(s.sharers(), func(string) string { return shared })
	if err != nil {
		return f, err
	}
	s.bare.twins.begin()
	began := time.Now()
	if err := s.bare.sendAll(ctx, writes, writers); err != nil {
		return f, err
	}
	if err := s.bare.twins.awaitRollouts(ctx, s.opts.workloads); err != nil {
		return f, err
	}
	if err := s.awaitRest(ctx, s.bare.twins, s.bare.namespace); err != nil {
		return f, err
	}
	seen := s.bare.twins.seen()
	f.first, f.last, f.rollouts = seen.first.Sub(began), seen.last.Sub(began), seen.rollouts
	return f, seen.check(s.opts.workloads)
}
