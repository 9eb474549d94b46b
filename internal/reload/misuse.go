package reload

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxProblems bounds what one object can add to events and memory: its
// annotations have room for tens of thousands of mistakes.
const maxProblems = 20

// maxValue is as much of a value as is told.
const maxValue = 100

// problemsOf adds to the values of a workload that were refused what somebody
// has written, meant to do something by, and does nothing: a key with a typo, one
// that belongs on another kind of object, one without effect beside another.
func problemsOf(kind WorkloadKind, own, template map[string]string, refused []Problem, names Names) []Problem {
	found := slices.DeleteFunc(refused, func(p Problem) bool { return names.unusedOn(kind, p.Annotation) != "" })
	places := []annotations{{values: own}, {values: template, inTemplate: true}}
	for _, at := range places {
		for _, key := range at.compared() {
			right, near := names.nearest(key)
			unused := names.unusedOn(kind, key)
			switch {
			case unused != "":
				found = append(found, at.problem(key, unused))
			case near && names.isOfSource(right):
				found = append(found, at.problem(key, "does nothing; there is "+right+", which belongs on the ConfigMap or Secret"))
			case near:
				found = append(found, at.problem(key, "does nothing; there is "+right))
			default:
				if meant, strayed := names.strayed(key); strayed {
					found = append(found, at.problem(key, instead(meant, names.isOfSource, "the ConfigMap or Secret")))
				}
			}
		}
	}
	for _, at := range places {
		if at.searchesForNothing(places[0], names) {
			found = append(found, at.problem(names.Search, "has no effect beside "+names.Auto+", which covers all that the workload refers to"))
		}
	}
	return slices.Clip(found[:min(len(found), maxProblems)])
}

// maxKeys bounds how many keys of one object are compared with ours: it has room for
// tens of thousands.
const maxKeys = 1000

// compared are the keys that are, in order.
func (a annotations) compared() []string {
	keys := slices.Sorted(maps.Keys(a.values))
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

func (a annotations) problem(key, message string) Problem {
	return Problem{Annotation: strings.Clone(key), InTemplate: a.inTemplate, Value: strings.Clone(shortened(a.values[key])), Message: message}
}

func shortened(value string) string {
	if len(value) > maxValue {
		return strings.ToValidUTF8(value[:maxValue], "") + "…"
	}
	return value
}

// searchesForNothing tells that all which could be found by searching counts
// anyhow, as far as anybody looks there.
func (a annotations) searchesForNothing(own annotations, names Names) bool {
	auto, err := strconv.ParseBool(a.values[names.Auto])
	if err != nil || !auto || a.values[names.Search] != "true" {
		return false
	}
	return !a.inTemplate || slices.ContainsFunc(names.ofKinds(), func(keys kindNames) bool {
		return !own.hasAny(names.opting(keys)...)
	})
}

// searchesIfAll is searchesForNothing where all workloads are opted in, but for
// those of which that is told anyhow.
func searchesIfAll(policy Policy, own, template map[string]string, names Names) []Problem {
	searches := false
	for _, kind := range policy.kinds {
		if kind.search && (kind.auto == on || kind.optedIn(true) == 0) {
			return nil
		}
		searches = searches || kind.search
	}
	if !searches {
		return nil
	}
	at := annotations{values: own}
	if own[names.Search] != "true" {
		at = annotations{values: template, inTemplate: true}
	}
	return []Problem{at.problem(names.Search, "has no effect beside --auto-reload-all, which covers all that the workload refers to")}
}

// OptAllIn adds the problems that a workload has only where all are opted in unless
// they opt out.
func (w *Workload) OptAllIn() {
	w.Problems = append(w.Problems, w.ifAll...)
}

// Borrow notes whose pod template the workload uses. That one is marked, so that
// nothing here restarts pods; markable tells that it can be.
func (w *Workload) Borrow(lender WorkloadKey, markable bool, names Names) {
	w.Borrows = &lender
	if !markable {
		found := Problem{Message: fmt.Sprintf("spec.workloadRef names a %s, which is not rolled; let it name a Deployment of apps/v1", lender.Kind)}
		switch {
		case w.Policy.OptedIn(false):
			w.Problems = append(w.Problems, found)
		case w.Policy.OptedIn(true):
			w.ifAll = append(w.ifAll, found)
		}
	}
	if markable && w.Policy.RolloutStrategy() == RolloutRestart {
		w.Problems = append(w.Problems, Problem{
			Annotation: names.RolloutStrategy, Value: RolloutRestart.String(),
			Message: fmt.Sprintf("has no effect beside spec.workloadRef; the pod template of %s %q is marked", lender.Kind, lender.Name),
		})
	}
}

// problemsOfSource are those of the annotations of a source. They are found when
// it arrives: nothing else is kept of what stands there.
func problemsOfSource(own map[string]string, names Names) []Problem {
	var found []Problem
	at, written := annotations{values: own}, names.written()
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

// unusedOn is why a key does nothing on a kind of workload; empty if it does
// something, or means nothing at all.
func (n *Names) unusedOn(kind WorkloadKind, key string) string {
	switch {
	case n.isOfSource(key):
		return "does nothing here; it belongs on the ConfigMap or Secret"
	case key == n.PausePeriod && !kind.Pausable:
		return fmt.Sprintf("does nothing on a %s; it is for Deployments", kind.Name)
	case key == n.RolloutStrategy && !kind.Restartable:
		return fmt.Sprintf("does nothing on a %s; it is for Argo Rollouts", kind.Name)
	default:
		return ""
	}
}
