package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// writers are the numbers of PATCHes in flight that the bare loop is tried with. The fastest is the
// limit.
func writers() []int { return []int{8, 16, 32, 64} }

// fanOut edits one ConfigMap that many workloads use.
func fanOut(ctx context.Context, s *stage) ([]section, error) {
	names := numbered("sharer", s.opts.fan)
	uses := func(string) string { return shared }
	if err := s.makeConfigMaps(ctx, work, []string{shared}, 0); err != nil {
		return nil, err
	}
	if err := s.makeDeployments(ctx, s.eyes, names, func(name string) deployment {
		return deployment{namespace: work, name: name, sources: []string{shared}, part: work}
	}); err != nil {
		return nil, err
	}
	if err := s.ready(ctx, "--settle=0"); err != nil {
		return nil, err
	}
	loop, err := s.addBare(ctx, names, uses)
	if err != nil {
		return nil, err
	}
	sh := newSheet()
	bare := map[int]*sheet{}
	// The best of four medians is the more flattered the fewer runs they are of.
	rounds := 2*s.opts.runs - 1
	for n := range rounds {
		if err := s.fanOutOnce(ctx, sh, n); err != nil {
			return nil, err
		}
		if loop == nil {
			continue
		}
		for _, w := range writers() {
			if bare[w] == nil {
				bare[w] = newSheet()
			}
			if err := s.bareOnce(ctx, bare[w], loop, names, uses, w); err != nil {
				return nil, fmt.Errorf("the bare loop of %d writers: %w", w, err)
			}
		}
	}
	sec := section{Title: fmt.Sprintf("fan-out: one ConfigMap, %d Deployments, from the edit's answer; %d runs", s.opts.fan, rounds)}
	sec.Rows = besideBare(sh, bare)
	return []section{sec}, nil
}

// besideBare are the rows beside those of the fastest bare loop, and how long each of them took.
func besideBare(sh *sheet, bare map[int]*sheet) []row {
	if len(bare) == 0 {
		return sh.rows()
	}
	last := func(n int) spread { return over(bare[n].values[lastRow]) }
	best := slices.MinFunc(writers(), func(a, b int) int { return cmp.Compare(last(a).Median, last(b).Median) })
	for _, name := range bare[best].names {
		sh.limits[name] = limit{bare[best].values[name], fmt.Sprintf("%d bare writers", best)}
	}
	rows := sh.rows()
	for _, w := range writers() {
		rows = append(rows, row{Figure: fmt.Sprintf("last, %d bare writers", w), Unit: "s", Value: last(w)})
	}
	return rows
}

const (
	firstRow    = "first rollout"
	lastRow     = "last rollout"
	rolloutsRow = "rollouts"
)

func (s *stage) fanOutOnce(ctx context.Context, sh *sheet, nth int) error {
	w, err := s.begin()
	if err != nil {
		return err
	}
	if err := s.edit(ctx, work, shared, nth); err != nil {
		return err
	}
	answered := time.Now()
	used, err := s.finish(ctx, w, s.opts.fan, s.opts.fan)
	if err != nil {
		return err
	}
	return s.addOnce(sh, used, reloads(s.opts.fan), s.opts.fan, answered, func(string) time.Time { return answered })
}

// finish waits until so many workloads have rolled, Kubernetes has come to rest, and there are so
// many Events, and returns what was used.
func (s *stage) finish(ctx context.Context, w *window, workloads, events int) (spent, error) {
	if err := s.awaitRollouts(ctx, workloads); err != nil {
		return spent{}, err
	}
	if err := s.awaitRollout(ctx, s.eyes, work); err != nil {
		return spent{}, err
	}
	return w.end(ctx, events)
}

// addOnce adds what was used and seen of so many workloads that had to roll once each. Moment is
// from when the time of each counts.
func (s *stage) addOnce(sh *sheet, used spent, least requests, workloads int, began time.Time, moment func(name string) time.Time) error {
	seen := s.eyes.seen()
	sh.addFirstAndLast(seen, began)
	sh.addLatencies(s.eyes.since(moment))
	s.addRollouts(sh, workloads)
	sh.addSpent(used, least)
	return s.right(seen.check(workloads))
}

// addRollouts adds how many were seen, beside the least that is right.
func (s *stage) addRollouts(sh *sheet, least int) {
	sh.add(rolloutsRow, "", float64(s.eyes.seen().rollouts))
	sh.beside(rolloutsRow, "one each", float64(least))
}

// check fails if not all workloads have rolled, or one did more than once.
func (s seen) check(workloads int) error {
	if s.workloads != workloads || s.rollouts != workloads {
		return fmt.Errorf("the work was not done right: %d workloads rolled %d times, %d had to, once each", s.workloads, s.rollouts, workloads)
	}
	return nil
}

// right passes on that the work was not done right. Of a peer it is told, and the table shows what
// it did.
func (s *stage) right(err error) error {
	if err != nil && s.ours == nil {
		s.tell("the peer: %v", err)
		return nil
	}
	return err
}

// awaitRollouts waits until so many Deployments have rolled. A peer that does nothing for a while
// will not.
func (s *stage) awaitRollouts(ctx context.Context, workloads int) error {
	if s.ours != nil {
		err := s.eyes.awaitRollouts(ctx, workloads)
		if err != nil {
			err = errors.Join(err, s.controller.Running())
		}
		return err
	}
	err := s.eyes.awaitUnlessStill(ctx, workloads, peerPatience)
	return errors.Join(err, s.controller.Running())
}

// peerPatience is after how long without a rollout none is expected any more.
const peerPatience = 30 * time.Second

// bareOnce does the same work by the bare loop, on the twins.
func (s *stage) bareOnce(ctx context.Context, sh *sheet, b *bare, names []string, uses func(string) string, writers int) error {
	writes, err := b.prepare(names, uses)
	if err != nil {
		return err
	}
	b.twins.begin()
	began := time.Now()
	if err := b.sendAll(ctx, writes, writers); err != nil {
		return err
	}
	if err := b.twins.awaitRollouts(ctx, len(names)); err != nil {
		return err
	}
	if err := s.awaitRollout(ctx, b.twins, twins); err != nil {
		return err
	}
	seen := b.twins.seen()
	sh.addFirstAndLast(seen, began)
	sh.addLatencies(b.twins.since(func(string) time.Time { return began }))
	return seen.check(len(names))
}
