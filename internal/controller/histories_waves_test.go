package controller

import (
	"math/rand/v2"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
)

// Some controllers roll the workloads of a source one after the other. A change that waits is judged
// as any other when all is at rest: nothing waits for ever. Failures are tolerated, because a
// workload that is held by the failure of another one would be no lost change.

// drawWaves sets how many workloads roll at the same time: any number, so that a gate is asked and
// always open, or one.
func drawWaves(opts *Options, r *rand.Rand) {
	switch r.IntN(4) {
	case 0, 1:
		return
	case 2:
		opts.Waves.MaxRolling = annotations.Share{Number: 1000}
	case 3:
		opts.Waves.MaxRolling = []annotations.Share{{Number: 1}, {Number: 1, Percent: true}}[r.IntN(2)]
	}
	opts.Waves.MaxFailures, opts.Waves.HasMaxFailures = 1000, true
	opts.Halt = gate.Halt{Percent: 100, Last: 200}
}
