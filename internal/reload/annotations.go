package reload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParsePolicy reads the annotations of a workload and of its pod template.
// Nothing it finds wrong keeps it from reading the rest.
func ParsePolicy(own, template map[string]string, names Names) (Policy, []Problem) {
	r := policyReader{
		own:      written{values: own},
		template: written{values: template, inTemplate: true},
		names:    names,
	}
	var policy Policy
	for i, kind := range SourceKinds() {
		policy.kinds[i] = r.kind(kind)
	}
	policy.settle, policy.pause, policy.rollout = r.settle(), r.pause(), r.rollout()
	policy.rolloutSet = r.preferred(names.RolloutStrategy).hasAny(names.RolloutStrategy)
	return policy, r.problems
}

// policyReader gathers the problems on the way.
type policyReader struct {
	own, template written
	names         Names
	problems      []Problem
}

// refuse drops repetitions: each kind of source reads "auto" and "search" anew,
// because each decides for itself whether the pod template has a say.
func (r *policyReader) refuse(from written, key, value, format string, args ...any) {
	problem := Problem{Annotation: key, InTemplate: from.inTemplate, Value: strings.Clone(shortened(value)), Message: fmt.Sprintf(format, args...)}
	if !slices.Contains(r.problems, problem) {
		r.problems = append(r.problems, problem)
	}
}

func (r *policyReader) kind(kind SourceKind) kindPolicy {
	keys := kind.keys(&r.names)
	from := r.own
	opting := r.names.opting(keys)
	if !from.hasAny(opting...) {
		from = r.template
	}
	return kindPolicy{
		optsSet:     from.hasAny(opting...),
		excludedSet: r.preferred(keys.exclude).hasAny(keys.exclude),

		entries:  r.entries(from, keys.named),
		excluded: r.excluded(keys.exclude),
		search:   r.search(from),
		auto:     r.toggle(from, r.names.Auto),
		typed:    r.toggle(from, keys.auto),
	}
}

// preferred is for the annotations that do not decide whether a workload is
// opted in: each of them is looked for on its own.
func (r *policyReader) preferred(key string) written {
	if r.own.hasAny(key) {
		return r.own
	}
	return r.template
}

// maxListProblems bounds what one list can add to events and memory: it has room
// for tens of thousands of mistakes.
const maxListProblems = 10

func (r *policyReader) entries(from written, key string) *nameList {
	value := from.values[key]
	if value == "" {
		return nil
	}
	list := nameList{text: value, places: map[string]int{}}
	var reader listReader
	var refused refusedEntries
	for text := range listOf(value) {
		if _, twice := list.places[text]; twice {
			continue
		}
		if len(list.entries) == maxEntries {
			refused.past(text)
			continue
		}
		entry, err := reader.entry(text)
		if err != nil {
			refused.add(r, from, key, text, err.Error())
			continue
		}
		at := len(list.entries)
		list.places[text] = at
		if entry.pattern != nil {
			list.patterns = append(list.patterns, at)
		}
		list.entries = append(list.entries, entry)
	}
	refused.end(r, from, key)
	if len(list.entries) == 0 {
		return nil
	}
	return &list
}

// excluded compares names only: what is taken for an expression, because the lists
// beside it take some, would exclude nothing in silence.
func (r *policyReader) excluded(key string) *nameSet {
	from := r.preferred(key)
	value := from.values[key]
	if value == "" {
		return nil
	}
	set := nameSet{text: value, names: map[string]struct{}{}}
	var refused refusedEntries
	for name := range listOf(value) {
		switch {
		case !isObjectName(name):
			refused.add(r, from, key, name, "excludes nothing: only whole names are compared here, and this cannot be one; write the names")
		case set.has(name):
		case len(set.names) == maxEntries:
			refused.past(name)
		default:
			set.names[name] = struct{}{}
		}
	}
	refused.end(r, from, key)
	if len(set.names) == 0 {
		return nil
	}
	return &set
}

// refusedEntries are those of one list.
type refusedEntries struct {
	count int
	last  string
	// firstPast is the first of those that are too many.
	firstPast string
	manyPast  int
}

func (e *refusedEntries) past(text string) {
	if e.manyPast++; e.manyPast == 1 {
		e.firstPast = text
	}
}

func (e *refusedEntries) add(r *policyReader, from written, key, text, why string) {
	if e.count++; e.count <= maxListProblems {
		r.refuse(from, key, text, "%s", why)
	}
	e.last = text
}

func (e *refusedEntries) end(r *policyReader, from written, key string) {
	if e.count > maxListProblems {
		r.refuse(from, key, e.last, "refused like %d other entries of the list, of which only the first %d are reported", e.count-1, maxListProblems)
	}
	if e.manyPast > 0 {
		r.refuse(from, key, e.firstPast, "the list has more than %d entries, so this one and those behind it, %d in all, are ignored; use %s, or an expression that matches several names",
			maxEntries, e.manyPast, r.names.Auto)
	}
}

func (r *policyReader) search(from written) bool {
	value, ok := from.values[r.names.Search]
	if ok && value != "true" && value != "false" {
		r.refuse(from, r.names.Search, value, `counts as false; only "true" turns it on`)
	}
	return value == "true"
}

// toggle takes an empty value for none, although it is not a boolean: that is
// what a template renders for an option nobody has set, and Reloader rolls such
// a workload when all are opted in. See ADR 7.
func (r *policyReader) toggle(from written, key string) toggle {
	value, ok := from.values[key]
	if !ok {
		return unset
	}
	yes, err := strconv.ParseBool(value)
	switch {
	case value == "":
		r.refuse(from, key, value, `counts as not set; write "true" or "false", or leave the annotation out`)
		return unset
	case err != nil:
		r.refuse(from, key, value, `not a boolean and counts as false; write "true" or "false"`)
		return off
	case yes:
		return on
	default:
		return off
	}
}

func (r *policyReader) settle() setDuration {
	return r.duration(SettleAnnotation, 0, "a duration of zero or more such as 3s")
}

func (r *policyReader) pause() setDuration {
	return r.duration(r.names.PausePeriod, 1, "a duration above zero such as 5m")
}

func (r *policyReader) duration(key string, least time.Duration, right string) setDuration {
	from := r.preferred(key)
	text, ok := from.values[key]
	if !ok {
		return setDuration{}
	}
	value, err := time.ParseDuration(text)
	if err != nil || value < least {
		r.refuse(from, key, text, "counts as not set; write %s", right)
		return setDuration{}
	}
	return setDuration{value: value, set: true}
}

func (r *policyReader) rollout() RolloutStrategy {
	from := r.preferred(r.names.RolloutStrategy)
	value, ok := from.values[r.names.RolloutStrategy]
	switch {
	case !ok || value == RolloutTemplate.String():
		return RolloutTemplate
	case value == RolloutRestart.String():
		return RolloutRestart
	default:
		r.refuse(from, r.names.RolloutStrategy, value, "counts as %q; write %q or %q", RolloutTemplate, RolloutTemplate, RolloutRestart)
		return RolloutTemplate
	}
}
