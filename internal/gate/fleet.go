package gate

import (
	"fmt"
	"slices"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Fleet are the workloads that a source rolls, with regard to its present data. It is updated one
// workload at a time, so that an answer about one does not grow with their number. It is not safe
// for concurrent use.
type Fleet struct {
	source   source.Key
	digest   digest.Digest
	settings Settings
	// annotations of the source select its workloads.
	annotations source.Annotations
	members     map[workload.Key]*member
	// waves are the waves that have members, the lowest first.
	waves []*wave
	// all are the numbers of members in each state, and failed the members that failed.
	all    [states]int
	failed map[workload.Key]struct{}
	// unsure are the members of which it is about to be known whether they failed.
	unsure int
	// unrolled is how many members still have to start.
	unrolled int
	// behind is how many of these take a place without being counted as running.
	behind int
	// offered is how many members were told to start and have not asked yet.
	offered int
}

// member is a workload with its place in the fleet.
type member struct {
	Member
	// reserved reports whether its reload is being written.
	reserved bool
	// held is why it cannot start, because of another source.
	held string
	// asked reports whether it waits to be told that it may start, and offered that it was told.
	asked, offered bool
	// counted is the state in which it is counted, and in the wave.
	counted State
	in      *wave
}

// occupies reports whether the member rolls already, with earlier data. It needs no other place to
// be rolled with the present data.
func (m *member) occupies() bool { return m.Behind && !m.reserved }

// refused reports whether the member has failed before its rollout began: it may try again.
func (m *member) refused() bool { return m.State == Failed && !m.Rolled }

// takesPlace reports whether the member takes a place although it is not counted as running.
func (m *member) takesPlace() bool { return m.occupies() || m.refused() && m.reserved }

// wave is a wave of members.
type wave struct {
	number int
	count  [states]int
	// asked are the members that wait to be told that they may start, the first first. It may
	// contain members that do not wait any more.
	asked []workload.Key
}

// NewFleet returns a fleet without members.
func NewFleet(src *source.Source, s Settings) *Fleet {
	return &Fleet{source: src.Key, digest: src.Digest, settings: s, annotations: src.Annotations, members: map[workload.Key]*member{}, failed: map[workload.Key]struct{}{}}
}

// Fits reports whether a fleet is still about the data and the workloads of a source, and has these
// settings.
func (f *Fleet) Fits(src *source.Source, s Settings) bool {
	return f.digest == src.Digest && f.settings == s && f.annotations == src.Annotations
}

// Inherit takes over which reloads are being written from a fleet of the same source, if that was
// about the same data.
func (f *Fleet) Inherit(from *Fleet) {
	if from.digest != f.digest {
		return
	}
	for key, m := range from.members {
		if m.reserved {
			f.reserve(key)
		}
	}
}

// Limits reports whether any member may have to wait for another one.
func (f *Fleet) Limits() bool { return f.settings.RollingBy != "" || len(f.waves) > 1 }

// Settings returns the settings of the fleet.
func (f *Fleet) Settings() *Settings { return &f.settings }

// Member returns what is known of a workload; zero if it is not a member.
func (f *Fleet) Member(key workload.Key) (Member, bool) {
	if m, ok := f.members[key]; ok {
		return m.Member, true
	}
	return Member{}, false
}

// Put adds a workload, or updates it.
func (f *Fleet) Put(key workload.Key, now Member) {
	m, ok := f.members[key]
	switch {
	case !ok:
		m = &member{}
		f.members[key] = m
	case m.in.number != now.Wave:
		f.leave(key, m)
	default:
		f.uncount(key, m)
	}
	m.Member = now
	if now.Rolled {
		m.reserved, m.held, m.asked = false, "", false
	}
	f.count(key, m)
}

// Remove removes a workload, and frees its place.
func (f *Fleet) Remove(key workload.Key) {
	m, ok := f.members[key]
	if !ok {
		return
	}
	f.answered(m)
	f.leave(key, m)
	delete(f.members, key)
}

// count adds a member to the numbers of its state.
func (f *Fleet) count(key workload.Key, m *member) {
	switch m.counted = m.State; {
	case m.reserved && !m.refused(): // a further try is no success yet
		m.counted = Running
	case m.held != "" && m.State == Waiting:
		m.counted = Held
	}
	m.in = f.wave(m.Wave)
	m.in.count[m.counted]++
	f.all[m.counted]++
	if m.Unsure {
		f.unsure++
	}
	if !m.Rolled {
		f.unrolled++
	}
	if m.takesPlace() {
		f.behind++
	}
	if m.counted == Failed {
		f.failed[key] = struct{}{}
	}
}

func (f *Fleet) uncount(key workload.Key, m *member) {
	m.in.count[m.counted]--
	f.all[m.counted]--
	if m.Unsure {
		f.unsure--
	}
	if !m.Rolled {
		f.unrolled--
	}
	if m.takesPlace() {
		f.behind--
	}
	delete(f.failed, key)
}

// leave takes a member out of its wave.
func (f *Fleet) leave(key workload.Key, m *member) {
	f.uncount(key, m)
	m.asked = false
	if m.in.count == [states]int{} {
		f.waves = slices.DeleteFunc(f.waves, func(w *wave) bool { return w == m.in })
	}
}

func (f *Fleet) wave(number int) *wave {
	i, found := slices.BinarySearchFunc(f.waves, number, func(w *wave, n int) int { return w.number - n })
	if !found {
		f.waves = slices.Insert(f.waves, i, &wave{number: number})
	}
	return f.waves[i]
}

// change counts a member anew after a change of its place.
func (f *Fleet) change(key workload.Key, m *member, edit func()) {
	f.uncount(key, m)
	edit()
	f.count(key, m)
}

// reserve counts a workload as running before its reload is written, so that no other one takes its
// place.
func (f *Fleet) reserve(key workload.Key) {
	if m, ok := f.members[key]; ok && !m.Rolled {
		f.change(key, m, func() { m.reserved, m.held, m.asked = true, "", false })
	}
}

// Free is called when the write of a reload was answered, or was never sent.
func (f *Fleet) Free(key workload.Key) {
	if m, ok := f.members[key]; ok {
		f.answered(m)
		if m.reserved {
			f.change(key, m, func() { m.reserved = false })
		}
	}
}

func (f *Fleet) hold(key workload.Key, why string) {
	if m, ok := f.members[key]; ok && m.held != why && !m.Rolled && !m.reserved {
		f.change(key, m, func() { m.held = why })
	}
}

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

// ask reports whether a member may start. A member that may not is told when it may.
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
	if n := f.rolling(); n >= f.budget() && !m.occupies() {
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
	for _, w := range f.waves {
		var wait []workload.Key
		for i, key := range w.asked {
			m, ok := f.members[key]
			if !ok || !m.asked || m.in != w {
				continue
			}
			if f.rolling()+f.offered >= f.budget() && !m.occupies() {
				wait = append(wait, key)
				if f.behind > 0 {
					continue // one that occupies a place may start
				}
				wait = append(wait, w.asked[i+1:]...)
				break
			}
			m.asked, m.offered = false, true
			f.offered++
			next = append(next, key)
		}
		w.asked = wait
		if w.count[Waiting]+w.count[Running] > 0 {
			break
		}
	}
	return next
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

// Needed reports whether any member has to start, so that the fleet decides when.
func (f *Fleet) Needed() bool { return f.unrolled > 0 }
