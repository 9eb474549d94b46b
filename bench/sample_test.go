package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSpread(t *testing.T) {
	for about, tc := range map[string]struct {
		values []float64
		want   spread
	}{
		"one":                    {[]float64{4}, spread{Median: 4, Min: 4, Max: 4, Runs: 1}},
		"odd, in any order":      {[]float64{9, 1, 4}, spread{Median: 4, Min: 1, Max: 9, Runs: 3}},
		"even: between both":     {[]float64{9, 1, 4, 5}, spread{Median: 4.5, Min: 1, Max: 9, Runs: 4}},
		"one far off moves none": {[]float64{2, 3, 1000}, spread{Median: 3, Min: 2, Max: 1000, Runs: 3}},
	} {
		t.Run(about, func(t *testing.T) {
			before := append([]float64(nil), tc.values...)
			if diff := cmp.Diff(tc.want, over(tc.values)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, tc.values); diff != "" {
				t.Errorf("the measurements were put into another order: %s", diff)
			}
		})
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i) // falling: 100 … 1
	}
	for about, tc := range map[string]struct {
		values []float64
		p      float64
		want   float64
	}{
		"half of a hundred":          {hundred, 50, 50},
		"99 of a hundred":            {hundred, 99, 99},
		"all of a hundred":           {hundred, 100, 100},
		"none is the least":          {hundred, 0, 1},
		"half of three":              {[]float64{3, 1, 2}, 50, 2},
		"99 of three is the most":    {[]float64{3, 1, 2}, 99, 3},
		"99 of 200 leaves two above": {append(hundred, hundred...), 99, 99},
		"one":                        {[]float64{7}, 50, 7},
	} {
		t.Run(about, func(t *testing.T) {
			if got := percentile(tc.values, tc.p); got != tc.want {
				t.Errorf("%g, must be %g", got, tc.want)
			}
		})
	}
}

func TestASoakByParts(t *testing.T) {
	var s sampling
	for _, mib := range []float64{10, 30, 50, 60, 50, 72} {
		s.taken = append(s.taken, sample{RSS: mib, Goroutines: 100})
	}
	for _, mib := range []float64{8, 9, 11} {
		s.rests = append(s.rests, sample{RSS: mib, Goroutines: 80})
	}
	sh := newSheet()
	s.add(sh, 3)
	for name, want := range map[string]float64{"memory, part 1": 20, "memory, part 2": 55, "memory, part 3": 61, memoryEndsRow: 11, goroutinesEndsRow: 80} {
		if got := sh.values[name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %v, must be %v", name, got, want)
		}
	}
	for name, want := range map[string]float64{memoryEndsRow: 30, goroutinesEndsRow: 80} {
		if of := sh.limits[name].values; len(of) != 1 || of[0] != want {
			t.Errorf("%s stands beside %v, must stand beside %v", name, of, want)
		}
	}
	silent := sampling{taken: []sample{{RSS: 10}, {RSS: 10}}, rests: []sample{{RSS: 10}, {RSS: 10}}}
	sh = newSheet()
	silent.add(sh, 2)
	if _, told := sh.values[goroutinesEndsRow]; told || len(sh.values[memoryEndsRow]) != 1 {
		t.Errorf("of one that does not tell its goroutines there is %v", sh.names)
	}
	one := newSheet()
	s.add(one, 1)
	if len(one.names) != 0 {
		t.Errorf("one part has none beside it, but there is %v", one.names)
	}
}
