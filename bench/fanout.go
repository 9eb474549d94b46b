package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// writers are the numbers of PATCHes in flight that the bare loop is tried with. The fastest is the limit.
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
	bareFirst, bareLast := map[int][]float64{}, map[int][]float64{}
	for n := range s.opts.runs {
		if err := s.fanOutOnce(ctx, sh, n); err != nil {
			return nil, err
		}
		if loop == nil {
			continue
		}
		for _, w := range writers() {
			first, last, err := s.bareOnce(ctx, loop, names, uses, w)
			if err != nil {
				return nil, fmt.Errorf("the bare loop of %d writers: %w", w, err)
			}
			bareFirst[w], bareLast[w] = append(bareFirst[w], milliseconds(first)), append(bareLast[w], last.Seconds())
		}
	}
	sec := section{Title: fmt.Sprintf("fan-out: one ConfigMap, %d Deployments, from the edit's answer", s.opts.fan)}
	if loop == nil {
		sec.Rows = sh.rows()
		return []section{sec}, nil
	}
	best := writers()[0]
	for _, w := range writers() {
		if over(bareLast[w]).Median < over(bareLast[best]).Median {
			best = w
		}
	}
	is := fmt.Sprintf("%d bare writers", best)
	sh.limits["first rollout"] = limit{bareFirst[best], is}
	sh.limits[lastRow] = limit{bareLast[best], is}
	sec.Rows = sh.rows()
	for _, w := range writers() {
		sec.Rows = append(sec.Rows, figure(fmt.Sprintf("last, %d bare writers", w), "s", bareLast[w]))
	}
	return []section{sec}, nil
}

const (
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
	if err := s.awaitRollouts(ctx, s.opts.fan); err != nil {
		return err
	}
	if err := s.awaitRest(ctx, s.eyes, work); err != nil {
		return err
	}
	used, err := w.end(ctx, s.opts.fan)
	if err != nil {
		return err
	}
	seen := s.eyes.seen()
	sh.add("first rollout", "ms", milliseconds(seen.first.Sub(answered)))
	sh.add(lastRow, "s", seen.last.Sub(answered).Seconds())
	s.addRollouts(sh, s.opts.fan)
	sh.addSpent(used, s.opts.fan)
	return s.right(seen.check(s.opts.fan))
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

// right passes on that the work was not done right. Of a peer it is told, and the table shows what it did.
func (s *stage) right(err error) error {
	if err != nil && s.ours == nil {
		s.tell("the peer: %v", err)
		return nil
	}
	return err
}

// awaitRollouts waits until so many Deployments have rolled. A peer that does nothing for a while will not.
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
func (s *stage) bareOnce(ctx context.Context, b *bare, names []string, uses func(string) string, writers int) (first, last time.Duration, err error) {
	writes, err := b.prepare(names, uses)
	if err != nil {
		return 0, 0, err
	}
	b.twins.begin()
	began := time.Now()
	if err := b.sendAll(ctx, writes, writers); err != nil {
		return 0, 0, err
	}
	if err := b.twins.awaitRollouts(ctx, len(names)); err != nil {
		return 0, 0, err
	}
	if err := s.awaitRest(ctx, b.twins, twins); err != nil {
		return 0, 0, err
	}
	seen := b.twins.seen()
	return seen.first.Sub(began), seen.last.Sub(began), seen.check(len(names))
}
