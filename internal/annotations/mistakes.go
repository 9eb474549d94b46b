package annotations

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Mistake is an annotation of an object that is wrong, or that has no effect. It affects only that
// annotation, or only that entry of a list.
type Mistake struct {
	// Annotation is empty for a mistake elsewhere, which the Message describes.
	Annotation string
	// InTemplate is set when the annotation is on the pod template.
	InTemplate bool
	// Value is the refused value: the entry, if the annotation is a list.
	Value string
	// Message describes the correct value.
	Message string
}

// String returns the mistake as one sentence.
func (m Mistake) String() string {
	if m.Annotation == "" {
		return m.Message
	}
	where := ""
	if m.InTemplate {
		where = " of the pod template"
	}
	return fmt.Sprintf("annotation %s%s has %q: %s", m.Annotation, where, m.Value, m.Message)
}

// Written are the annotations of an object, or of its pod template.
type Written struct {
	Values     map[string]string
	InTemplate bool
}

// HasAny reports whether one of the keys exists, with any value.
func (w Written) HasAny(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, ok := w.Values[key]
		return ok
	})
}

// MaxMistakes bounds the mistakes of one object in events and memory: its annotations may contain
// tens of thousands of mistakes.
const MaxMistakes = 20

// maxValue is the maximum length of a value in a message.
const maxValue = 100

// maxKeys bounds the keys of one object that are checked for typos: it may have tens of thousands.
const maxKeys = 1000

// Compared are the keys that are checked, sorted.
func (w Written) Compared() []string {
	keys := slices.Sorted(maps.Keys(w.Values))
	return keys[:min(len(keys), maxKeys)]
}

// Unquoted is what is wrong with an annotation whose value is a boolean or a number in its
// manifest.
func Unquoted(about, value string, boolean bool) string {
	kind := "number"
	if boolean {
		kind = "boolean"
	}
	return fmt.Sprintf("%s is a %s; write %q in quotes", about, kind, value)
}

// Mistake returns a mistake in the value of a key. It keeps no other part of the object in memory.
func (w Written) Mistake(key, message string) Mistake {
	return Mistake{Annotation: strings.Clone(key), InTemplate: w.InTemplate, Value: strings.Clone(Shortened(w.Values[key])), Message: message}
}

// Shortened returns a value as messages show it.
func Shortened(value string) string {
	if len(value) > maxValue {
		return strings.ToValidUTF8(value[:maxValue], "") + "…"
	}
	return value
}

// SearchesForNothing reports whether search has no effect, because the references that it could
// find are opted in anyway.
func (w Written) SearchesForNothing(own Written, names Names) bool {
	if w.Values[names.Search] != "true" {
		return false
	}
	if auto, err := strconv.ParseBool(w.Values[names.Auto]); err != nil || !auto {
		return false
	}
	return !w.InTemplate || slices.ContainsFunc(names.ofKinds(), func(keys KindNames) bool {
		return !own.HasAny(names.Opting(keys)...)
	})
}

// MistakesOfNamespace are the keys of a namespace that nothing reads there. The values of the
// others are checked elsewhere.
func MistakesOfNamespace(own map[string]string, names Names) []Mistake {
	var found []Mistake
	at, written := Written{Values: own}, names.written()
	elsewhere := func(key string) bool { return !ofNamespace(key) }
	for _, key := range at.Compared() {
		right, near := names.Nearest(key)
		switch {
		case ofNamespace(key): // checked by policy.ParseNamespace
		case key == Approved:
			found = append(found, at.Mistake(key, "does nothing here; it belongs on a workload, ConfigMap or Secret"))
		case isLikeAuto(key, &names):
			found = append(found, at.Mistake(key, "does nothing here"+DidYouMean([]string{AutoOfNamespace}, "")))
		case names.IsOfSource(key):
			found = append(found, at.Mistake(key, "does nothing here; it belongs on a ConfigMap or Secret"))
		case slices.Contains(written[:], key):
			found = append(found, at.Mistake(key, "does nothing here; it belongs on the workloads"))
		case near && !elsewhere(right):
			found = append(found, at.Mistake(key, "does nothing"+DidYouMean([]string{right}, "")))
		case near && names.IsOfSource(right):
			found = append(found, at.Mistake(key, "does nothing"+DidYouMean([]string{right}, "a ConfigMap or Secret")))
		case near:
			found = append(found, at.Mistake(key, "does nothing"+DidYouMean([]string{right}, "the workloads")))
		default:
			if why, unread := names.Unread(key, elsewhere, "the workloads"); unread {
				found = append(found, at.Mistake(key, why))
			}
		}
	}
	return slices.Clip(found[:min(len(found), MaxMistakes)])
}

// ofNamespace reports whether users write a key on namespaces.
func ofNamespace(key string) bool {
	switch key {
	case AutoOfNamespace, Mode, Keys, Settle, Churn, Window, Freeze, Approval, MaxRolling, Soak, MaxFailures:
		return true
	default:
		return false
	}
}

// isLikeAuto reports whether AutoOfNamespace may have been meant: a key is a misspelling of it, or
// is the one of workloads.
func isLikeAuto(key string, names *Names) bool {
	_, near := typos(key, AutoOfNamespace)
	return near || key == names.Auto
}

// MistakesOfSource are the mistakes in the annotations of a source. They are found when the source
// arrives, because its annotations are not stored.
func MistakesOfSource(own map[string]string, names Names) []Mistake {
	_, found := ReadWaves(own, true)
	_, refused := ReadAllowFrom(own)
	found = append(found, refused...)
	at, written := Written{Values: own}, names.written()
	for _, key := range at.Compared() {
		right, near := names.Nearest(key)
		switch {
		case key == names.Match, key == names.Ignore:
			if value := own[key]; value != "true" && value != "false" {
				found = append(found, at.Mistake(key, `counts as false; only "true" turns it on`))
			}
		case names.IsOfSource(key), key == Window, key == Approval: // checked by ReadWaves and ReadAllowFrom
		case key == Freeze: // on our own ConfigMap, it freezes all namespaces
		case slices.Contains(written[:], key):
			found = append(found, at.Mistake(key, "does nothing here; it belongs on the workload that uses this object"))
		case near && names.IsOfSource(right):
			found = append(found, at.Mistake(key, "does nothing"+DidYouMean([]string{right}, "")))
		case near:
			found = append(found, at.Mistake(key, "does nothing"+DidYouMean([]string{right}, "the workload that uses this object")))
		default:
			ofWorkload := func(key string) bool { return !names.IsOfSource(key) }
			if why, unread := names.Unread(key, ofWorkload, "the workload that uses this object"); unread {
				found = append(found, at.Mistake(key, why))
			}
		}
	}
	return slices.Clip(found[:min(len(found), MaxMistakes)])
}
