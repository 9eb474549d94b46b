package source

import (
	"slices"
	"time"
)

// turn is one version of an object of a class. The version is empty if the class does not have the
// object.
type turn struct {
	version string
	// known is when a Pod was first reported with the version.
	known time.Time
	// turnWrite is that with which a running Pod was first given it.
	turnWrite
	// rotated reports whether Pods were given the version while they ran.
	rotated bool
	// gained reports whether such a Pod had run without the object.
	gained bool
}

// turnWrite is the write of a report.
type turnWrite struct {
	written time.Time
	// in is its resource version, 0 if no watch has shown it.
	in uint64
	// report is the resource version of the report, 0 if it is that of another write.
	report uint64
}

// turns are the versions of one object in the order in which Pods were given them. Numbers count
// from the first turn ever, so that the number that a Pod has stays valid when the oldest turns are
// forgotten.
type turns struct {
	kept      []turn
	forgotten int
	// opened is how many turns there were up to the last forgotten one that opens the object; 0 if none did.
	opened int
}

// opens reports whether Pods that started without the object may be given it since: the class lost it, or
// another such Pod was given it.
func (t *turn) opens() bool { return t.version == "" || t.gained }

// opensAfter reports whether a turn after a given one does.
func (t *turns) opensAfter(after int) bool {
	return t.opened > after+1 || slices.ContainsFunc(t.since(after), func(n turn) bool { return n.opens() })
}

// mostTurns bounds the history. A Pod that has missed more turns counts as one that had the oldest
// of them.
const mostTurns = 16

// last is the number of the present turn, -1 if there is none.
func (t *turns) last() int { return t.forgotten + len(t.kept) - 1 }

// present is the present turn.
func (t *turns) present() *turn { return &t.kept[len(t.kept)-1] }

// begin adds a turn, and returns its number.
func (t *turns) begin(next turn) int {
	next.known = next.written
	t.kept = append(t.kept, next)
	if len(t.kept) > mostTurns {
		if t.kept[0].opens() {
			t.opened = t.forgotten + 1
		}
		t.kept = slices.Delete(t.kept, 0, 1)
		t.forgotten++
	}
	return t.last()
}

// rotate records that a Pod was given the present version while it ran, and reports whether it is
// the first.
func (t *turns) rotate(r *ClassReport, in uint64) bool {
	present := t.present()
	if present.rotated {
		return false
	}
	present.rotated, present.turnWrite = true, r.write(in)
	return true
}

// isBefore reports whether a report was written after the turn. The clocks of two API servers differ
// by seconds, and times are whole seconds, so the resource versions decide as in sortByWrite. Within
// these seconds, a Pod that is late with an earlier version is taken for a rotation back.
func (t *turn) isBefore(r *ClassReport) bool {
	if in := r.writtenIn(); in != 0 && t.report != 0 && r.Written.Sub(t.written).Abs() <= StartLag {
		return in > t.report
	}
	return r.Written.After(t.written)
}

// next is the turn that gave a version to Pods with an earlier one; -1 if there was none.
func (t *turns) next(version string, after int) int {
	i := slices.IndexFunc(t.since(after), func(n turn) bool { return n.rotated && n.version == version })
	if i < 0 {
		return -1
	}
	return t.last() + 1 - len(t.since(after)) + i
}

// latest is the last turn with a version, -1 if there was none.
func (t *turns) latest(version string) int {
	for i, n := range slices.Backward(t.kept) {
		if n.version == version {
			return t.forgotten + i
		}
	}
	return -1
}

// since are the turns after a given turn.
func (t *turns) since(after int) []turn {
	return t.kept[max(after+1-t.forgotten, 0):]
}

// added is when the class got its present object.
func (t *turns) added() time.Time {
	added := t.present().known
	for _, n := range slices.Backward(t.kept) {
		if n.version == "" {
			break
		}
		if added = n.known; n.gained {
			break
		}
	}
	return added
}
