package policy

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// Rule is why a source concerns a workload or does not.
type Rule uint8

// The rules, in the order in which they are checked. The first four exclude a source, the next
// seven select it. The others describe what was missing.
const (
	// RuleNoConsent is also the rule for a source of another namespace that does not exist:
	// otherwise anybody could ask what exists there.
	RuleNoConsent Rule = iota + 1
	RuleUnselected
	RuleIgnored
	RuleExcluded

	RuleNamed
	RuleSelected
	RuleSearch
	RuleAuto
	RuleTypedAuto
	RuleAutoNamespace
	RuleAutoAll

	RuleNoEntryMatches
	RuleLabelsDiffer
	RuleNotReferred
	RuleNoMatchAnnotation
	RuleOptedOut
	RuleNamespaceOptedOut
	RuleNotOptedIn
)

// String returns a short reason why a source concerns a workload, or a short sentence why it does
// not.
func (r Rule) String() string {
	switch r {
	case RuleNoConsent:
		return "the source does not exist, or its " + annotations.AllowFromKey + " does not allow this namespace"
	case RuleUnselected:
		return "its labels do not match --resource-label-selector"
	case RuleIgnored:
		return "the source has the ignore annotation"
	case RuleExcluded:
		return "the workload excludes the source by name"
	case RuleNamed:
		return "named"
	case RuleSelected:
		return "selected"
	case RuleSearch:
		return "search and match"
	case RuleAuto:
		return "auto"
	case RuleTypedAuto:
		return "auto for its kind"
	case RuleAutoNamespace:
		return annotations.AutoOfNamespace + " on the namespace"
	case RuleAutoAll:
		return "--auto-reload-all"
	case RuleNoEntryMatches:
		return "no entry of the workload's list matches the source"
	case RuleLabelsDiffer:
		return "its labels do not match " + annotations.Sources
	case RuleNotReferred:
		return "the workload does not reference the source"
	case RuleNoMatchAnnotation:
		return "the workload has the search annotation, but the source lacks the match annotation"
	case RuleOptedOut:
		return "the workload opts out by auto"
	case RuleNamespaceOptedOut:
		return "the namespace opts out by " + annotations.AutoOfNamespace
	case RuleNotOptedIn:
		return "the workload is not opted in"
	default:
		return fmt.Sprintf("Rule(%d)", uint8(r))
	}
}

// WithoutReference reports whether the rule applies to sources that the pod template does not
// reference.
func (r Rule) WithoutReference() bool { return r == RuleNamed || r == RuleSelected }

// Verdict reports whether a source concerns a workload, and why.
type Verdict struct {
	Concerned bool
	// Rule is the deciding rule. If the source does not concern the workload, and no rule excludes
	// it, it is what was missing for the first rule that the workload uses.
	Rule Rule
	// Entry is the deciding entry of a list, as the user wrote it.
	Entry string
}

// Verdict reports whether a source concerns the workload. It checks first what excludes it, then
// what opts it in. The namespace of the key is that of the workload, even for a source of another
// one, see source.Key.SeenFrom. Refers reports whether the pod template references the source, and
// autoReloadAll whether workloads are opted in by default.
func (p Policy) Verdict(src source.Key, ann source.Annotations, refers bool, autoReloadAll bool) Verdict {
	policy := p.of(src.Kind)
	optedIn := policy.optedIn(p.ruleByDefault(autoReloadAll))

	switch {
	case policy.lacksConsent(src, ann):
		return Verdict{Rule: RuleNoConsent}
	case ann.Unselected:
		return Verdict{Rule: RuleUnselected}
	case ann.Ignore:
		return Verdict{Rule: RuleIgnored}
	case policy.excluded.Has(src.Local().Signer()):
		return Verdict{Rule: RuleExcluded, Entry: src.Local().Signer()}
	}
	if entry, found := policy.entries.Find(src.Name); found {
		return Verdict{Concerned: true, Rule: RuleNamed, Entry: entry}
	}
	selector := p.SelectorFor(src.Kind)
	switch {
	case ann.Labels.MatchedBy(selector):
		return Verdict{Concerned: true, Rule: RuleSelected, Entry: selector.Text}
	case refers && policy.search && ann.Match:
		return Verdict{Concerned: true, Rule: RuleSearch}
	case refers && optedIn != 0:
		return Verdict{Concerned: true, Rule: optedIn}
	case policy.entries != nil:
		return Verdict{Rule: RuleNoEntryMatches}
	case selector != nil && (!refers || !policy.search):
		return Verdict{Rule: RuleLabelsDiffer, Entry: selector.Text}
	case !refers && (policy.search || optedIn != 0):
		return Verdict{Rule: RuleNotReferred}
	case policy.search:
		return Verdict{Rule: RuleNoMatchAnnotation}
	case policy.auto == off || policy.typed == off:
		return Verdict{Rule: RuleOptedOut}
	case autoReloadAll && p.byDefault == off:
		return Verdict{Rule: RuleNamespaceOptedOut}
	default:
		return Verdict{Rule: RuleNotOptedIn}
	}
}

// lacksConsent reports whether a source of another namespace is not named, or does not allow the
// workload. It comes first, so that the other rules are shown only to workloads that it allows.
func (k kindPolicy) lacksConsent(src source.Key, ann source.Annotations) bool {
	return src.IsForeign() && (!k.entries.HasName(src.Name) || !ann.AllowFrom.Has(src.Namespace))
}

// OptedIn reports whether any source could concern the workload.
func (p Policy) OptedIn(autoReloadAll bool) bool {
	if p.sources.selector != nil {
		return true
	}
	byDefault := p.ruleByDefault(autoReloadAll)
	for _, kind := range source.Kinds() {
		policy := p.of(kind)
		if policy.entries != nil || policy.search || policy.optedIn(byDefault) != 0 {
			return true
		}
	}
	return false
}

// optedIn returns the rule that opts the workload in for all its references, or none. The general
// annotation takes precedence over the one for a kind only if it is true. By default, the given rule
// applies.
func (k kindPolicy) optedIn(byDefault Rule) Rule {
	switch {
	case k.auto == on:
		return RuleAuto
	case k.typed == on:
		return RuleTypedAuto
	case k.auto == unset && k.typed == unset:
		return byDefault
	default:
		return 0
	}
}
