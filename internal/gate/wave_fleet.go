package gate

import (
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
	// behind is how many of these take a place without being counted as running. Occupying are
	// those that need no other place, and have asked.
	behind    int
	occupying map[workload.Key]struct{}
	// offered is how many members may start and have not asked yet.
	offered int
}

// member is a workload with its place in the fleet.
type member struct {
	Member
	// reserved reports whether its reload is being written.
	reserved bool
	// failedBefore reports whether it failed with earlier data.
	failedBefore bool
	// held is why it cannot start, because of another source.
	held string
	// asked reports whether it waits for its turn, and offered whether its turn has come.
	asked, offered bool
	// counted is the state in which it is counted, and in the wave.
	counted State
	in      *wave
}

// occupies reports whether the member rolls already, with earlier data. It needs no other place to
// be rolled with the present data.
func (m *member) occupies() bool { return m.Behind && !m.Doubt && !m.reserved }

// place is how many of the places that are taken are its own, if it may have failed instead. Without
// them, it needs one like any other.
func (m *member) place() int {
	if m.Doubt && !m.reserved {
		return 1
	}
	return 0
}

// refused reports whether the member has failed before its rollout began: it may try again.
func (m *member) refused() bool { return m.State == Failed && !m.Rolled }

// takesPlace reports whether the member takes a place although it is not counted as running.
func (m *member) takesPlace() bool { return m.Behind && !m.reserved || m.refused() && m.reserved }

// wave is a wave of members.
type wave struct {
	number int
	count  [states]int
	// soaking is how many of those that are running have to stay available.
	soaking int
	// asked are the members that wait for their turn, the first first. It may
	// contain members that do not wait any more.
	asked []workload.Key
}

// NewFleet returns a fleet without members.
func NewFleet(src *source.Source, s Settings) *Fleet {
	return &Fleet{source: src.Key, digest: src.Digest, settings: s, annotations: src.Annotations, members: map[workload.Key]*member{}, failed: map[workload.Key]struct{}{}, occupying: map[workload.Key]struct{}{}}
}

// Fits reports whether a fleet is still about the data and the workloads of a source, and has these
// settings.
func (f *Fleet) Fits(src *source.Source, s Settings) bool {
	return f.digest == src.Digest && f.settings == s && f.annotations == src.Annotations
}

// Inherit copies from an earlier fleet of the same source which workloads failed with earlier data.
// If that fleet was about the same data, it also copies which reloads are being written.
func (f *Fleet) Inherit(from *Fleet) {
	same := from.digest == f.digest
	for key, was := range from.members {
		m, ok := f.members[key]
		if !ok {
			continue
		}
		m.failedBefore = was.failedBefore || !same && was.Rolled && was.State == Failed
		if same && was.reserved {
			f.reserve(key)
		}
	}
}

func (f *Fleet) failedBefore(key workload.Key) bool {
	m, ok := f.members[key]
	return ok && m.failedBefore
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
	if m.Soaking {
		m.in.soaking++
	}
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
	if m.asked && m.occupies() {
		f.occupying[key] = struct{}{}
	}
	if m.counted == Failed {
		f.failed[key] = struct{}{}
	}
}

func (f *Fleet) uncount(key workload.Key, m *member) {
	m.in.count[m.counted]--
	if m.Soaking {
		m.in.soaking--
	}
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
	delete(f.occupying, key)
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

// Needed reports whether any member has to start, so that the fleet decides when.
func (f *Fleet) Needed() bool { return f.unrolled > 0 }
