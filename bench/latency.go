package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// turn is how many edits, and then bare PATCHes, come in a row: few, so that a slow moment of the
// machine meets both, and several, so that nearly each of them follows one of its own sort and what
// that leaves Kubernetes to do.
const turn = 20

// latency edits ConfigMaps one at a time, each used by one workload, in turn with bare PATCHes.
func latency(ctx context.Context, s *stage) ([]section, error) {
	names := numbered("owner", s.opts.owners)
	edited, rest := names[:s.opts.edits], names[s.opts.edits:]
	if err := s.makeOwn(ctx, edited, false); err != nil {
		return nil, err
	}
	if err := s.makeOwn(ctx, rest, true); err != nil {
		return nil, err
	}
	if err := s.ready(ctx, "--settle=0"); err != nil {
		return nil, err
	}
	loop, err := s.addBare(ctx, edited, func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	sh := newSheet()
	for n := range s.opts.runs {
		if err := s.latencyOnce(ctx, sh, loop, edited, n); err != nil {
			return nil, err
		}
	}
	sec := section{Title: fmt.Sprintf("latency: %d Deployments, %d edits one at a time, from the edit's answer until the mark is seen", s.opts.owners, s.opts.edits)}
	sec.Rows = sh.rows()
	return []section{sec}, nil
}

// latencyOnce edits each once.
func (s *stage) latencyOnce(ctx context.Context, sh *sheet, loop *bare, names []string, nth int) error {
	w, err := s.begin()
	if err != nil {
		return err
	}
	var took []time.Duration
	var answered, sighted []float64
	rollouts := 0
	for names := range slices.Chunk(names, turn) {
		for _, name := range names {
			one, times, err := s.editOne(ctx, name, nth)
			if err != nil {
				return err
			}
			rollouts += times
			if times > 0 {
				took = append(took, one)
			}
		}
		if loop == nil {
			continue
		}
		for _, name := range names {
			answer, sight, err := loop.patchOne(ctx, name)
			if err != nil {
				return fmt.Errorf("a bare PATCH: %w", err)
			}
			answered, sighted = append(answered, milliseconds(answer)), append(sighted, milliseconds(sight))
		}
	}
	if len(took) == 0 {
		if err := s.right(errors.New("no edit was followed by a rollout")); err != nil {
			return err
		}
	}
	sh.addLatencies(took)
	if loop != nil {
		sh.beside("p50", "PATCH, answered", percentile(answered, 50))
		sh.beside("p99", "PATCH, answered", percentile(answered, 99))
		sh.add("p50 of a bare PATCH, seen", "ms", percentile(sighted, 50))
		sh.add("p99 of a bare PATCH, seen", "ms", percentile(sighted, 99))
	}
	used, err := w.end(ctx, len(names))
	if err != nil {
		return err
	}
	sh.add(rolloutsRow, "", float64(rollouts))
	sh.beside(rolloutsRow, "one each", float64(len(names)))
	sh.addSpent(used, reloads(len(names)))
	return nil
}

// editOne returns the time from the answer to an edit until its workload is seen to have rolled.
func (s *stage) editOne(ctx context.Context, name string, nth int) (took time.Duration, rollouts int, err error) {
	s.eyes.begin()
	if err := s.edit(ctx, work, name, nth); err != nil {
		return 0, 0, err
	}
	answered := time.Now()
	if err := s.awaitRollouts(ctx, 1); err != nil {
		return 0, 0, fmt.Errorf("after an edit of ConfigMap %s: %w", name, err)
	}
	if err := s.eyes.awaitObserved(ctx, name); err != nil {
		return 0, 0, err
	}
	// Of another workload it is a late rollout of a peer.
	if at, rolled := s.eyes.first(name); rolled {
		took = at.Sub(answered)
	}
	return took, s.eyes.times(name), s.right(s.eyes.checkOnly(name))
}

// patchOne returns the time from the start of a bare PATCH until its answer, and until it is seen.
func (b *bare) patchOne(ctx context.Context, name string) (answer, sight time.Duration, err error) {
	writes, err := b.prepare([]string{name}, func(name string) string { return name })
	if err != nil {
		return 0, 0, err
	}
	b.twins.begin()
	began := time.Now()
	if answer, err = b.send(ctx, writes[0]); err != nil {
		return 0, 0, err
	}
	if err := b.twins.awaitRollouts(ctx, 1); err != nil {
		return 0, 0, err
	}
	if err := b.twins.awaitObserved(ctx, name); err != nil {
		return 0, 0, err
	}
	return answer, b.twins.seen().first.Sub(began), b.twins.checkOnly(name)
}

// checkOnly fails if anything but one rollout of one workload was seen since begin.
func (e *eyes) checkOnly(name string) error {
	seen := e.seen()
	times := e.times(name)
	if seen.rollouts != 1 || times != 1 {
		return fmt.Errorf("the work was not done right: %s had to roll once, and did so %d times; all workloads together rolled %d times", name, times, seen.rollouts)
	}
	return nil
}
