package main

import (
	"context"
	"fmt"
	"time"
)

// later is a workload that is changed after all else: when it has rolled, whatever was to come
// before it has come.
const later = "later"

// awaitLater changes it and waits for that.
func (s *stage) awaitLater(ctx context.Context, nth int) error {
	version, err := s.editAt(ctx, work, later, nth)
	if err != nil {
		return err
	}
	_, err = s.awaitNewer(ctx, map[string]uint64{later: version})
	return err
}

// burst changes ten sources of one workload at the same time.
func burst(ctx context.Context, s *stage) ([]section, error) {
	const sources = 10
	const workload = "burst"
	names := numbered("source", sources)
	if err := s.makeConfigMaps(ctx, work, names, 0); err != nil {
		return nil, err
	}
	if err := s.makeDeployments(ctx, s.eyes, []string{workload}, func(name string) deployment {
		return deployment{namespace: work, name: name, sources: names, part: work}
	}); err != nil {
		return nil, err
	}
	if err := s.makeOwn(ctx, []string{later}, false); err != nil {
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
		if err := inParallel(ctx, names, func(ctx context.Context, name string) error { return s.edit(ctx, work, name, n) }); err != nil {
			return nil, err
		}
		answered := time.Now()
		if err := s.awaitRollouts(ctx, 1); err != nil {
			return nil, err
		}
		rolled := s.eyes.seen()
		if err := s.awaitLater(ctx, n); err != nil {
			return nil, err
		}
		used, err := w.end(ctx, 2)
		if err != nil {
			return nil, err
		}
		sh.addFirstAndLast(rolled, answered)
		sh.add(rolloutsRow, "", float64(s.eyes.times(workload)))
		sh.beside(rolloutsRow, "one", 1)
		sh.addSpent(used, reloads(2))
	}
	sec := section{Title: fmt.Sprintf("burst: %d sources of one workload changed at once, and later one of another; settle period %s", sources, settle)}
	sec.Rows = sh.rows()
	return []section{sec}, nil
}

// metadata changes labels and annotations of sources, and no content.
func metadata(ctx context.Context, s *stage) ([]section, error) {
	names := numbered("owner", s.opts.edits)
	if err := s.makeOwn(ctx, append(names, later), false); err != nil {
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
		if err := inParallel(ctx, names, func(ctx context.Context, name string) error {
			_, err := s.patchConfigMap(ctx, work, name, fmt.Sprintf(`{"metadata":{"labels":{"team":"team-%d"},"annotations":{"example.com/note":"note %d"}}}`, n, n))
			return err
		}); err != nil {
			return nil, err
		}
		if err := s.awaitLater(ctx, n); err != nil {
			return nil, err
		}
		used, err := w.end(ctx, 1)
		if err != nil {
			return nil, err
		}
		rolled := s.eyes.seen().rollouts - s.eyes.times(later)
		sh.add(rolloutsRow, "", float64(rolled))
		sh.beside(rolloutsRow, "none", 0)
		if rolled > 0 {
			if err := s.right(fmt.Errorf("the work was not done right: no content was edited, and workloads rolled %d times", rolled)); err != nil {
				return nil, err
			}
		}
		sh.addSpent(used, reloads(1))
	}
	sec := section{Title: fmt.Sprintf("metadata: labels and annotations of %d used ConfigMaps changed, and later the content of one", s.opts.edits)}
	sec.Rows = sh.rows()
	return []section{sec}, nil
}

// large changes a few bytes of sources that are as large as they can be.
func large(ctx context.Context, s *stage) ([]section, error) {
	names := numbered("owner", s.opts.larges)
	if err := s.makeConfigMaps(ctx, work, names, s.opts.largeSize); err != nil {
		return nil, err
	}
	if err := s.makeDeployments(ctx, s.eyes, names, own(false)); err != nil {
		return nil, err
	}
	if err := s.ready(ctx, "--settle=0"); err != nil {
		return nil, err
	}
	loop, err := s.addBare(ctx, names, func(name string) string { return name })
	if err != nil {
		return nil, err
	}
	sh := newSheet()
	for n := range s.opts.runs {
		if err := s.latencyOnce(ctx, sh, loop, names, n); err != nil {
			return nil, err
		}
	}
	sec := section{Title: fmt.Sprintf("large: %d ConfigMaps of %d KiB, one edit of a few bytes at a time", s.opts.larges, s.opts.largeSize>>10)}
	sec.Rows = sh.rows()
	return []section{sec}, nil
}
