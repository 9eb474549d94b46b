package gate

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Find returns the fleet of a changed source, and nil if its workloads wait for no other.
type Find func(changed *reload.Concern) *Fleet

// fleetsOf returns the fleets in which a workload has to wait for its turn: none for an urgent
// change, for a certificate that expires, for a deleted source, and for repeating a reload that
// another client removed.
func fleetsOf(f *reload.Facts, d *reload.Decision, find Find) []*Fleet {
	if o := overrideOf(f, d); o.passed(f.Now) {
		return nil
	}
	return fleetsWithout(d, find)
}

// fleetsWithout is fleetsOf without regard to certificates.
func fleetsWithout(d *reload.Decision, find Find) []*Fleet {
	if find == nil || d.Reverted != nil || isUrgent(d) {
		return nil
	}
	var all []*Fleet
	for i := range d.Changes {
		changed := &d.Changes[i]
		if changed.Deleted {
			continue
		}
		if fleet := find(changed); fleet != nil {
			all = append(all, fleet)
		}
	}
	return all
}

// checkWaves asks all fleets. Where one fleet has stopped, the workload is held in the others, so
// that no other workload waits for it there.
func checkWaves(f *reload.Facts, fleets []*Fleet) Answer {
	key := f.Workload.Key
	for _, fleet := range fleets {
		if _, in := fleet.members[key]; !in {
			// The source was changed again since the facts were collected.
			return Answer{By: Waves, Source: fleet.source, Until: f.Now.Add(decideAgain), Why: fmt.Sprintf("until it is known whether %s still concerns it", fleet.source)}
		}
	}
	var first, stopped Answer
	for _, fleet := range fleets {
		a := fleet.ask(key)
		if first.Open() {
			first = a
		}
		if a.Stopped && stopped.Open() {
			stopped = a
		}
	}
	for _, fleet := range fleets {
		why := ""
		if !stopped.Open() && !fleet.Stopped() {
			why = "waits for " + stopped.Source.String()
		}
		fleet.hold(key, why)
	}
	if !stopped.Open() {
		return stopped
	}
	return first
}

// peekWaves returns whether a fleet would hold a workload, and changes nothing.
func peekWaves(f *reload.Facts, fleets []*Fleet) Answer {
	for _, fleet := range fleets {
		m, in := fleet.members[f.Workload.Key]
		if !in || m.Rolled || m.reserved {
			continue
		}
		if a := fleet.check(m); !a.Open() {
			return a
		}
	}
	return Answer{}
}

// decideAgain is how soon a reload is decided again whose facts were out of date.
const decideAgain = time.Second

// passWaves reserves the turn of a workload in its fleets, and notes in the ledger of its reload
// when that begins, if it is noted for each or the workload has fleets.
func passWaves(f *reload.Facts, d *reload.Decision, fleets []*Fleet, failed func(workload.Key) bool) {
	if len(fleets) == 0 && (failed == nil || f.Workload.Runs != nil) {
		d.Ledger.Turn = ledger.Turn{}
		return
	}
	var longest time.Duration
	before := false
	for _, fleet := range fleets {
		before = before || fleet.failedBefore(f.Workload.Key)
		fleet.reserve(f.Workload.Key)
		longest = max(longest, fleet.settings.Soak)
	}
	d.Ledger.Turn = turnOf(f, longest, before)
	d.Ledger.Turn.Again = failed != nil && f.Workload.Runs == nil && failed(f.Workload.Key)
}
