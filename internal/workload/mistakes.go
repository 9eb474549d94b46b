package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
)

// mistakesOf adds mistakes without effect to the refused values of a workload: a key with a typo, a
// key for another kind of object, a key without effect beside another one.
func mistakesOf(kind Kind, own, template map[string]string, refused []annotations.Mistake, names annotations.Names) []annotations.Mistake {
	found := slices.DeleteFunc(refused, func(p annotations.Mistake) bool { return unusedOn(&names, kind, p.Annotation) != "" })
	places := []annotations.Written{{Values: own}, {Values: template, InTemplate: true}}
	for _, at := range places {
		for _, key := range at.Compared() {
			right, near := names.Nearest(key)
			unused := unusedOn(&names, kind, key)
			switch {
			case unused != "":
				found = append(found, at.Mistake(key, unused))
			case near && names.IsOfSource(right):
				found = append(found, at.Mistake(key, "does nothing"+annotations.DidYouMean([]string{right}, "the ConfigMap or Secret")))
			case near:
				found = append(found, at.Mistake(key, "does nothing"+annotations.DidYouMean([]string{right}, "")))
			default:
				if why, unread := names.Unread(key, names.IsOfSource, "the ConfigMap or Secret"); unread {
					found = append(found, at.Mistake(key, why))
				}
			}
		}
	}
	for _, at := range places {
		if at.SearchesForNothing(places[0], names) {
			found = append(found, at.Mistake(names.Search, "has no effect with "+names.Auto+", which covers all sources that the workload references"))
		}
	}
	return slices.Clip(found[:min(len(found), annotations.MaxMistakes)])
}

// ownNamespace are the entries that name the namespace of the workload as if it were another one.
func ownNamespace(p *policy.Policy, namespace string, names annotations.Names) []annotations.Mistake {
	var found []annotations.Mistake
	for _, key := range p.Foreign() {
		in, name, _ := annotations.SplitForeign(key.Name)
		if in == namespace {
			names := names // the copy of those without such a mistake stays on the stack
			found = append(found, annotations.Mistake{Annotation: key.Kind.Keys(&names).Named, Value: key.Name, Message: fmt.Sprintf("names nothing; in its own namespace, write %q", name)})
		}
	}
	return found
}

// searchesIfAll is searchesForNothing if all workloads are opted in, except for those where the
// mistake is reported anyway.
func searchesIfAll(policy policy.Policy, own, template map[string]string, names annotations.Names) []annotations.Mistake {
	if !policy.SearchesForNothingIfAll() {
		return nil
	}
	at := annotations.Written{Values: own}
	if own[names.Search] != "true" {
		at = annotations.Written{Values: template, InTemplate: true}
	}
	return []annotations.Mistake{at.Mistake(names.Search, "has no effect with "+allFlag+", which covers all sources that the workload references")}
}

const allFlag = "--auto-reload-all"

// AllMistakes are the mistakes of a workload, including those that exist only if workloads are
// opted in by default: by the flag if all is true, unless the defaults of the namespace decide
// that.
func (w *Workload) AllMistakes(all bool, defaults policy.Policy) []annotations.Mistake {
	by := allFlag
	if optedIn, decides := defaults.OptedInByNamespace(); decides {
		all, by = optedIn, annotations.AutoOfNamespace+" on the namespace"
	}
	if !all || len(w.ifAll) == 0 {
		return w.Mistakes
	}
	found := slices.Clone(w.Mistakes)
	for _, mistake := range w.ifAll {
		mistake.Message = strings.Replace(mistake.Message, allFlag, by, 1)
		found = append(found, mistake)
	}
	return found
}

// UseTemplateOf records that the workload uses the pod template of another object. Reroll marks
// that object, so annotations about restarts have no effect here. Markable reports whether Reroll
// can mark it.
func (w *Workload) UseTemplateOf(owner Key, markable bool, names annotations.Names) {
	w.TemplateOwner = &owner
	if !markable {
		found := annotations.Mistake{Message: fmt.Sprintf("spec.workloadRef names a %s, which Reroll does not roll; reference a Deployment of apps/v1", owner.Kind)}
		switch {
		case w.Policy.OptedIn(false):
			w.Mistakes = append(w.Mistakes, found)
		case w.Policy.OptedIn(true):
			w.ifAll = append(w.ifAll, found)
		}
	}
	if markable && w.Policy.RolloutStrategy() == policy.RolloutRestart {
		w.Mistakes = append(w.Mistakes, annotations.Mistake{
			Annotation: names.RolloutStrategy, Value: policy.RolloutRestart.String(),
			Message: fmt.Sprintf("has no effect with spec.workloadRef; Reroll marks the pod template of %s %q", owner.Kind, owner.Name),
		})
	}
}

// unusedOn is why a key has no effect on a kind of workload; empty if it has one, or if the key is
// unknown.
func unusedOn(n *annotations.Names, kind Kind, key string) string {
	switch {
	case n.IsOfSource(key):
		return "does nothing here; it belongs on the ConfigMap or Secret"
	case key == annotations.Freeze:
		return "does nothing here; it belongs on the Namespace"
	case key == n.PausePeriod && !kind.Pausable:
		return fmt.Sprintf("does nothing on a %s; it is for Deployments", kind.Name)
	case key == n.RolloutStrategy && !kind.Restartable:
		return fmt.Sprintf("does nothing on a %s; it is for Argo Rollouts", kind.Name)
	default:
		return ""
	}
}

// ReadAnnotations reads the annotations of a workload and of its pod template, with all mistakes:
// like New, for callers without an object.
func ReadAnnotations(kind Kind, own, template map[string]string, all bool, names annotations.Names) (policy.Policy, []annotations.Mistake) {
	policy, refused := policy.Parse(own, template, names)
	mistakes := mistakesOf(kind, own, template, refused, names)
	if all {
		mistakes = append(mistakes, searchesIfAll(policy, own, template, names)...)
	}
	return policy, mistakes
}
