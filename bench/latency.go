package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// turn is how many edits, and then bare PATCHes, come in a row: few, so that a slow moment of the machine meets both,
// and several, so that nearly each of them follows one of its own sort and what that leaves Kubernetes to do.
const turn = 20

// latency edits ConfigMaps one at a time, each used by one workload, in turn with bare PATCHes.
func (s *stage) latency(ctx context.Context) ([]section, error) {
	sec := section{Title: fmt.Sprintf("latency: %d edits one at a time, from the edit's answer until the mark is seen", s.opts.edits)}
	percentiles := []float64{50, 99}
	ours, answers, sights := map[float64][]float64{}, map[float64][]float64{}, map[float64][]float64{}
	var perEdit []float64
	for n := range s.opts.runs {
		s.tell("latency, run %d of %d", n+1, s.opts.runs)
		counted, err := s.audit.begin()
		if err != nil {
			return nil, err
		}
		var took, answered, sighted []float64
		for names := range slices.Chunk(s.owners(), turn) {
			for _, name := range names {
				one, err := s.editOne(ctx, name, n)
				if err != nil {
					return nil, err
				}
				took = append(took, milliseconds(one))
			}
			for _, name := range names {
				answer, sight, err := s.patchOne(ctx, name)
				if err != nil {
					return nil, fmt.Errorf("a bare PATCH: %w", err)
				}
				answered, sighted = append(answered, milliseconds(answer)), append(sighted, milliseconds(sight))
			}
		}
		for _, p := range percentiles {
			ours[p] = append(ours[p], percentile(took, p))
			answers[p] = append(answers[p], percentile(answered, p))
			sights[p] = append(sights[p], percentile(sighted, p))
		}
		asked, err := awaitEvents(ctx, counted, s.opts.edits)
		if err != nil {
			return nil, err
		}
		perEdit = append(perEdit, float64(asked.total(renewal)))
	}
	for _, p := range percentiles {
		name := fmt.Sprintf("p%.0f", p)
		sec.Rows = append(sec.Rows,
			figure(name, "ms", ours[p]).against(over(answers[p]), "PATCH, answered"),
			figure(name, "ms", ours[p]).against(over(sights[p]), "PATCH, seen"))
	}
	least := over([]float64{float64((1 + perReload) * s.opts.edits)})
	sec.Rows = append(sec.Rows, figure("requests", "", perEdit).against(least, "PATCH and Events"))
	return []section{sec}, nil
}

// editOne returns the time from the answer to an edit until its workload is seen to have rolled.
func (s *stage) editOne(ctx context.Context, name string, nth int) (time.Duration, error) {
	s.eyes.begin()
	if err := s.edit(ctx, name, nth); err != nil {
		return 0, err
	}
	answered := time.Now()
	if err := s.eyes.awaitRollouts(ctx, 1); err != nil {
		return 0, errors.Join(fmt.Errorf("after an edit of ConfigMap %s: %w", name, err), s.controller.Running())
	}
	if err := s.eyes.awaitObserved(ctx, name); err != nil {
		return 0, err
	}
	return s.eyes.seen().first.Sub(answered), s.eyes.checkOnly(name)
}

// patchOne returns the time from the start of a bare PATCH until its answer, and until it is seen.
func (s *stage) patchOne(ctx context.Context, name string) (answer, sight time.Duration, err error) {
	writes, err := s.bare.prepare([]string{name}, func(name string) string { return name })
	if err != nil {
		return 0, 0, err
	}
	s.bare.twins.begin()
	began := time.Now()
	if answer, err = s.bare.send(ctx, writes[0]); err != nil {
		return 0, 0, err
	}
	if err := s.bare.twins.awaitRollouts(ctx, 1); err != nil {
		return 0, 0, err
	}
	if err := s.bare.twins.awaitObserved(ctx, name); err != nil {
		return 0, 0, err
	}
	return answer, s.bare.twins.seen().first.Sub(began), s.bare.twins.checkOnly(name)
}

// checkOnly fails if anything but one rollout of one workload was seen since begin.
func (e *eyes) checkOnly(name string) error {
	seen := e.seen()
	e.mu.Lock()
	times := len(e.rollouts[name])
	e.mu.Unlock()
	if seen.rollouts != 1 || times != 1 {
		return fmt.Errorf("the work was not done right: %s had to roll once, and did so %d times; all workloads together rolled %d times", name, times, seen.rollouts)
	}
	return nil
}
