package main

import (
	"context"
	"fmt"
	"time"
)

// settle is the quiet period that the controller has by default, and with which it is run here.
const settle = time.Second

// storm edits the ConfigMaps of many workloads, in turn and as fast as the API server takes it.
func storm(ctx context.Context, s *stage) ([]section, error) {
	names := numbered("owner", s.opts.stormy)
	if err := s.makeOwn(ctx, names, false); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	sh := newSheet()
	for n := range s.opts.runs {
		w, err := s.begin()
		if err != nil {
			return nil, err
		}
		began := time.Now()
		versions, answered, err := s.editAll(ctx, names, s.opts.stormEdits, n*s.opts.stormEdits, nil)
		if err != nil {
			return nil, err
		}
		sh.add("edits a second", "", float64(s.opts.stormEdits)/time.Since(began).Seconds())
		if err := s.addStormy(ctx, sh, w, began, versions, answered); err != nil {
			return nil, err
		}
	}
	sec := section{Title: fmt.Sprintf("storm: %d workloads with a ConfigMap each, %d edits, settle period %s", s.opts.stormy, s.opts.stormEdits, settle)}
	sec.Rows = sh.rows()
	return []section{sec}, nil
}

// addStormy waits until the last content is everywhere, and adds what was used and seen since the
// edits began. The times run from the last edit of each workload's source.
func (s *stage) addStormy(ctx context.Context, sh *sheet, w *window, began time.Time, versions map[string]uint64, answered map[string]time.Time) error {
	newer, err := s.awaitNewer(ctx, versions)
	if err != nil {
		return err
	}
	if err := s.awaitRollout(ctx, s.eyes, work); err != nil {
		return err
	}
	seen := s.eyes.seen()
	used, err := w.end(ctx, seen.rollouts)
	if err != nil {
		return err
	}
	var took []time.Duration
	for name, at := range newer {
		took = append(took, at.Sub(answered[name]))
	}
	sh.addFirstAndLast(seen, began)
	sh.addLatencies(took)
	sh.add("with the last content", "", float64(len(newer)))
	sh.beside("with the last content", "all", float64(len(versions)))
	sh.add(rolloutsRow, "", float64(seen.rollouts))
	sh.beside(rolloutsRow, "one each", float64(len(versions)))
	sh.add(perPeriodRow, "", float64(s.eyes.mostWithin(periods*settle)))
	sh.beside(perPeriodRow, "one each, one late", periods+1)
	sh.add(notedRow, "", float64(seen.noted))
	sh.beside(notedRow, "rollouts", float64(seen.rollouts))
	sh.addSpent(used, requests{patches: seen.rollouts + seen.noted, events: seen.rollouts})
	return nil
}

const (
	// periods are as many quiet periods as the rollouts of one workload are counted in: a PATCH
	// that takes its time comes into the next one.
	periods      = 3
	perPeriodRow = "most in 3 settle periods"
	// notedRow counts ledgers that changed alone. That is right for a content that came before the
	// last rollout, and was told to the controller after it: its pods have it.
	notedRow = "noted without a rollout"
)

// awaitNewer waits until the last content is with all workloads. Of a peer it is told if it is not,
// and shown in the table.
func (s *stage) awaitNewer(ctx context.Context, versions map[string]uint64) (map[string]time.Time, error) {
	if s.ours != nil {
		return s.eyes.awaitNewer(ctx, versions)
	}
	for {
		before := s.eyes.seen().rollouts
		bounded, cancel := context.WithTimeout(ctx, peerPatience)
		newer, err := s.eyes.awaitNewer(bounded, versions)
		cancel()
		switch {
		case err == nil || ctx.Err() != nil:
			return newer, err
		case s.eyes.seen().rollouts == before:
			return newer, s.right(err)
		}
	}
}

// editAll edits ConfigMaps in turn, and returns for each the version and the time of its last edit.
// After is called after each edit, by several at a time.
func (s *stage) editAll(ctx context.Context, names []string, edits, from int, after func()) (map[string]uint64, map[string]time.Time, error) {
	// Each writer has ConfigMaps of its own, so that the last edit of each is the one that is
	// answered last.
	writers := min(16, len(names))
	versions, answered := make([]uint64, len(names)), make([]time.Time, len(names))
	var shares []int
	for share := range writers {
		shares = append(shares, share)
	}
	err := eachWith(ctx, writers, shares, func(ctx context.Context, share int) error {
		i := share
		for edit := share; edit < edits; edit += writers {
			version, err := s.editAt(ctx, work, names[i], from+edit)
			if err != nil {
				return err
			}
			versions[i], answered[i] = version, time.Now()
			if after != nil {
				after()
			}
			if i += writers; i >= len(names) {
				i = share
			}
		}
		return nil
	})
	last, at := map[string]uint64{}, map[string]time.Time{}
	for i, name := range names {
		if versions[i] > 0 {
			last[name], at[name] = versions[i], answered[i]
		}
	}
	return last, at, err
}
