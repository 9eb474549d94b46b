package policy

import (
	"strconv"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// place is the kind of object whose annotation sets a value.
type place uint8

const (
	nowhere place = iota
	onWorkload
	onTemplate
	onNamespace
)

// String names the object.
func (p place) String() string {
	switch p {
	case onTemplate:
		return "the pod template"
	case onNamespace:
		return "the namespace"
	default:
		return "the workload"
	}
}

// orTemplate returns the pod template if an annotation is from there.
func (p place) orTemplate(from annotations.Written) place {
	if from.InTemplate {
		return onTemplate
	}
	return p
}

// ParseNamespace reads the annotations of a namespace, which are defaults for its workloads.
func ParseNamespace(own map[string]string, names annotations.Names) (Policy, []annotations.Mistake) {
	r := policyReader{own: annotations.Written{Values: own}}
	waves, mistakes := annotations.ReadWaves(own, false)
	policy := Policy{churn: r.churn("the namespace"), window: r.window("the namespace"), approval: r.approvalIn(r.own, "the namespace"), waves: waves.Keep()}
	policy.byDefault, policy.mode, policy.settle = r.byDefault(), r.mode(onNamespace), r.settle(onNamespace)
	policy.keys = r.keysOfNamespace()
	return policy, append(append(r.mistakes, mistakes...), annotations.MistakesOfNamespace(own, names)...)
}

// byDefault reads whether a namespace opts in its workloads. A value that is not a boolean has no
// effect: otherwise a typo would end reloads that --auto-reload-all has started.
func (r *policyReader) byDefault() toggle {
	value, ok := r.own.Values[annotations.AutoOfNamespace]
	if !ok {
		return unset
	}
	switch yes, err := strconv.ParseBool(value); {
	case err != nil:
		r.refuse(r.own, annotations.AutoOfNamespace, value, `has no effect; write "true" or "false", or remove the annotation`)
		return unset
	case yes:
		return on
	default:
		return off
	}
}

// Under returns the policy of a workload with the defaults of its namespace, in place of those from
// an earlier call.
func (p Policy) Under(namespace Policy) Policy {
	p.byDefault = namespace.byDefault
	if p.settle.on == nowhere || p.settle.on == onNamespace {
		p.settle = namespace.settle
	}
	if p.mode.on == nowhere || p.mode.on == onNamespace {
		p.mode = namespace.mode
	}
	p.keys = p.keys.under(namespace.keys)
	return p
}

// OptedInByNamespace reports whether the namespace opts in its workloads. It returns false for set
// if the namespace does not decide that.
func (p *Policy) OptedInByNamespace() (optedIn, set bool) {
	return p.byDefault == on, p.byDefault != unset
}

// WithoutDefault returns the policy as if the namespace left it to --auto-reload-all whether its
// workloads are opted in.
func (p Policy) WithoutDefault() Policy {
	p.byDefault = unset
	return p
}

// ruleByDefault is the rule by which workloads are opted in whose annotations do not decide that; 0
// if they are not.
func (p *Policy) ruleByDefault(autoReloadAll bool) Rule {
	switch {
	case p.byDefault == on:
		return RuleAutoNamespace
	case p.byDefault == unset && autoReloadAll:
		return RuleAutoAll
	default:
		return 0
	}
}
