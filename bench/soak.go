package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// sample is how a controller stands at a moment of the soak.
type sample struct {
	Edits      int     `json:"edits"`
	RSS        float64 `json:"rssMiB"`
	Goroutines float64 `json:"goroutines,omitempty"` // a peer may not tell
}

// soak edits the ConfigMaps of some workloads for a long time, as fast as the API server takes it. Its runs are parts of it, one
// after the other; memory and goroutines are looked at over all of them.
func soak(ctx context.Context, s *stage) ([]section, error) {
	names := numbered("owner", s.opts.stormy)
	if err := s.makeOwn(ctx, names, false); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	sh := newSheet()
	sampling := s.sampleEach(ctx, max(s.opts.soaks/samples, 1))
	for n := range s.opts.runs {
		from, to := n*s.opts.soaks/s.opts.runs, (n+1)*s.opts.soaks/s.opts.runs
		if err := s.soakOnce(ctx, sh, names, from, to, sampling); err != nil {
			return nil, err
		}
	}
	sampling.add(sh, s.opts.runs)
	sec := section{
		Title: fmt.Sprintf("soak: %d workloads with a ConfigMap each, %d edits in %d parts, quiet period %s", s.opts.stormy, s.opts.soaks, s.opts.runs, settle),
		Rows:  sh.rows(), Samples: sampling.taken,
	}
	return []section{sec}, nil
}

func (s *stage) soakOnce(ctx context.Context, sh *sheet, names []string, from, to int, sampling *sampling) error {
	w, err := s.begin()
	if err != nil {
		return err
	}
	began := time.Now()
	versions, answered, err := s.editAll(ctx, names, to-from, from, sampling.edited)
	if err != nil {
		return err
	}
	if sampling.failed != nil {
		return sampling.failed
	}
	sh.add("edits a second", "", float64(to-from)/time.Since(began).Seconds())
	return s.addStormy(ctx, sh, w, began, versions, answered)
}

// samples is how many are taken.
const samples = 100

type sampling struct {
	ctx   context.Context //nolint:containedctx // it lives no longer than the call that makes it
	stage *stage
	every int64
	edits atomic.Int64

	mu     sync.Mutex
	taken  []sample
	failed error
}

func (s *stage) sampleEach(ctx context.Context, every int) *sampling {
	return &sampling{ctx: ctx, stage: s, every: int64(every)}
}

// edited counts an edit, and takes a sample now and then.
func (s *sampling) edited() {
	n := s.edits.Add(1)
	if n%s.every != 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	used, err := usageOf(s.stage.controller.PID())
	if err != nil {
		s.failed = err
		return
	}
	now := sample{Edits: int(n), RSS: used.rss}
	if s.stage.ours != nil {
		reading, err := s.stage.ours.Metric(s.ctx, "go_goroutines", nil)
		if err != nil {
			s.failed = err
			return
		}
		now.Goroutines = reading.Sum
	}
	s.taken = append(s.taken, now)
}

const (
	memoryEndsRow     = "memory, last part"
	goroutinesEndsRow = "goroutines, last part"
)

// add adds the mean of each part of the edits, and compares the last with the one before: they are alike, and in the first much is
// made for the first time. What a peer does not tell is left out.
func (s *sampling) add(sh *sheet, parts int) {
	if parts < 2 || len(s.taken) < parts {
		return
	}
	for _, of := range []struct {
		name, unit, last string
		value            func(sample) float64
	}{
		{"memory", "MiB", memoryEndsRow, func(s sample) float64 { return s.RSS }},
		{"goroutines", "", goroutinesEndsRow, func(s sample) float64 { return s.Goroutines }},
	} {
		mean := func(nth int) float64 {
			part := s.taken[nth*len(s.taken)/parts : (nth+1)*len(s.taken)/parts]
			sum := 0.0
			for _, one := range part {
				sum += of.value(one)
			}
			return sum / float64(len(part))
		}
		last := parts - 1
		if mean(last) == 0 {
			continue
		}
		for nth := range last {
			sh.add(fmt.Sprintf("%s, part %d", of.name, nth+1), of.unit, mean(nth))
		}
		sh.add(of.last, of.unit, mean(last))
		sh.beside(of.last, "the part before", mean(last-1))
	}
}
