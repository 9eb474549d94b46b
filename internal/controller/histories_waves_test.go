package controller

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// Some controllers roll the workloads of a source one after the other. A change that waits is judged
// as any other when all is at rest. Failures are tolerated, because a workload that waits for others
// in vain would be no lost change.

// drawWaves sets how many workloads roll at the same time: any number, so that a gate is asked and
// always open, or one.
func (h *history) drawWaves(opts *Options, r *rand.Rand) {
	h.oneAtATime = false
	switch r.IntN(4) {
	case 0, 1:
		return
	case 2:
		opts.Waves.MaxRolling = annotations.Share{Number: 1000}
	case 3:
		opts.Waves.MaxRolling = []annotations.Share{{Number: 1}, {Number: 1, Percent: true}}[r.IntN(2)]
		h.oneAtATime = true
	}
	opts.Waves.MaxFailures, opts.Waves.HasMaxFailures = 1000, true
	opts.Halt = gate.Halt{Percent: 100, Last: 200}
}

// inProgress is less than the deadline of a rollout, after which it takes no place any more.
const inProgress = 9 * time.Minute

// judgeWaves checks that no workload is rolled with a changed source while another one rolls that
// the running controller has rolled, if both use the source. The API server decides what rolls: the
// controller may learn later that a rollout is complete, but not earlier.
func (h *history) judgeWaves(key workload.Key, body []byte) {
	if !h.oneAtATime || h.kind != "" || !bytes.Contains(body, []byte(`"template"`)) {
		return
	}
	w := h.truthOf(key.Name)
	if w == nil {
		return
	}
	for _, src := range sources() {
		if !w.waitsFor(src, h.oracle.sources[src], h.look().known[src]) {
			continue
		}
		h.count("turns")
		for _, obj := range h.workloads() {
			other := h.oracle.workloads[obj.GetUID()]
			if other == nil || other == w || !h.rolls(other, obj) {
				continue
			}
			if _, both := other.covered[src]; both {
				h.oracle.fail("%s is rolled with %s while %s rolls", key, src, other.name)
			}
		}
	}
}

func (h *history) truthOf(name string) *workloadTruth {
	for _, obj := range h.workloads() {
		if obj.GetName() == name {
			return h.oracle.workloads[obj.GetUID()]
		}
	}
	return nil
}

// waitsFor reports whether a source that a workload covers has a change that the controller has been
// shown and that the workload was not rolled with.
func (w *workloadTruth) waitsFor(src simapi.Source, s *sourceTruth, shown uint64) bool {
	if _, covered := w.covered[src]; !covered || s == nil {
		return false
	}
	return slices.ContainsFunc(s.changes, func(c change) bool { return c.version > w.carried[src] && c.version <= shown })
}

// rolls reports whether the running controller has rolled a workload, and no status has shown since
// that this is complete.
func (h *history) rolls(w *workloadTruth, obj simapi.Object) bool {
	if d, ok := obj.(*appsv1.Deployment); ok && d.Spec.Paused {
		return false
	}
	last := w.lastReload()
	return last > w.calm && last > w.foreign && last > h.oracle.startedAt && h.server.Now().Sub(h.rolledAt[obj.GetUID()]) < inProgress
}
