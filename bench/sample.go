package main

import (
	"math"
	"slices"
	"time"
)

// spread is what several runs have measured of one figure.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Runs   int     `json:"runs"`
}

// over returns the spread of some measurements. There has to be one.
func over(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	median := sorted[n/2]
	if n%2 == 0 {
		median = (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return spread{Median: median, Min: sorted[0], Max: sorted[n-1], Runs: n}
}

// percentile is the smallest measurement that at least p of 100 do not exceed. It is one that was
// really measured: nothing is interpolated.
func percentile(values []float64, p float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }
