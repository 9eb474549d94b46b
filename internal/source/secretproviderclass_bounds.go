package source

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/digest"
)

const (
	// mostObjects is how many objects of a class are kept apart. Whoever may write a status could fill the memory of the
	// controller otherwise. A class that mounts more than a few dozen is unheard of.
	mostObjects = 1000
	// longestObject is how long the id of an object, and its version, may be to be kept as they are.
	longestObject = 256
	// otherObjects is the id of all objects beyond that. No object has this id.
	otherObjects = ""
)

// Bound makes the report small enough to be kept, and reports whether there was more. No change is lost by that: one
// digest represents all objects that are left out.
func (r *ClassReport) Bound() (crowded bool) {
	for id, version := range maps.Clone(r.Objects) {
		if len(id) <= longestObject && len(version) <= longestObject {
			continue
		}
		crowded = true
		delete(r.Objects, id)
		r.Objects[abridged(id)] = abridged(version)
	}
	if len(r.Objects) <= mostObjects {
		return crowded
	}
	admitted := 0
	r.fold(func(string) bool { admitted++; return admitted <= mostObjects })
	return true
}

// abridged is one more object where two ids have the same start, and another version where two versions have.
func abridged(text string) string {
	if len(text) <= longestObject {
		return text
	}
	return "sha256:" + digest.Beginning('L').Text(text).Digest().String()
}

// fold lets one digest represent the objects that are not admitted, in their order. A map that has shrunk keeps its room, so it is
// copied afterwards.
func (r *ClassReport) fold(admits func(id string) bool) {
	rest, kept := digest.Beginning('F'), map[string]string{}
	folded := false
	for _, id := range slices.Sorted(maps.Keys(r.Objects)) {
		switch {
		case id == otherObjects:
		case admits(id):
			kept[id] = r.Objects[id]
		default:
			rest, folded = rest.Text(id).Text(r.Objects[id]), true
		}
	}
	others, before := r.Objects[otherObjects]
	switch {
	case folded:
		kept[otherObjects] = rest.Text(others).Digest().String()
	case before:
		kept[otherObjects] = others
	}
	r.Objects = kept
}

// Crowded reports whether the class has no room for further objects.
func (c *Class) Crowded() bool { return len(c.objects) > mostObjects }

// bounded is a report with no more objects than the class has room for. Those that it knows stay known.
func (c *Class) bounded(r ClassReport) ClassReport {
	room := mostObjects - len(c.objects)
	if room >= len(r.Objects) {
		return r
	}
	r.fold(func(id string) bool {
		if _, known := c.objects[id]; known {
			return true
		}
		room--
		return room >= 0
	})
	return r
}
