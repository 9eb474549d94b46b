package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
// Its runs are parts of it, one after the other; memory and goroutines are looked at over all of
// them, so there are always several.
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
	parts := max(s.opts.runs, enough)
	for n := range parts {
		from, to := n*s.opts.soaks/parts, (n+1)*s.opts.soaks/parts
		if err := s.soakOnce(ctx, sh, names, from, to, sampling); err != nil {
			return nil, err
		}
	}
	sampling.add(sh, parts)
	sec := section{
		Title: fmt.Sprintf("soak: %d workloads with a ConfigMap each, %d edits in %d parts, settle period %s", s.opts.stormy, s.opts.soaks, parts, settle),
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
	if err := s.addStormy(ctx, sh, w, began, versions, answered); err != nil {
		return err
	}
	now, err := sampling.look(to)
	sampling.rests = append(sampling.rests, now)
	return err
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
	// rests are taken when all that a part has edited is done.
	rests []sample
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
	now, err := s.look(int(n))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.failed = err
		return
	}
	s.taken = append(s.taken, now)
}

// look takes a sample.
func (s *sampling) look(edits int) (sample, error) {
	used, err := usageOf(s.stage.controller.PID())
	if err != nil {
		return sample{}, err
	}
	now := sample{Edits: edits, RSS: used.rss}
	if s.stage.ours != nil {
		reading, err := s.stage.ours.Metric(s.ctx, "go_goroutines", nil)
		if err != nil {
			return sample{}, err
		}
		now.Goroutines = reading.Sum
	}
	return now, nil
}

const (
	memoryEndsRow     = "memory at rest, last"
	goroutinesEndsRow = "goroutines at rest, last"
)

// add adds the mean of each part of the edits, and how it stood at rest after each: what is there
// under way follows the work and the machine, and what stays follows what was forgotten to be given
// back. The last is held against the first, before which much is made for the first time, and the
// memory against the most of the first part: just when that ended, a controller may have given back
// all that it needs again for the next edits. What a peer does not tell is left out.
func (s *sampling) add(sh *sheet, parts int) {
	if parts < 2 || len(s.taken) < parts || len(s.rests) < parts {
		return
	}
	atRest := s.rests[:1:1]
	for _, of := range []struct {
		name, unit, last string
		value            func(sample) float64
		limit            string
		within           []sample
	}{
		{"memory", "MiB", memoryEndsRow, func(s sample) float64 { return s.RSS }, "most, first part", append(atRest, s.taken[:len(s.taken)/parts]...)},
		{"goroutines", "", goroutinesEndsRow, func(s sample) float64 { return s.Goroutines }, "at rest, first part", atRest},
	} {
		last := of.value(s.rests[parts-1])
		if last == 0 {
			continue
		}
		for nth := range parts {
			sum, part := 0.0, s.taken[nth*len(s.taken)/parts:(nth+1)*len(s.taken)/parts]
			for _, one := range part {
				sum += of.value(one)
			}
			sh.add(fmt.Sprintf("%s, part %d", of.name, nth+1), of.unit, sum/float64(len(part)))
		}
		sh.add(of.last, of.unit, last)
		most := slices.MaxFunc(of.within, func(a, b sample) int { return cmp.Compare(of.value(a), of.value(b)) })
		sh.beside(of.last, of.limit, of.value(most))
	}
}
