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

// soak edits the ConfigMaps of some workloads for a long time, as fast as the API server takes it.
func soak(ctx context.Context, s *stage) ([]section, error) {
	names := numbered("owner", s.opts.stormy)
	if err := s.makeOwn(ctx, names, false); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	w, err := s.begin()
	if err != nil {
		return nil, err
	}
	sampling := s.sampleEach(ctx, max(s.opts.soaks/samples, 1))
	began := time.Now()
	versions, answered, err := s.editAll(ctx, names, s.opts.soaks, 0, sampling.edited)
	if err != nil {
		return nil, err
	}
	if sampling.failed != nil {
		return nil, sampling.failed
	}
	sh := newSheet()
	sh.add("edits a second", "", float64(s.opts.soaks)/time.Since(began).Seconds())
	if err := s.addStormy(ctx, sh, w, began, versions, answered); err != nil {
		return nil, err
	}
	sampling.add(sh)
	sec := section{Title: fmt.Sprintf("soak: %d workloads with a ConfigMap each, %d edits, quiet period %s", s.opts.stormy, s.opts.soaks, settle), Samples: sampling.taken}
	sec.Rows = sh.rows()
	return []section{sec}, nil
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
	memoryEndsRow     = "memory, last quarter"
	goroutinesEndsRow = "goroutines, last quarter"
)

// add compares the last quarter of the edits with the second: in the first, much is made for the first time.
func (s *sampling) add(sh *sheet) {
	quarter := len(s.taken) / 4
	if quarter == 0 {
		return
	}
	for _, of := range []struct {
		row, unit string
		value     func(sample) float64
	}{
		{memoryEndsRow, "MiB", func(s sample) float64 { return s.RSS }},
		{goroutinesEndsRow, "", func(s sample) float64 { return s.Goroutines }},
	} {
		mean := func(part []sample) float64 {
			sum := 0.0
			for _, one := range part {
				sum += of.value(one)
			}
			return sum / float64(len(part))
		}
		sh.add(of.row, of.unit, mean(s.taken[len(s.taken)-quarter:]))
		sh.beside(of.row, "second quarter", mean(s.taken[quarter:2*quarter]))
	}
}
