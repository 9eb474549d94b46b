package reload

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// written are the annotations of an object, or of its pod template, as they were written.
type written struct {
	values     map[string]string
	inTemplate bool
}

func (w written) hasAny(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, ok := w.values[key]
		return ok
	})
}

// maxProblems bounds what one object can add to events and memory: its
// annotations have room for tens of thousands of mistakes.
const maxProblems = 20

// maxValue is as much of a value as is told.
const maxValue = 100

// maxKeys bounds how many keys of one object are compared with ours: it has room for
// tens of thousands.
const maxKeys = 1000

// compared are the keys that are, in order.
func (w written) compared() []string {
	keys := slices.Sorted(maps.Keys(w.values))
	return keys[:min(len(keys), maxKeys)]
}

// instead names the keys that may have been meant, and where they belong if that is
// not here.
func instead(meant []string, elsewhere func(key string) bool, where string) string {
	if len(meant) == 0 {
		return "does nothing; docs/opting-in.md has the keys that are read"
	}
	text := "does nothing; there is " + enumerated(meant)
	switch {
	case !elsewhere(meant[0]):
	case len(meant) == 1:
		text += ", which belongs on " + where
	default:
		text += ", which belong on " + where
	}
	return text
}

// enumerated is a list as a sentence has it.
func enumerated(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

func (w written) problem(key, message string) Problem {
	return Problem{Annotation: strings.Clone(key), InTemplate: w.inTemplate, Value: strings.Clone(shortened(w.values[key])), Message: message}
}

func shortened(value string) string {
	if len(value) > maxValue {
		return strings.ToValidUTF8(value[:maxValue], "") + "…"
	}
	return value
}

// searchesForNothing tells that all which could be found by searching counts
// anyhow, as far as anybody looks there.
func (w written) searchesForNothing(own written, names Names) bool {
	auto, err := strconv.ParseBool(w.values[names.Auto])
	if err != nil || !auto || w.values[names.Search] != "true" {
		return false
	}
	return !w.inTemplate || slices.ContainsFunc(names.ofKinds(), func(keys kindNames) bool {
		return !own.hasAny(names.opting(keys)...)
	})
}

// problemsOfSource are those of the annotations of a source. They are found when
// it arrives: nothing else is kept of what stands there.
func problemsOfSource(own map[string]string, names Names) []Problem {
	var found []Problem
	at, written := written{values: own}, names.written()
	for _, key := range at.compared() {
		right, near := names.nearest(key)
		switch {
		case names.isOfSource(key):
			if value := own[key]; value != "true" && value != "false" {
				found = append(found, at.problem(key, `counts as false; only "true" turns it on`))
			}
		case slices.Contains(written[:], key):
			found = append(found, at.problem(key, "does nothing here; it belongs on the workload that uses this"))
		case near && names.isOfSource(right):
			found = append(found, at.problem(key, "does nothing; there is "+right))
		case near:
			found = append(found, at.problem(key, "does nothing; there is "+right+", which belongs on the workload that uses this"))
		default:
			if meant, strayed := names.strayed(key); strayed {
				ofWorkload := func(key string) bool { return !names.isOfSource(key) }
				found = append(found, at.problem(key, instead(meant, ofWorkload, "the workload that uses this")))
			}
		}
	}
	return slices.Clip(found[:min(len(found), maxProblems)])
}
