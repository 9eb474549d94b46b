package source

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/digest"
)

const (
	// mostObjects is how many objects of a class are stored separately. Otherwise a client that may
	// write a status could fill the memory of the controller. Real classes mount a few dozen at
	// most.
	mostObjects = 1000
	// longestObject is the maximum length of an object id, and of a version, that is stored as it
	// is.
	longestObject = 256
	// otherObjects is the id that represents all objects beyond mostObjects. No object has this id.
	otherObjects = ""
)

// Bound makes the report small enough to store, and reports whether it was larger. No change is
// lost: one digest represents all objects beyond the bound.
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

// abridged returns a digest in place of a long text, so that long texts stay different.
func abridged(text string) string {
	if len(text) <= longestObject {
		return text
	}
	return "sha256:" + digest.Beginning('L').Text(text).Digest().String()
}

// fold replaces the objects that are not admitted by one digest, in their order. A map never
// shrinks in memory, so it is copied afterwards.
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

// Crowded reports whether the class has reached the maximum number of objects.
func (c *Class) Crowded() bool { return len(c.objects) > mostObjects }

// bounded is a report without the new objects for which the class has no room. Known objects stay.
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
