package annotations

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Written are the annotations of an object, or of its pod template, as they were written.
type Written struct {
	Values     map[string]string
	InTemplate bool
}

// HasAny reports whether one of the keys is there, whatever its value.
func (w Written) HasAny(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, ok := w.Values[key]
		return ok
	})
}

// MaxProblems bounds what one object can add to events and memory: its
// annotations have room for tens of thousands of mistakes.
const MaxProblems = 20

// maxValue is as much of a value as is told.
const maxValue = 100

// maxKeys bounds how many keys of one object are compared with ours: it has room for
// tens of thousands.
const maxKeys = 1000

// Compared are the keys that are, in order.
func (w Written) Compared() []string {
	keys := slices.Sorted(maps.Keys(w.Values))
	return keys[:min(len(keys), maxKeys)]
}

// Problem returns what is wrong with the value of a key. It keeps nothing else of the object in memory.
func (w Written) Problem(key, message string) Problem {
	return Problem{Annotation: strings.Clone(key), InTemplate: w.InTemplate, Value: strings.Clone(Shortened(w.Values[key])), Message: message}
}

// Shortened returns as much of a value as a message shows.
func Shortened(value string) string {
	if len(value) > maxValue {
		return strings.ToValidUTF8(value[:maxValue], "") + "…"
	}
	return value
}

// SearchesForNothing reports whether all which could be found by searching counts
// anyhow, as far as anybody looks there.
func (w Written) SearchesForNothing(own Written, names Names) bool {
	auto, err := strconv.ParseBool(w.Values[names.Auto])
	if err != nil || !auto || w.Values[names.Search] != "true" {
		return false
	}
	return !w.InTemplate || slices.ContainsFunc(names.ofKinds(), func(keys KindNames) bool {
		return !own.HasAny(names.Opting(keys)...)
	})
}

// ProblemsOfSource are those of the annotations of a source. They are found when
// it arrives: nothing else is kept of what stands there.
func ProblemsOfSource(own map[string]string, names Names) []Problem {
	var found []Problem
	at, written := Written{Values: own}, names.written()
	for _, key := range at.Compared() {
		right, near := names.Nearest(key)
		switch {
		case names.IsOfSource(key):
			if value := own[key]; value != "true" && value != "false" {
				found = append(found, at.Problem(key, `counts as false; only "true" turns it on`))
			}
		case slices.Contains(written[:], key):
			found = append(found, at.Problem(key, "does nothing here; it belongs on the workload that uses this object"))
		case near && names.IsOfSource(right):
			found = append(found, at.Problem(key, "does nothing; there is "+right))
		case near:
			found = append(found, at.Problem(key, "does nothing; there is "+right+", which belongs on the workload that uses this object"))
		default:
			ofWorkload := func(key string) bool { return !names.IsOfSource(key) }
			if why, unread := names.Unread(key, ofWorkload, "the workload that uses this object"); unread {
				found = append(found, at.Problem(key, why))
			}
		}
	}
	return slices.Clip(found[:min(len(found), MaxProblems)])
}
