package gate

import (
	"fmt"
	"slices"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Stopped reports whether no further member starts because others failed.
func (f *Fleet) Stopped() bool { return !f.settings.Resumed && len(f.failed) > f.settings.MaxFailures }

// unfinished is the lowest wave whose members are not all done, held, or tolerated failures.
func (f *Fleet) unfinished() (*wave, bool) {
	for _, w := range f.waves {
		if w.count[Waiting]+w.count[Running] > 0 {
			return w, true
		}
	}
	return nil, false
}

// rolling is how many members roll, with any data.
func (f *Fleet) rolling() int { return f.all[Running] + f.behind }

func (f *Fleet) budget() int { return f.settings.MaxRolling.Of(len(f.members)) }

func (f *Fleet) answered(m *member) {
	if m.offered {
		m.offered = false
		f.offered--
	}
}

// ask reports whether a member may start. A member that may not is notified when it may.
func (f *Fleet) ask(key workload.Key) Answer {
	m, ok := f.members[key]
	if !ok || m.Rolled || m.reserved {
		return Answer{}
	}
	f.answered(m)
	a := f.check(m)
	if !a.Open() && !m.asked {
		m.asked = true
		m.in.asked = append(m.in.asked, key)
		if m.occupies() {
			f.occupying[key] = struct{}{}
		}
	}
	return a
}

func (f *Fleet) check(m *member) Answer {
	closed := Answer{By: Waves, Source: f.source}
	if f.Stopped() && !m.refused() {
		closed.Stopped, closed.Why = true, f.WhyStopped()
		return closed
	}
	if w, some := f.unfinished(); some && w.number < m.Wave {
		closed.Why = fmt.Sprintf("for wave %d of %s: %s", w.number, f.source, w.text())
		return closed
	}
	if f.unsure > 0 {
		closed.Why = fmt.Sprintf("until it is known whether workloads of %s have failed", f.source)
		return closed
	}
	if n := f.rolling(); n-m.place() >= f.budget() && !m.occupies() {
		closed.Why = fmt.Sprintf("for its turn: %d of %d workloads of %s are in progress (%s)", n, len(f.members), f.source, f.settings.RollingBy)
		return closed
	}
	return Answer{}
}

// Next returns the members that asked before and may start now. Each is returned once until it asks
// again.
func (f *Fleet) Next() []workload.Key {
	if f.Stopped() || f.unsure > 0 {
		return nil
	}
	var next []workload.Key
	offer := func(key workload.Key, m *member) {
		m.asked, m.offered = false, true
		f.offered++
		delete(f.occupying, key)
		next = append(next, key)
	}
	for _, w := range f.waves {
		for _, key := range f.askedOf(w) {
			offer(key, f.members[key])
		}
		for len(w.asked) > 0 {
			key := w.asked[0]
			if m, ok := f.members[key]; ok && m.asked && m.in == w {
				if f.rolling()+f.offered >= f.budget() {
					break
				}
				offer(key, m)
			}
			w.asked = w.asked[1:]
		}
		if w.count[Waiting]+w.count[Running] > 0 {
			break
		}
	}
	return next
}

// askedOf are the members of a wave that asked and occupy a place, in order.
func (f *Fleet) askedOf(w *wave) []workload.Key {
	var all []workload.Key
	for key := range f.occupying {
		if f.members[key].in == w {
			all = append(all, key)
		}
	}
	slices.SortFunc(all, workload.CompareKeys)
	return all
}

// Again returns all members that asked and may not start yet, after the fleet has stopped or was
// released: another answer is right. They are not held in the other fleets until they have asked.
func (f *Fleet) Again(others []*Fleet) []workload.Key {
	var all []workload.Key
	for key, m := range f.members {
		if !m.asked && !m.offered {
			continue
		}
		all = append(all, key)
		for _, other := range others {
			if other == nil {
				continue
			}
			other.hold(key, "")
		}
	}
	slices.SortFunc(all, workload.CompareKeys)
	return all
}
