package controller

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The knowledge of the oracle about objects of a class that return to an earlier version. Each Pod
// gets a version at its own time, so the writes of several Pods may contradict each other.

type backTruth struct {
	// turns has the turn of each status, for the Pod in owners.
	turns  map[string]int
	owners map[string]types.UID
	backLook
}

// backLook has, by class, the version of the last write that the running controller was shown: in
// returned, of those that gave a running Pod an earlier version of an object; in replaced, of those
// that replaced the status of an earlier Pod, unseen.
type backLook struct{ returned, replaced map[string]uint64 }

func newBackLook() backLook { return backLook{map[string]uint64{}, map[string]uint64{}} }

func newBackTruth() backTruth {
	return backTruth{turns: map[string]int{}, owners: map[string]types.UID{}, backLook: newBackLook()}
}

func (b *backLook) clone() backLook { return backLook{maps.Clone(b.returned), maps.Clone(b.replaced)} }

// noteBack completes what is known of a write of a status.
func (o *oracle) noteBack(t *toldOfPod) {
	b := &o.classes.back
	t.from = t.started
	if b.owners[t.status] == t.pod {
		t.from = b.turns[t.status]
	}
	b.turns[t.status], b.owners[t.status] = t.turn, t.pod
	for _, id := range classObjects() {
		t.back = t.back || o.leftFor(t.class, id, t.from, t.turn)
	}
}

// leftFor reports whether an object has a version with a turn that it had before an earlier turn,
// in which it had another version.
func (o *oracle) leftFor(class, id string, earlier, turn int) bool {
	version := o.h.driver.Turn(class, turn)[id]
	if o.h.driver.Turn(class, earlier)[id] == version {
		return false
	}
	for before := range earlier {
		if o.h.driver.Turn(class, before)[id] == version {
			return true
		}
	}
	return false
}

// skippedBack reports whether a rotation gave a Pod an earlier version of an object, and the Pod
// had missed the version between.
func (o *oracle) skippedBack(class string, r rotation) bool {
	skipped := false
	for _, id := range classObjects() {
		if o.leftFor(class, id, r.from, r.turn) {
			return false
		}
		for between := r.from + 1; between < r.turn; between++ {
			skipped = skipped || o.leftFor(class, id, between, r.turn)
		}
	}
	return skipped
}

// seemedLateIn returns the version of the rotation before another one if that one skipped a version: the
// Pod counts as late with the same data from before, and the data of the class as that of the rotation
// before. It is never otherwise.
func (o *oracle) seemedLateIn(class string, r rotation) uint64 {
	all := o.classes.rotations[class]
	at := slices.IndexFunc(all, func(of rotation) bool { return of.version == r.version })
	if at < 1 || !o.skippedBack(class, r) {
		return never
	}
	return all[at-1].version
}

// wentBack reports whether an object returned, with a turn, to its version before another turn.
func (o *oracle) wentBack(name string, last int) bool {
	for _, id := range classObjects() {
		had, left := map[string]bool{}, map[string]bool{}
		for turn := range last {
			version := o.h.driver.Turn(name, turn)[id]
			for before := range had {
				left[before] = left[before] || before != version
			}
			had[version] = true
		}
		if version := o.h.driver.Turn(name, last)[id]; left[version] {
			return true
		}
	}
	return false
}

// overtook reports whether a Pod has started with a version of an object that another Pod reported
// before a running Pod got an earlier one: by the order of the reports, the object went back.
// A later rotation of other objects does not change that.
func (o *oracle) overtook(name string, shown []rotation, started int) bool {
	return slices.ContainsFunc(classObjects(), func(id string) bool {
		has := func(turn int) bool { return o.h.driver.Turn(name, turn)[id] == o.h.driver.Turn(name, started)[id] }
		for _, r := range slices.Backward(shown) {
			switch {
			case has(r.turn) && !has(r.from):
				return false // since then, it has that version again
			case !has(r.turn) && has(r.reported) && min(r.reported, started) > r.turn:
				return true
			}
		}
		return false
	})
}

// seemedBackIn returns the version of the first late status that had the data of a rotation before: by
// the order of the reports, the data had returned then, so that the rotation was no change. It is never
// if there was none.
func (o *oracle) seemedBackIn(class string, r rotation) uint64 {
	first, content := uint64(never), o.h.driver.Turn(class, r.turn)
	for version, t := range o.classes.told {
		if t.class != class || !t.rotated || t.gone || version >= min(first, r.version) || !maps.Equal(o.h.driver.Turn(class, t.turn), content) {
			continue
		}
		for before, u := range o.classes.told {
			if u.class == class && u.rotated && !u.gone && before < version && u.turn > t.turn && u.turn < r.turn {
				first = version
				break
			}
		}
	}
	return first
}

// returnedBefore reports whether the data of a rotation seemed to return before a Pod was created, with
// a late status that was the first one with it for the running controller. The controller cannot
// distinguish that status from a rotation. So the Pod counts as started with the data, and the later
// rotation as the same one for another Pod.
func (o *oracle) returnedBefore(class string, r rotation, created uint64) bool {
	returned, first := o.seemedBackIn(class, r), false
	for _, id := range classObjects() {
		version := o.h.driver.Turn(class, r.turn)[id]
		if version == o.h.driver.Turn(class, r.from)[id] {
			continue
		}
		given := o.classes.parts.given[class][id+"="+version]
		if given < returned {
			return false
		}
		first = first || given == returned
	}
	return first && returned < created
}

// hadAll reports whether a rotation gave back objects that Pods only started without, and no Pod lost while
// it ran. The class has kept them then, as far as its statuses show, so that its data is that of before.
func (o *oracle) hadAll(name string, r rotation) bool {
	before := map[string]string{}
	for turn := range r.turn {
		maps.Copy(before, o.h.driver.Turn(name, turn))
	}
	return maps.Equal(before, o.h.driver.Turn(name, r.turn)) && !slices.ContainsFunc(o.classes.rotations[name], func(of rotation) bool {
		has := o.h.driver.Turn(name, of.turn)
		return of.turn < r.turn && slices.ContainsFunc(classObjects(), func(id string) bool { return has[id] == "" && o.h.driver.Turn(name, of.from)[id] != "" })
	})
}

// rotatedByTakeover reports whether a Pod had started with the turn of a rotation before a version, and its
// status replaced that of an earlier Pod, unseen by the running controller. By the times of that status,
// the rotation came then: for Pods that were created later, and before a cover that began later.
func (o *oracle) rotatedByTakeover(class string, r rotation, before uint64) bool {
	for version, t := range o.classes.told {
		if t.class == class && t.over && t.first && !t.gone && t.started >= r.turn && version < before && version <= o.classes.live {
			return true
		}
	}
	return false
}

// givenUnseen reports whether a Pod reported first after a rotation, with an earlier turn, and the running
// controller was not shown when the Pod got the later one.
func (o *oracle) givenUnseen(pod *corev1.Pod, name string, last rotation) bool {
	var began, given uint64
	for _, version := range slices.Sorted(maps.Keys(o.classes.told)) {
		t := o.classes.told[version]
		if t.pod != pod.UID || t.class != name || t.gone {
			continue
		}
		if began = cmp.Or(began, version); t.rotated && t.turn >= last.turn {
			given = cmp.Or(given, version)
		}
	}
	return began > last.version && given != 0 && given <= o.classes.live
}
